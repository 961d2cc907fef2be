// One stream of a service: its learner, what it was given on disk, and what can be seen of it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/workers.h"
#include "engine/engine.h"
#include "engine/ports.h"
#include "serve/board.h"
#include "serve/body_records.h"
#include "serve/input_log.h"
#include "serve/strand.h"
#include "settings/stream_settings.h"
#include "stream/checkpoints.h"
#include "stream/stream_monitor.h"
#include "system/system.h"

namespace kalstream::serve {

struct ServiceOptions {
  std::string folder;
  StreamSettings defaults;  ///< of a stream that its first sample makes
  std::size_t max_streams = 200;
  std::size_t threads = 2;
  std::size_t max_models = 10'000;                ///< in memory, of one stream
  std::uint64_t memory = std::uint64_t{1} << 30;  ///< for all streams
  std::int64_t points = 2'000'000;                ///< that all streams together show
  BoardLimits board = {};
  Cadence cadence = {};
  bool sync = false;
  std::function<void(const std::string&)> say = [](const std::string&) {};
};

/// What all streams of a service have in common.
struct StreamSurroundings {
  const ServiceOptions& options;
  System& system;
  WorkThreads& threads;
  SharedWorkers& workers;  ///< for a request with many samples of many keys
  PointBudget& points;
  std::atomic<int>& commits;                ///< under way, of all streams
  std::atomic<std::uint64_t>& memory_used;  ///< by all streams
};

/// What can go wrong with a request, by the status of its answer.
struct Refusal : std::runtime_error {
  Refusal(unsigned answer, std::string why, const std::string& message)
      : std::runtime_error(message), status(answer), code(std::move(why)) {}

  unsigned status;
  std::string code;
};

/// Everything asked of it is done in the order it was asked, by the service's threads; what it
/// tells comes back by a call from there. What has been answered is on disk, and what is on disk is
/// taken again after a crash.
class ServedStream : public std::enable_shared_from_this<ServedStream>, private StreamListener {
 public:
  using Clock = std::chrono::steady_clock;
  /// The answers, as text; or why there are none.
  using Answered = std::function<void(std::string answers, const Refusal* refusal)>;
  using Done = std::function<void(const Refusal* refusal)>;
  using Told = std::function<void(std::optional<Bytes> bytes, const Refusal* refusal)>;

  /// In a folder of its own, with what is kept there. Nothing is opened yet.
  ServedStream(std::string name, StreamSettings settings, std::int64_t created, std::string folder,
               const StreamSurroundings& surroundings);
  ~ServedStream() override;

  const std::string& name() const { return board_.name(); }
  const StreamSettings& settings() const { return settings_; }
  const Board& board() const { return board_; }
  /// Why it cannot be used; empty: it can.
  std::string failure() const;

  /// Goes on from what is in the folder, or makes it. The rest waits for it.
  void open(bool is_new, Done done);
  /// In the place of open(): what is in the folder cannot be read. It is left as it is, and
  /// everything asked is refused.
  void be_damaged(const std::string& why);
  bool is_damaged() const { return is_damaged_; }
  /// Samples: `owner` holds what the input refers to. Answers are lines, or the elements of a list.
  void take(Input input, std::shared_ptr<const void> owner, Answered answered);
  void put_model(std::string key, std::string state, Done done);
  void forget_model(std::string key, Done done);
  void snapshot(std::string key, Told told);
  using Foreseen =
      std::function<void(const Foresight& foresight, std::size_t outputs, const Refusal* refusal)>;
  /// With what may be an input of samples to come; learns nothing.
  void foresee(std::string key, std::size_t horizon, std::optional<Input> inputs,
               std::shared_ptr<const void> owner, Foreseen foreseen);
  /// Same options, nothing learnt.
  void reset(Done done);
  /// Lets go of all files, after a checkpoint.
  void close(Done done);
  /// Lets go of them, and removes them: all at once, or it goes on as before.
  void remove(Done done);

  /// From time to time: checkpoints, and what is seen of it.
  void tick(bool a_second_has_passed);
  void ask_for_checkpoint() { asked_ = true; }

 private:
  struct Parts;  // that are made anew by a reset
  struct Work;   // a request for samples

  void began(const Engine& engine) override { board_.settle(engine); }
  void answered(const Answer& answer, std::string_view text) override;
  bool store_failed(const StoreError&, int times) override { return times == 1; }
  void warned(const char* kind, const std::string& text) override { board_.warned(kind, text); }
  void looked(const Engine&, const StreamStatus& status) override { board_.set_status(status); }

  void start();
  void replay(const Input& input);
  Refusal undo(const Refusal& refusal);
  void store(Work& work);
  bool step(Work& work, Clock::time_point until);
  void work_through(Work& work, Clock::time_point until);
  std::size_t take_some(const Work& work);
  void see_engine();
  void set_memory(std::uint64_t bytes);
  void say(const std::string& text) const;
  void tell_left(const std::vector<std::string>& paths) const;
  void look_at_clock(Clock::time_point until);
  void set_committing(bool now);
  void fail(const std::string& why);
  void stop_parts(bool with_checkpoint);
  bool is_cheap(const Input& input) const;
  void run(Done done, std::function<void()> job);
  void require_open();
  void require_sound();
  void remove_what_was_made();

  const StreamSettings settings_;
  const std::int64_t created_;
  const std::string folder_;
  const StreamSurroundings around_;
  Board board_;
  std::shared_ptr<Strand> strand_;
  std::unique_ptr<Parts> parts_;         // of the strand alone
  std::int64_t at_ = 0;                  // when what is answered came; the same
  Work* work_ = nullptr;                 // what is answered; nullptr: nobody waits for it; the same
  Clock::time_point try_again_;          // to open it, after it has failed; the same
  std::atomic<bool> is_damaged_{false};  // from its beginning, and for good
  std::atomic<std::uint64_t> memory_{0};
  std::atomic<float> work_per_sample_{1};  // seconds, lately
  std::atomic<bool> ticking_{false};       // a tick is posted
  std::atomic<bool> committing_{false};
  std::atomic<bool> asked_{false};       // for a checkpoint
  std::atomic<bool> status_due_{false};  // to be shown anew
  std::atomic<std::uint64_t> changes_{0};
  std::uint64_t seen_changes_ = 0;  // by the clock
  int quiet_seconds_ = 0;
  mutable std::mutex mutex_;  // of what follows
  std::string failure_;
};

}  // namespace kalstream::serve
