// A stream on a system on which every single call goes wrong once, in every way there is. Whatever
// happens, it is started again, and then all is as if nothing had ever gone wrong: every line has
// its answer, and but one; what was learnt is the same to the bit; no file is left behind.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "core/envelope.h"
#include "core/hash.h"
#include "engine/checkpoint.h"
#include "faulty_system.h"
#include "stores/file_store.h"
#include "stores/folder_store.h"
#include "stream/driver.h"
#include "stream/line_records.h"
#include "support.h"
#include "temporary_folder.h"

namespace kalstream {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::Fault;
using test::FaultySystem;
using test::TemporaryFolder;

constexpr int lines = 8;
constexpr int keys = 5;

struct Scenario {
  friend void PrintTo(const Scenario& s, std::ostream* out) { *out << s.name; }

  const char* name;
  bool keyed = false;
  bool followed = false;
};

json line(int t) {
  const double a = std::sin(0.7 * t);
  return {
      {"id", t}, {"k", "key " + std::to_string(t * t % keys)}, {"a", a}, {"target", 3 * a + t % 3}};
}

std::string text_of(int first, int last) {
  std::string text;
  for (int t = first; t < last; ++t) text += line(t).dump() + "\n";
  return text;
}

std::string content(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string sum(std::string_view text) { return std::to_string(fnv1a(text)); }

/// Counts the checkpoints of which the driver knows how they ended.
class Outcomes final : public StreamListener {
 public:
  void looked(const Engine&, const StreamStatus& status) override {
    known_ = status.checkpoints_written + status.checkpoint_failures;
  }

  std::uint64_t known() const { return known_; }

 private:
  std::uint64_t known_ = 0;
};

/// A store that can be waited for, so that each run makes the same calls in the same order. A
/// commit counts as under way until the driver knows its outcome: the thread that commits may be
/// held up by the system between its last call and telling the outcome, for any time.
class Awaited final : public StateStore {
 public:
  Awaited(StateStore& store, const Outcomes& outcomes) : store_(store), outcomes_(outcomes) {}

  std::optional<Bytes> stream() override { return store_.stream(); }
  std::optional<Bytes> get(const std::string& key) override { return store_.get(key); }
  bool holds(const std::string& key) override { return store_.holds(key); }
  std::string remark() const override { return store_.remark(); }
  std::size_t models() const override { return store_.models(); }
  void put(std::vector<KeyedState> models) override { store_.put(std::move(models)); }
  bool takes_models() const override { return store_.takes_models(); }
  std::uint64_t begin_commit() override {
    begun_after_ = outcomes_.known();
    return store_.begin_commit();
  }
  void commit(std::uint64_t ticket, Bytes stream, const NextState& next) override {
    store_.commit(ticket, std::move(stream), next);
  }

  /// Up to date once the monitor has looked at the stream. There is one commit at a time.
  bool is_committing() const { return begun_after_ && outcomes_.known() == *begun_after_; }

 private:
  StateStore& store_;
  const Outcomes& outcomes_;
  std::optional<std::uint64_t> begun_after_;  // outcomes known when the last commit began
};

/// Answers in a text, each written when no commit is under way; says which was the last.
class OneAfterTheOther final : public LineOutput {
 public:
  using Then = std::function<void(int id)>;

  OneAfterTheOther(int out, const Signals& signals, System& system, const Awaited& store, Then then)
      : LineOutput(out, signals, system), store_(store), then_(std::move(then)) {}

  void write(std::string_view lines) override {
    id_ = json::parse(lines)["id"];
    LineOutput::write(lines);
  }
  bool flush(const std::function<void()>& meanwhile) override {
    meanwhile();  // takes note of an outcome, and lets the monitor look
    while (store_.is_committing()) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));  // the processor is the other's
      meanwhile();
    }
    const bool gone = LineOutput::flush(meanwhile);
    then_(id_);
    return gone;
  }

 private:
  const Awaited& store_;
  Then then_;
  int id_ = 0;
};

constexpr Scenario one_file{"File"};
constexpr Scenario one_folder{.name = "Folder", .keyed = true};
constexpr Scenario one_followed{.name = "Followed", .followed = true};

/// One stream, in a folder of its own.
class Place {
 public:
  explicit Place(const Scenario& scenario, int count = lines) : scenario_(scenario) {
    fs::create_directory(folder_.path / "kept");
    folder_.write("lines", text_of(0, scenario_.followed ? count / 2 : count));
  }

  /// As the program does. Throws what it would say.
  void run(System& system) {
    run(system, system, [](int) {});
  }

