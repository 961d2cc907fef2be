#include "stream/line_source.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <fstream>

#include "temporary_folder.h"

namespace kalstream {
namespace {

using namespace std::chrono_literals;
using Event = LineSource::Event;
using test::TemporaryFolder;

struct Pipe {
  Pipe() { EXPECT_EQ(::pipe(ends.data()), 0); }
  ~Pipe() {
    ::close(ends[0]);
    if (ends[1] >= 0) ::close(ends[1]);
  }
  void write(std::string_view text) const {
    EXPECT_EQ(::write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void end() {
    ::close(ends[1]);
    ends[1] = -1;
  }
  std::array<int, 2> ends{};
};

void append(const std::filesystem::path& file, std::string_view text) {
  std::ofstream(file, std::ios::app | std::ios::binary) << text;
}

TEST(LineSource, LinesOfAPipe) {
  Pipe pipe;
  LineSource source(pipe.ends[0], -1, 100);
  EXPECT_EQ(source.next(0ms), Event::idle);
  pipe.write("one\ntw");
  EXPECT_EQ(source.next(1s), Event::line);
  EXPECT_EQ(source.line(), "one");
  EXPECT_EQ(source.next(0ms), Event::idle);
  pipe.write("o\n\nlast");
  EXPECT_EQ(source.next(1s), Event::line);
  EXPECT_EQ(source.line(), "two");
  EXPECT_EQ(source.next(1s), Event::line);
  EXPECT_EQ(source.line(), "");
  pipe.end();
  EXPECT_EQ(source.next(1s), Event::line);
  EXPECT_EQ(source.line(), "last");
  EXPECT_EQ(source.next(1s), Event::end);
  EXPECT_FALSE(source.is_file());
}

// What was there while its reader was busy elsewhere, with a checkpoint say, has been waiting
// since.
TEST(LineSource, ALineThatHadToWaitHasArrivedBefore) {
  Pipe pipe;
  LineSource source(pipe.ends[0], -1, 100);
  pipe.write("one\n");
  EXPECT_EQ(source.next(1s), Event::line);
  const auto busy_since = std::chrono::steady_clock::now();
  pipe.write("two\n");
  EXPECT_EQ(source.next(1s), Event::line);
  EXPECT_LE(source.arrival(), busy_since);
}

// Whoever opened the file may have read some of it.
TEST(LineSource, GoesOnWhereTheDescriptorStands) {
  const TemporaryFolder folder;
  append(folder.path / "d", "skipped\none\ntwo\n");
  const int descriptor = ::open((folder.path / "d").c_str(), O_RDONLY);
  std::array<char, 8> skipped{};
  ASSERT_EQ(::read(descriptor, skipped.data(), skipped.size()), 8);
  FilePlace place;
  {
    LineSource source(descriptor, -1, 100);
    EXPECT_EQ(source.next(1s), Event::line);
    EXPECT_EQ(source.line(), "one");
    place = source.place();
  }
  ASSERT_EQ(::lseek(descriptor, 8, SEEK_SET), 8);
  LineSource again(descriptor, -1, 100);
  again.set_place(place);
  ASSERT_TRUE(again.go_on());
  EXPECT_EQ(again.next(1s), Event::line);
  EXPECT_EQ(again.line(), "two");
  ::close(descriptor);
}

// Rotated while nobody ran: what is left of the old file comes first, then the new one, although
// both begin alike.
TEST(LineSource, ReadsARotatedFileToItsEnd) {
  const TemporaryFolder folder;
  const std::string header(2000, 'h');
  append(folder.path / "log", header + "\none\ntwo\n");
  FilePlace place;
  {
    LineSource source((folder.path / "log").string(), -1, 5000);
    for (int k = 0; k < 2; ++k) ASSERT_EQ(source.next(1s), Event::line);
    place = source.place();
  }
  append(folder.path / "log", "three\nfour");
  std::filesystem::rename(folder.path / "log", folder.path / "log.1");
  append(folder.path / "log", header + "\nnew\nand more, longer than before\n");
  LineSource again((folder.path / "log").string(), -1, 5000);
  again.set_place(place);
  ASSERT_TRUE(again.go_on());
  for (const std::string& expected : {std::string("two"), std::string("three"), std::string("four"),
                                      header, std::string("new")}) {
    ASSERT_EQ(again.next(1s), Event::line) << expected;
    EXPECT_EQ(again.line(), expected);
  }
}

// Rotated several times while nobody looked: every file is read, in its turn.
TEST(LineSource, ReadsAllFilesThatWereRotatedSince) {
  for (const auto& names :
       {std::vector<std::string>{"log.11", "log.10", "log.9"},
        std::vector<std::string>{"log-20260131", "log-20260201", "log-20260203"}}) {
    const TemporaryFolder folder;
    const auto file = folder.path / "log";
    append(file, "1\n2\n");
    LineSource source(file.string(), -1, 100);
    ASSERT_EQ(source.next(1s), Event::line);
    const FilePlace place = source.place();
    append(folder.path / "log.12", "older\n");
    append(folder.path / "log-20260130", "older\n");
    append(folder.path / "log.3.gz", "another\n");
    int line = 3;
    for (const std::string& name : names) {
      std::filesystem::rename(file, folder.path / name);
      append(file, std::to_string(line++) + "\n");
    }
    LineSource again(file.string(), -1, 100);
    again.set_place(place);
    ASSERT_TRUE(again.go_on());
    for (LineSource* one : {&source, &again}) {
      for (int k = 2; k < line; ++k) {
        ASSERT_EQ(one->next(1s), Event::line);
        EXPECT_EQ(one->line(), std::to_string(k));
      }
      EXPECT_EQ(one->next(1ms), Event::idle);
    }
  }
}

// The last line of a file needs no end. Where it gets one later, or more, that is the next.
TEST(LineSource, KnowsThatItGoesOnWithinALine) {
  for (const auto& [more, next] : std::vector<std::pair<const char*, const char*>>{
           {"", nullptr}, {"\n", ""}, {"7.5\n", "7.5"}, {"\ntwo\n", ""}}) {
    const TemporaryFolder folder;
    append(folder.path / "d", "one\n51");
    const auto open = [&] { return ::open((folder.path / "d").c_str(), O_RDONLY); };
    const int first = open();
    LineSource source(first, -1, 100);
    EXPECT_EQ(source.next(1s), Event::line);
    const FilePlace before = source.place();
    EXPECT_EQ(source.next(1s), Event::line);
    EXPECT_EQ(source.line(), "51");
    EXPECT_EQ(source.next(1s), Event::end);
    const FilePlace place = source.place();
    append(folder.path / "d", more);
    const int second = open();
    LineSource again(second, -1, 100);
    again.set_place(place);
    ASSERT_TRUE(again.go_on());
    EXPECT_TRUE(again.goes_on_within_line());
    EXPECT_EQ(again.next(1s), next == nullptr ? Event::end : Event::line);
    EXPECT_EQ(again.line(), next == nullptr ? "" : next);
    const int third = open();
    LineSource whole(third, -1, 100);
    whole.set_place(before);
    ASSERT_TRUE(whole.go_on());
    EXPECT_FALSE(whole.goes_on_within_line());
    for (const int descriptor : {first, second, third}) ::close(descriptor);
  }
}

TEST(LineSource, ASignalEndsTheWait) {
  Pipe pipe;
  Pipe wake;
  LineSource source(pipe.ends[0], wake.ends[0], 100);
  wake.write("x");
  EXPECT_EQ(source.next(1h), Event::idle);
}

// Only its beginning is kept, whatever its length.
TEST(LineSource, LinesTooLong) {
  const TemporaryFolder folder;
  const auto file = folder.path / "f";
  append(file, "short\n" + std::string(1'000'000, 'x') + "\nnext\n" + std::string(200, 'y') + "\n");
  LineSource source(file.string(), -1, 100);
  std::vector<std::size_t> lengths;
  for (int k = 0; k < 4; ++k) {
    ASSERT_EQ(source.next(1s), Event::line);
    lengths.push_back(source.line().size());
  }
  EXPECT_EQ(lengths, (std::vector<std::size_t>{5, 101, 4, 101}));
}

TEST(LineSource, FollowsAFileThatGrowsIsRotatedAndCutShort) {
  const TemporaryFolder folder;
  const auto file = folder.path / "log";
  append(file, "1\n2");
  LineSource source(file.string(), -1, 100);
  const auto expect_line = [&](const char* text) {
    ASSERT_EQ(source.next(5s), Event::line);
    EXPECT_EQ(source.line(), text);
  };
  expect_line("1");
  EXPECT_EQ(source.next(1ms), Event::idle);
  append(file, "2\n");
  expect_line("22");
  append(file, "3\n");
  std::filesystem::rename(file, folder.path / "log.1");
  append(folder.path / "log.1", "4\n");  // a writer that has not noticed yet
  expect_line("3");
  expect_line("4");
  append(file, "5\n");
  expect_line("5");
  append(file, "longer than what will come\n");
  expect_line("longer than what will come");
  std::filesystem::resize_file(file, 0);
  append(file, "6\n");
  expect_line("6");
  EXPECT_THROW(LineSource((folder.path / "none").string(), -1, 100), std::runtime_error);
}

TEST(LineSource, GoesOnWhereAFileWasRead) {
  const TemporaryFolder folder;
  const auto file = folder.path / "log";
  append(file, "one\ntwo\nthree\n");
  FilePlace place;
  {
    LineSource source(file.string(), -1, 100);
    source.next(1s);
    source.next(1s);
    place = source.place();
  }
  const auto go_on = [&](const std::filesystem::path& path) {
    LineSource source(path.string(), -1, 100);
    source.set_place(place);
    const bool same = source.go_on();
    EXPECT_EQ(source.next(1s), Event::line);
    return std::pair(same, std::string(source.line()));
  };
  EXPECT_EQ(go_on(file), std::pair(true, std::string("three")));
  std::filesystem::copy_file(file, folder.path / "moved");
  EXPECT_EQ(go_on(folder.path / "moved"), std::pair(true, std::string("three")));
  append(folder.path / "other", "ono\ntwo\nthree\n");
  EXPECT_EQ(go_on(folder.path / "other"), std::pair(false, std::string("ono")));
  append(folder.path / "short", "one\n");
  EXPECT_EQ(go_on(folder.path / "short"), std::pair(false, std::string("one")));
}

}  // namespace
}  // namespace kalstream
