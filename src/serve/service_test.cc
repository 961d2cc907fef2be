#include "serve/service.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "core/envelope.h"
#include "faulty_system.h"
#include "lines/record_reader.h"
#include "support.h"
#include "temporary_folder.h"

namespace kalstream::serve {
namespace {

namespace fs = std::filesystem;
using test::TemporaryFolder;

/// Something that another thread brings.
template <class T>
class Awaited {
 public:
  void bring(T value) {
    const std::lock_guard lock(mutex_);
    value_ = std::move(value);
    changed_.notify_all();
  }
  T get() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return value_.has_value(); });
    return std::move(*value_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<T> value_;
};

/// "fine", or the code of what was refused.
template <class Ask>
std::string outcome(const Ask& ask) {
  auto said = std::make_shared<Awaited<std::string>>();
  try {
    ask([said](const Refusal* refusal) {
      said->bring(refusal == nullptr ? "fine" : refusal->code);
    });
  } catch (const Refusal& refusal) {
    return refusal.code;
  }
  return said->get();
}

std::string samples(Service& service, const std::string& name, const std::string& body,
                    Input::Kind kind = Input::Kind::lines) {
  const auto held = std::make_shared<std::string>(body);
  const auto said = std::make_shared<Awaited<std::string>>();
  const auto stream = service.find_or_make(name);
  if (!stream) return "not_found";  // what it is kept in could not be made
  stream->take(
      {.kind = kind, .at = 1, .body = *held}, held,
      [said](std::string text, const Refusal* r) { said->bring(r == nullptr ? text : r->code); });
  return said->get();
}

std::optional<Bytes> snapshot(Service& service, const std::string& name,
                              const std::string& key = "") {
  const auto said = std::make_shared<Awaited<std::optional<Bytes>>>();
  service.find(name)->snapshot(
      key, [said](std::optional<Bytes> bytes, const Refusal*) { said->bring(std::move(bytes)); });
  return said->get();
}

std::string lines(int first, int last) {
  std::string text;
  for (int t = first; t < last; ++t)
    text += "{\"k\":\"key " + std::to_string(t % 3) + "\",\"a\":" + std::to_string(t * t % 7) +
            ",\"target\":" + std::to_string(t % 5) + "}\n";
  return text;
}

class ThreadsServe : public testing::Test {
 protected:
  ServiceOptions options(const std::string& key = "") const {
    ServiceOptions o;
    o.folder = (folder_.path / "store").string();
    o.defaults.learner = "rls";
    o.defaults.fields.key = key;
    return o;
  }
  /// Files of all streams.
  std::size_t files() const {
    std::size_t n = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path / "store" / "streams"))
      n += entry.is_regular_file() ? 1 : 0;
    return n;
  }

  TemporaryFolder folder_{test::in_memory()};
};

// Whether a process ends as it should or is killed: the next one knows all that was answered.
TEST_F(ThreadsServe, GoesOnAsIfItHadNeverStopped) {
  for (const std::string& key : {std::string(), std::string("k")}) {
    fs::remove_all(folder_.path / "store");
    const TemporaryFolder other(test::in_memory());
    ServiceOptions alone_options = options(key);
    alone_options.folder = other.path.string();
    Service alone(alone_options);
    for (int run = 0; run < 6; ++run) {
      Service service(options(key));
      for (int k = 0; k < 3; ++k) {
        const std::string more = lines(run * 30 + k * 10, run * 30 + k * 10 + 10);
        EXPECT_EQ(samples(service, "s", more), samples(alone, "s", more)) << run;
      }
      const std::string of = key.empty() ? "" : "key 1";
      ASSERT_TRUE(snapshot(alone, "s", of));
      EXPECT_EQ(snapshot(service, "s", of), snapshot(alone, "s", of));
      if (run % 2 == 0) service.stop();
      if (run % 3 == 1) {
        service.ask_for_checkpoints();
        for (int k = 0; k < 100; ++k) service.tick(k % 10 == 0);
      }
    }
  }
}

