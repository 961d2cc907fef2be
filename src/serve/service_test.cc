#include "serve/service.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <filesystem>

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
  samples(service, "s", lines(0, 10));
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
  std::ofstream(streams / "61" / "to-be-removed");
  std::ofstream(streams / "62" / "to-be-reset");
  fs::create_directory(streams / "64");  // never finished
  Service service(options());
  EXPECT_EQ(service.find("a"), nullptr);
  EXPECT_FALSE(fs::exists(streams / "61"));
  EXPECT_FALSE(fs::exists(streams / "64"));
  EXPECT_EQ(samples(service, "b", lines(0, 1)).find("{\"sample\":1,"), 0U);
  EXPECT_EQ(samples(service, "c", lines(0, 1)).find("{\"sample\":6,"), 0U);
}

}  // namespace
}  // namespace kalstream::serve