  /// `then` hears of every line that was answered.
  void run(System& system, System& answering, const std::function<void(int)>& then) {
    const auto kept = folder_.path / "kept" / (scenario_.keyed ? "folder" : "s.kal");
    std::unique_ptr<StateStore> store;
    if (scenario_.keyed)
      store = std::make_unique<FolderStore>(kept, system);
    else
      store = std::make_unique<FileStore>(kept, system);
    const Descriptor in(System::real(), ::open((folder_.path / "lines").c_str(), O_RDONLY));
    const Descriptor out(System::real(), ::open((folder_.path / "answers").c_str(),
                                                O_WRONLY | O_CREAT | O_APPEND, 0644));
    Signals signals;
    LineOptions from{.in = in.get()};
    if (scenario_.followed) from.follow = (folder_.path / "lines").string();
    LineRecords source(from, signals.descriptor(), system);
    Outcomes outcomes;
    Awaited awaited(*store, outcomes);
    Driver driver(options(&outcomes), source, &awaited, signals);
    driver.resume();
    if (scenario_.followed) follow_up(static_cast<int>(source.line()) - 1);
    OneAfterTheOther output(out.get(), signals, answering, awaited, [&](int id) {
      if (scenario_.followed) follow_up(id);
      then(id);
    });
    driver.run(output);
  }

  const fs::path& path() const { return folder_.path; }
  const std::vector<std::string>& said() const { return said_; }

  /// Every line's answers, those that are whole.
  std::map<int, std::set<std::string>> answers() const {
    std::map<int, std::set<std::string>> all;
    std::istringstream in(content(folder_.path / "answers"));
    for (std::string text; std::getline(in, text);) {
      const json answer = json::parse(text, nullptr, /*allow_exceptions=*/false);
      if (!answer.is_discarded()) all[answer["id"]].insert(text);
    }
    return all;
  }

  /// What is kept, and under which names.
  std::map<std::string, std::string> state() const {
    std::map<std::string, std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path / "kept"))
      if (entry.path().extension() != ".previous")  // there may be none yet
        all[fs::relative(entry.path(), folder_.path)];
    if (!scenario_.keyed) {
      all["stream"] = sum(content(folder_.path / "kept" / "s.kal"));
      return all;
    }
    const auto text = [&](const std::optional<std::string>& key) {
      const auto bytes = read_folder(folder_.path / "kept" / "folder", key);
      return bytes ? sum(as_text(*bytes)) : "";
    };
    all["stream"] = text({});
    for (int k = 0; k < keys; ++k)
      all["model " + std::to_string(k)] = text("key " + std::to_string(k));
    return all;
  }

 private:
  // The file that is followed is rotated in the middle, and never ends: the stream is stopped.
  void follow_up(int id) {
    const fs::path file = folder_.path / "lines";
    const fs::path rotated = folder_.path / "lines.1";
    if (id == lines / 2 - 1 && !fs::exists(rotated)) {
      fs::rename(file, rotated);
      folder_.write("lines", text_of(lines / 2, lines));
    }
    if (id == lines - 1) ::raise(SIGTERM);
  }

  DriverOptions options(StreamListener* observer) {
    DriverOptions options;
    options.engine.fields.key = scenario_.keyed ? "k" : "";
    options.engine.fields.inputs = {"a"};
    options.engine.recipe = [](std::size_t inputs, std::size_t outputs) {
      return Recipe{{.network = {.inputs = inputs, .outputs = outputs}, .rule = Rls{}}, false};
    };
    options.engine.max_models = 2;
    options.cadence.samples = 2;
    options.monitor.observer = observer;
    options.monitor.say = [this](const std::string& text) { said_.push_back(text); };
    return options;
  }

  Scenario scenario_;
  std::vector<std::string> said_;
  TemporaryFolder folder_{test::in_memory()};
};

class Faults : public testing::TestWithParam<std::tuple<Scenario, Fault>> {
 protected:
  /// Whether the fault was met at all.
  bool run_with_fault(Place& place, Fault fault, std::uint64_t number) {
    if (fault == Fault::end_of_process) return run_to_its_end(place, number);
    FaultySystem system(fault, number);
    try {
      place.run(system);
    } catch (const std::runtime_error& error) {
      said_ = error.what();
    }
    // A checkpoint that fails is no reason to stop.
    if (system.met_beside_the_work()) {
      EXPECT_EQ(place.answers().size(), lines) << said_;
    }
    return system.met();
  }

  static bool run_to_its_end(Place& place, std::uint64_t number) {
    const pid_t child = ::fork();
    if (child == 0) {
      FaultySystem system(Fault::end_of_process, number);
      try {
        place.run(system);
      } catch (const std::exception&) {
        ::_exit(1);
      }
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) != 1);
    return WEXITSTATUS(status) == FaultySystem::ended;
  }

  std::string said_;
};

constexpr std::uint64_t stride = test::one_in(7);

TEST_P(Faults, NothingIsLost) {
  const auto& [scenario, fault] = GetParam();
  Place unbroken(scenario);
  unbroken.run(System::real());
  const auto answers = unbroken.answers();
  const auto state = unbroken.state();
  ASSERT_EQ(answers.size(), lines);

  bool met = true;
  for (std::uint64_t number = 1; met && !HasFailure(); number += stride) {
    SCOPED_TRACE("call " + std::to_string(number));
    Place place(scenario);
    said_.clear();
    met = run_with_fault(place, fault, number);
    SCOPED_TRACE("said: " + said_);
    place.run(System::real());
    EXPECT_EQ(place.answers(), answers);
    EXPECT_EQ(place.state(), state);
  }
}