TEST_F(ThreadsServe, StreamsComeAndGo) {
  Service service(options());
  const StreamSettings plain = options().defaults;
  StreamSettings other = plain;
  other.horizon = 3;
  const auto make = [&](const std::string& name, const StreamSettings& settings) {
    return outcome([&](auto done) { service.make(name, settings, done); });
  };
  EXPECT_EQ(make("a", plain), "fine");
  EXPECT_EQ(make("a", plain), "fine");
  EXPECT_EQ(make("a", other), "other_options");
  EXPECT_EQ(make("b", other), "fine");
  EXPECT_EQ(service.boards().size(), 2U);
  samples(service, "a", lines(0, 10));
  EXPECT_EQ(outcome([&](auto done) { service.find("a")->reset(done); }), "fine");
  EXPECT_EQ(samples(service, "a", lines(0, 1)).find("{\"sample\":1,"), 0U);
  EXPECT_EQ(outcome([&](auto done) { service.remove("a", done); }), "fine");
  EXPECT_EQ(outcome([&](auto done) { service.remove("a", done); }), "not_found");
  EXPECT_EQ(service.find("a"), nullptr);
  EXPECT_EQ(make("a", other), "fine");
  EXPECT_EQ(service.boards().size(), 2U);
}

TEST_F(ThreadsServe, OptionsThatMeanNothingMakeNoStream) {
  Service service(options());
  StreamSettings wrong;
  wrong.learner = "no such";
  EXPECT_THROW(service.make("a", wrong, [](const Refusal*) {}), std::invalid_argument);
  wrong = {};
  wrong.budget_us = 10;
  EXPECT_THROW(service.make("a", wrong, [](const Refusal*) {}), std::invalid_argument);
  EXPECT_EQ(service.find("a"), nullptr);
  EXPECT_EQ(files(), 0U);
}

TEST_F(ThreadsServe, ThereMayBeSoManyStreams) {
  ServiceOptions few = options();
  few.max_streams = 2;
  Service service(few);
  samples(service, "a", lines(0, 1));
  samples(service, "b", lines(0, 1));
  EXPECT_THROW(samples(service, "c", lines(0, 1)), Refusal);
  samples(service, "a", lines(1, 2));
}

TEST_F(ThreadsServe, ALearnerThatIsTooLargeIsRefused) {
  ServiceOptions small = options();
  small.memory = std::uint64_t{64} << 20;
  small.defaults.learner = "ekf";
  small.defaults.hidden = 200;
  Service service(small);
  EXPECT_EQ(samples(service, "a", lines(0, 1)), "cannot_learn");
}

TEST_F(ThreadsServe, OneProcessAtATime) {
  const Service service(options());
  EXPECT_THROW(Service{options()}, std::runtime_error);
}

// With one thread, a stream that takes long lets the others have their turn.
TEST_F(ThreadsServe, NobodyIsHeldUp) {
  constexpr int many = 4000 / static_cast<int>(test::one_in(10));
  ServiceOptions one = options();
  one.threads = 1;
  one.defaults.learner = "auto";
  Service service(one);
  const auto held = std::make_shared<std::string>(lines(0, many));
  const auto slow = std::make_shared<Awaited<std::string>>();
  std::atomic<bool> done = false;
  service.find_or_make("slow")->take({.kind = Input::Kind::lines, .body = *held}, held,
                                     [&](std::string text, const Refusal*) {
                                       done = true;
                                       slow->bring(std::move(text));
                                     });
  samples(service, "quick", lines(0, 1));
  EXPECT_FALSE(done);
  EXPECT_EQ(std::ranges::count(slow->get(), '\n'), many);
}

TEST_F(ThreadsServe, ModelsCanBeTakenPutAndForgotten) {
  Service service(options("k"));
  samples(service, "s", lines(0, 30));
  const auto model = snapshot(service, "s", "key 1");
  ASSERT_TRUE(model);
  EXPECT_FALSE(snapshot(service, "s", "new"));
  const std::string bytes(as_text(*model));
  const auto put = [&](const std::string& state) {
    return outcome([&](auto done) { service.find("s")->put_model("new", state, done); });
  };
  EXPECT_EQ(put("nonsense"), "bad_snapshot");
  EXPECT_EQ(put(bytes), "fine");
  ASSERT_TRUE(snapshot(service, "s", "new"));
  const std::string sample = R"({"k":"new","a":3,"target":4})";
  EXPECT_EQ(samples(service, "s", sample).find("{\"sample\":11,"), 0U);
  const auto forget = [&] {
    return outcome([&](auto done) { service.find("s")->forget_model("new", done); });
  };
  EXPECT_EQ(forget(), "fine");
  EXPECT_EQ(forget(), "no_model");
}

// A full disk takes no samples, and those that it did not take were not learnt.
TEST_F(ThreadsServe, WhatCannotBeStoredIsNotLearnt) {
  test::BrokenSystem system(ENOSPC, {System::Call::write});
  Service service(options(), system);
  EXPECT_EQ(outcome([&](auto done) { service.make("s", options().defaults, done); }), "fine");
  system.broken = true;  // the first samples of all, with which the learner is made
  EXPECT_EQ(samples(service, "s", lines(0, 10)), "not_stored");
  system.broken = false;
  EXPECT_EQ(samples(service, "s", lines(0, 10)).find("{\"sample\":1,"), 0U);
  const auto before = snapshot(service, "s");
  system.broken = true;
  EXPECT_EQ(samples(service, "s", lines(10, 20)), "not_stored");
  EXPECT_EQ(snapshot(service, "s"), before);
  system.broken = false;
  EXPECT_EQ(samples(service, "s", lines(10, 11)).find("{\"sample\":11,"), 0U);
}

// Every call of the system fails once: what was answered is known to the next process, and nothing
// twice.
TEST_F(ThreadsServe, FaultsLoseNothing) {
  using test::Fault;
  using test::FaultySystem;
  for (const Fault fault : {Fault::io_error, Fault::interruption, Fault::half_done})
    for (std::uint64_t number = 1;; number += 3) {
      fs::remove_all(folder_.path / "store");
      FaultySystem system(fault, number);
      std::uint64_t answered = 0;
      try {
        Service service(options(), system);
        for (int t = 0; t < 6; ++t) {
          const std::string said = samples(service, "s", lines(t, t + 1));
          if (said.starts_with("{\"sample\":")) ++answered;
          if (t == 3) service.ask_for_checkpoints();
          service.tick(true);
        }
        service.stop();
      } catch (const std::exception&) {  // could not be opened, or made
      }
      const bool met = system.met();
      Service service(options());
      const std::string next = samples(service, "s", lines(6, 7));
      EXPECT_EQ(next.find("{\"sample\":" + std::to_string(answered + 1) + ","), 0U)
          << static_cast<int>(fault) << ' ' << number << ' ' << next;
      if (!met) break;
    }
}

// A stream that was about to be removed or reset when the process ended is, in the end.
TEST_F(ThreadsServe, WhatWasBegunIsFinished) {
  {
    Service service(options());
    for (const char* name : {"a", "b", "c"}) samples(service, name, lines(0, 5));
    service.stop();
  }
  const fs::path streams = folder_.path / "store" / "streams";
  fs::rename(streams / "61", streams / "61.1700000000000.to-be-removed");
  std::ofstream(streams / "62" / "to-be-reset");
  fs::create_directory(streams / "64");  // never finished
  std::ofstream(fs::path(streams / "64") / "stream.json.tmp17") << "{\"na";
  Service service(options());
  EXPECT_EQ(service.find("a"), nullptr);
  EXPECT_FALSE(fs::exists(streams / "61.1700000000000.to-be-removed"));
  EXPECT_FALSE(fs::exists(streams / "64"));
  EXPECT_EQ(samples(service, "b", lines(0, 1)).find("{\"sample\":1,"), 0U);
  EXPECT_EQ(samples(service, "c", lines(0, 1)).find("{\"sample\":6,"), 0U);
}

/// What a service says, from any thread.
class Said {
 public:
  void add(const std::string& text) {
    const std::lock_guard lock(mutex_);
    text_ += text + '\n';
  }
  std::string text() const {
    const std::lock_guard lock(mutex_);
    return text_;
  }
  bool has(const std::string& part) const { return text().find(part) != std::string::npos; }

 private:
  mutable std::mutex mutex_;
  std::string text_;
};

std::string text_of(const fs::path& file) {
  if (!fs::is_regular_file(fs::symlink_status(file))) return "";
  std::ifstream bytes(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(bytes), {}};
}

/// All paths below a folder, and what is in the files.
std::map<std::string, std::string> contents(const fs::path& folder) {
  std::map<std::string, std::string> all;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    all[entry.path().string()] = text_of(entry.path());
  return all;
}