class Troubles : public testing::TestWithParam<Scenario> {
 protected:
  /// Nothing is kept from the third answer on until that was warned of; otherwise it is as if that
  /// had not been.
  static void expect_going_on(System& system, const std::function<void(Place&)>& begin,
                              const std::function<void(Place&)>& end) {
    constexpr int many = 60;
    Place unbroken(GetParam(), many);
    unbroken.run(System::real());
    Place place(GetParam(), many);
    bool broken = false;
    bool warned = false;
    place.run(system, System::real(), [&](int id) {
      if (id == 2) {
        begin(place);
        broken = true;
      }
      warned = warned || std::ranges::any_of(place.said(), [](const std::string& text) {
                 return text.find("no checkpoint: ") != std::string::npos;
               });
      if (!broken || !warned || id < 5) return;
      end(place);
      broken = false;
    });
    EXPECT_TRUE(warned);
    EXPECT_EQ(place.answers(), unbroken.answers());
    EXPECT_EQ(place.state(), unbroken.state());
  }
};

TEST_P(Troubles, AFullDisk) {
  test::BrokenSystem system(ENOSPC, {System::Call::write});
  expect_going_on(
      system, [&](Place&) { system.broken = true; }, [&](Place&) { system.broken = false; });
}

TEST_P(Troubles, AFolderThatIsReadOnlyForAWhile) {
  test::BrokenSystem system(EROFS, {System::Call::write, System::Call::open, System::Call::rename,
                                    System::Call::remove, System::Call::truncate});
  expect_going_on(
      system, [&](Place&) { system.broken = true; }, [&](Place&) { system.broken = false; });
}

TEST_P(Troubles, AFolderThatIsGoneForAWhile) {
  expect_going_on(
      System::real(), [](Place& place) { fs::remove_all(place.path() / "kept"); },
      [](Place& place) {
        fs::create_directories(place.path() / "kept" / (GetParam().keyed ? "folder" : ""));
      });
}

INSTANTIATE_TEST_SUITE_P(Stores, Troubles, testing::Values(one_file, one_folder),
                         [](const auto& test) { return test.param.name; });

/// Somebody stops the stream while nobody takes its answers.
class Blocked final : public System {
 public:
  Verdict before(Call call) override {
    if (call != Call::write || ++writes_ < 5) return {};
    ::raise(SIGTERM);
    return {.error = EAGAIN};
  }

 private:
  int writes_ = 0;
};

// A line that has no answer has not been learnt, as far as anybody will know.
TEST(Undelivered, IsNotCommitted) {
  const auto expect_complete = [](System& answering) {
    Place unbroken(one_file);
    unbroken.run(System::real());
    Place place(one_file);
    try {
      place.run(System::real(), answering, [](int) {});
    } catch (const std::runtime_error& error) {
      EXPECT_NE(std::string(error.what()).find("answers cannot be written"), std::string::npos);
    }
    const std::size_t answered = place.answers().size();
    EXPECT_LT(answered, lines);
    const auto kept = checkpoint_of(as_bytes(content(place.path() / "kept" / "s.kal")));
    EXPECT_LE(summary_of(kept).counts.samples, answered);
    place.run(System::real());
    EXPECT_EQ(place.answers(), unbroken.answers());
    EXPECT_EQ(place.state(), unbroken.state());
  };
  FaultySystem fails(Fault::io_error, 5);
  expect_complete(fails);
  Blocked blocked;
  expect_complete(blocked);
}

TEST(Undelivered, APartOfAnAnswerDoesNotSpoilTheNext) {
  Place unbroken(one_file);
  unbroken.run(System::real());
  Place place(one_file);
  std::ofstream(place.path() / "answers") << "{\"sample\":1,\"id";
  place.run(System::real());
  EXPECT_EQ(place.answers(), unbroken.answers());
}

std::string name_of_test(const testing::TestParamInfo<Faults::ParamType>& test) {
  static const std::map<Fault, std::string> faults{{Fault::io_error, "IoError"},
                                                   {Fault::disk_full, "DiskFull"},
                                                   {Fault::interruption, "Interruption"},
                                                   {Fault::half_done, "HalfDone"},
                                                   {Fault::end_of_process, "EndOfProcess"}};
  return std::get<Scenario>(test.param).name + faults.at(std::get<Fault>(test.param));
}

INSTANTIATE_TEST_SUITE_P(OneModel, Faults,
                         testing::Combine(testing::Values(one_file, one_followed),
                                          testing::Values(Fault::io_error, Fault::disk_full,
                                                          Fault::interruption, Fault::half_done,
                                                          Fault::end_of_process)),
                         name_of_test);
// SQLite itself repeats what was interrupted.
INSTANTIATE_TEST_SUITE_P(ManyModels, Faults,
                         testing::Combine(testing::Values(one_folder),
                                          testing::Values(Fault::io_error, Fault::disk_full,
                                                          Fault::half_done, Fault::end_of_process)),
                         name_of_test);

}  // namespace
}  // namespace kalstream