// What the program did not make stays where it is, and one bad stream is in nobody's way.
TEST_F(ThreadsServe, NothingOfOthersIsTouched) {
  {
    Service service(options());
    for (const char* name : {"a", "b", "c"}) samples(service, name, lines(0, 5));
  }
  const fs::path streams = folder_.path / "store" / "streams";
  const fs::path elsewhere = folder_.path / "elsewhere";
  fs::copy(streams / "61", elsewhere);
  fs::remove(elsewhere / "stream.json");
  fs::create_directory_symlink(elsewhere, streams / "64");
  fs::create_directory_symlink(elsewhere, streams / "65.1.to-be-removed");
  fs::create_directory(streams / "backup");
  fs::copy(streams / "61", streams / "61.bak");
  fs::copy(streams / "61", streams / "66");  // of another name
  fs::create_directory(streams / "67");      // has lost its description
  fs::copy(streams / "61" / "inputs-00000000000000000001", streams / "67" / "inputs-1");
  for (const auto& place : {streams / "note", streams / "backup" / "note", streams / "62" / "note"})
    std::ofstream(place) << "mine";
  {
    std::fstream file(streams / "63" / "stream.json", std::ios::in | std::ios::out);
    file.seekp(30).put('?');
  }
  const auto before = contents(folder_.path);
  Said said;
  ServiceOptions o = options();
  o.say = [&](const std::string& text) { said.add(text); };
  Service service(o);
  EXPECT_TRUE(
      said.has("left alone, since they are no streams of this server: "
               "61.bak, 64, 65.1.to-be-removed, backup, note\n"))
      << said.text();
  EXPECT_EQ(samples(service, "a", lines(5, 6)).find("{\"sample\":6,"), 0U);
  for (const char* name : {"c", "f", "g"}) {
    EXPECT_TRUE(said.has(std::string(name) + ": ")) << said.text();
    EXPECT_EQ(samples(service, name, lines(5, 6)), "unavailable");
    EXPECT_EQ(outcome([&](auto done) { service.find(name)->reset(done); }), "damaged");
    EXPECT_EQ(outcome([&](auto done) { service.remove(name, done); }), "damaged");
    EXPECT_EQ(outcome([&](auto done) { service.make(name, options().defaults, done); }), "damaged");
    EXPECT_NE(service.board(name)->stream_json().find("\"failure\":\""), std::string::npos);
  }
  EXPECT_EQ(outcome([&](auto done) { service.make("d", options().defaults, done); }), "in_the_way");
  EXPECT_EQ(outcome([&](auto done) { service.remove("b", done); }), "fine");
  service.stop();
  for (const auto& [path, text] : before) {
    const bool of_stream = path.find("/61/") != path.npos || path.find("/62") != path.npos;
    if (of_stream) continue;
    EXPECT_TRUE(fs::exists(fs::symlink_status(path))) << path;
    EXPECT_EQ(text_of(path), text) << path;
  }
  bool is_note_there = false;
  for (const auto& [path, text] : contents(streams))
    is_note_there |= path.find("/62.") != path.npos && path.ends_with("/note") && text == "mine";
  EXPECT_TRUE(is_note_there);
}

// What was refused stays refused, and what was taken is learnt, or the stream waits until it can
// be.
TEST_F(ThreadsServe, AnotherLimitOfMemoryChangesNoAnswer) {
  ServiceOptions large = options();
  large.defaults.learner = "ekf";
  large.defaults.hidden = 16;
  ServiceOptions small = large;
  small.memory = std::uint64_t{1} << 20;
  const auto take = [&](const ServiceOptions& o, const std::string& name, int k) {
    Service service(o);
    return samples(service, name, lines(k, k + 1));
  };
  EXPECT_EQ(take(small, "refused", 0), "cannot_learn");
  // It was never in the log, so that no moment to be killed at would leave it there.
  for (const auto& [path, text] : contents(folder_.path))
    EXPECT_EQ(path.find("inputs-"), path.npos) << path;
  EXPECT_EQ(take(large, "refused", 1).find("{\"sample\":1,"), 0U);
  EXPECT_EQ(take(large, "taken", 0).find("{\"sample\":1,"), 0U);
  EXPECT_EQ(take(small, "taken", 1), "unavailable");
  EXPECT_EQ(take(large, "taken", 2).find("{\"sample\":2,"), 0U);
}

// Several streams with keys do not count each other's memory as their own.
TEST_F(ThreadsServe, MemoryIsThatOfTheModels) {
  Service service(options("k"));
  for (int k = 0; k < 40; ++k) {
    for (const char* name : {"a", "b"}) samples(service, name, lines(k, k + 1));
    for (int t = 0; t < 3; ++t) service.tick(true);
    snapshot(service, "a", "key 0");  // whatever was posted is done
  }
  EXPECT_LT(service.memory_used(), std::uint64_t{64} << 20);
}

TEST_F(ThreadsServe, ADeletionThatFailedDoesNothing) {
  using Call = System::Call;
  for (const Call call : {Call::rename, Call::remove}) {
    fs::remove_all(folder_.path / "store");
    const bool deleted = call == Call::remove;
    const std::string next = deleted ? "{\"sample\":2," : "{\"sample\":7,";
    {
      test::BrokenSystem system(EIO, {call});
      Service service(options(), system);
      samples(service, "a", lines(0, 5));
      system.broken = true;
      EXPECT_EQ(outcome([&](auto done) { service.remove("a", done); }),
                deleted ? "fine" : "not_deleted");
      system.broken = false;
      samples(service, "a", lines(5, 6));
    }
    Service service(options());
    EXPECT_EQ(samples(service, "a", lines(6, 7)).find(next), 0U);
  }
}

// A reset that cannot be finished is, before anything is taken.
TEST_F(ThreadsServe, AResetIsFinishedOrNotBegun) {
  test::BrokenSystem system(EIO, {System::Call::remove});
  Service service(options(), system);
  samples(service, "a", lines(0, 5));
  system.broken = true;
  EXPECT_EQ(outcome([&](auto done) { service.find("a")->reset(done); }), "unavailable");
  system.broken = false;
  std::string said;
  while ((said = samples(service, "a", lines(5, 6))) == "unavailable") std::this_thread::yield();
  EXPECT_EQ(said.find("{\"sample\":1,"), 0U);
}

/// Waits for another checkpoint.
void keep(Service& service, const std::string& name) {
  const auto written = [&] {
    service.tick(true);
    std::this_thread::yield();
    return service.find(name)->board().status().checkpoints_written;
  };
  const std::uint64_t before = written();
  service.find(name)->ask_for_checkpoint();
  while (written() == before) {
  }
}

// Whatever bit of whatever file is another one: no sample is lost but those of the request that it
// hit, which is told; and all goes on from there.
TEST_F(ThreadsServe, AFlippedBitIsNoticed) {
  constexpr int requests = 40;
  std::string after;  // the answer to the next one
  {
    ServiceOptions o = options();
    Service service(o);
    StreamSettings keyed = o.defaults;
    keyed.fields.key = "k";
    outcome([&](auto done) { service.make("keyed", keyed, done); });
    for (int k = 0; k < requests; ++k)
      for (const char* name : {"plain", "keyed"}) {
        samples(service, name, lines(3 * k, 3 * k + 3));
        if (k % 5 == 3 && k < 35) keep(service, name);
      }
    fs::copy(folder_.path / "store", folder_.path / "whole", fs::copy_options::recursive);
  }
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder_.path / "whole"))
    if (entry.is_regular_file() && entry.file_size() > 0)
      files.push_back(fs::relative(entry.path(), folder_.path / "whole"));
  std::ranges::sort(files);
  Rng rng(7);
  const int flips = 200 / static_cast<int>(test::one_in(10));
  for (int n = 0; n < flips; ++n) {
    fs::remove_all(folder_.path / "store");
    fs::copy(folder_.path / "whole", folder_.path / "store", fs::copy_options::recursive);
    const fs::path file = files[rng.next() % files.size()];
    const fs::path path = folder_.path / "store" / file;
    std::fstream bytes(path, std::ios::in | std::ios::out | std::ios::binary);
    const auto at = static_cast<std::streamoff>(rng.next() % fs::file_size(path));
    const int bit = 1 << (rng.next() % 8);
    const int c = bytes.seekg(at).get();
    bytes.seekp(at).put(static_cast<char>(c ^ bit));
    bytes.close();
    Said said;
    ServiceOptions o = options();
    o.say = [&](const std::string& text) { said.add(text); };
    Service service(o);
    for (const std::string name : {"plain", "keyed"}) {
      const int times = name == "plain" ? 3 : 1;
      const std::string next = samples(service, name, lines(3 * requests, 3 * requests + 1));
      const auto is = [&](int sample) {
        return next.find("{\"sample\":" + std::to_string(sample) + ',') == 0;
      };
      const int all = times * requests + 1;
      const std::string where =
          file.string() + " byte " + std::to_string(at) + ": " + said.text() + next;
      if (file.filename() == "stream.json" && next == "unavailable") {
        EXPECT_TRUE(said.has(name + ": ")) << where;
      } else if (!is(all)) {
        EXPECT_TRUE(is(all - times)) << where;
        EXPECT_TRUE(said.has(": input ")) << where;
      }
    }
  }
}

}  // namespace
}  // namespace kalstream::serve
