// What can be seen of a stream while it goes on: by anybody, without waiting for its learner.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/engine.h"
#include "engine/scores.h"
#include "monitor/status.h"
#include "settings/stream_settings.h"

namespace kalstream::serve {

/// How many points all streams together may hold.
class PointBudget {
 public:
  explicit PointBudget(std::int64_t points) : left_(points) {}
  bool take(std::int64_t points) {
    if (left_.fetch_sub(points) >= points) return true;
    left_ += points;
    return false;
  }
  void give(std::int64_t points) { left_ += points; }

 private:
  std::atomic<std::int64_t> left_;
};

/// One sample as it is drawn. Numbers are NaN where they are not known.
struct Point {
  std::uint64_t event = 0;  ///< that it came with: they grow
  std::uint64_t sample = 0;
  std::int64_t at = 0;  ///< milliseconds since 1970
  std::string key;      ///< where there are many
  std::string time;     ///< as written; empty: none
  bool time_is_text = false;
  bool anomaly = false;
};

/// Of one point and one target.
struct Numbers {
  double target;
  double prediction;
  double low;
  double high;
  double surprise;
};

struct ShownPoint : Point, Numbers {};

/// The last ones, oldest first: at most so many, and as many as the budget has room for.
class Points {
 public:
  Points(PointBudget& budget, std::size_t targets, std::size_t most)
      : budget_(&budget), targets_(targets), most_(most) {}
  ~Points() { budget_->give(taken_); }
  Points(const Points&) = delete;
  Points& operator=(const Points&) = delete;

  /// `grows`: there may be more than there are.
  void add(std::uint64_t event, std::int64_t at, const Answer& answer, bool with_key,
           bool grows = true);
  /// The target of an earlier one has come; false if that is not there any more.
  bool label(const Answer& answer, bool with_key);

  /// With or without keys, to or from a checkpoint. What there is no room for is left out.
  void exchange(Archive& archive, bool with_key);

  std::size_t size() const { return points_.size(); }
  /// From the k-th on, with the numbers of one target.
  std::vector<ShownPoint> from(std::size_t k, std::size_t target) const;
  /// The first that came with a later event.
  std::size_t after(std::uint64_t event) const;

 private:
  std::size_t place(std::size_t k) const { return (first_ + k) % points_.size(); }
  void write_target(std::size_t place, const Answer& answer);

  PointBudget* budget_;
  std::size_t targets_;
  std::size_t most_;
  std::vector<Point> points_;     // a ring once it is full
  std::vector<Numbers> numbers_;  // of each its targets
  std::size_t first_ = 0;
  std::int64_t taken_ = 0;  // of the budget
};

struct BoardLimits {
  std::size_t points = 5000;      ///< of a stream
  std::size_t of_key = 2000;      ///< of one key
  std::size_t of_keys = 200'000;  ///< of all keys together
  std::size_t keys = 100'000;     ///< that are told of, those used last
};

/// What is asked of a list of models.
struct ModelQuery {
  std::string search;
  std::string sort = "key";  ///< key, error, surprise, age, samples
  bool descending = false;
  std::size_t offset = 0;
  std::size_t limit = 100;
};

/// Whose points: those of a key, or all; numbers of one target.
struct View {
  std::optional<std::string> key;
  std::size_t target = 0;
};

class Board {
 public:
  Board(std::string name, const StreamSettings& settings, std::int64_t created, BoardLimits limits,
        PointBudget& budget);

  // ---- By the stream.
  /// Its fields are known, or others than before.
  void settle(const Engine& engine);
  /// Models that are there, though nothing of them has been seen yet.
  void know(const std::vector<std::string>& keys);
  void answered(const Answer& answer, std::int64_t at);
  void warned(std::string_view kind, std::string_view text);
  /// Why the stream cannot be used; empty: it can.
  void set_failure(std::string why);
  /// Counts and scores: after every request.
  void count(const Engine& engine);
  /// All that changes slowly: now and then.
  void set_status(StreamStatus status);
  void forget(const std::string& key);
  /// Nothing has been learnt.
  void clear();

  /// What is seen beside the engine's state, for a checkpoint; without points if they are many, and
  /// not `all` are asked for. Sets `is_whole` if nothing was left out.
  std::string state(bool all, bool& is_whole) const;
  /// Goes on from that, once the fields are settled. Returns whether nothing was left out. Throws
  /// SnapshotError.
  bool restore(std::string_view state);

  // ---- By anybody.
  const std::string& name() const { return name_; }
  std::uint64_t events()
      const;  ///< that there have been, so that one can tell whether there is news
  StreamStatus status() const;
  /// Why the stream could not be opened, so that nothing is known of it; empty: it was.
  std::string failure_to_open() const;
  std::vector<std::string> targets() const;
  /// The place of a target by its name; nothing if there is none. The first, if the name is empty.
  std::optional<std::size_t> target(std::string_view name) const;

  /// As the API has them (docs/serve.md): a stream; its recent points; its models; …
  enum class Detail : std::uint8_t { brief, experts, all };
  std::string stream_json(Detail detail = Detail::brief) const;
  std::string history_json(const View& view, std::size_t points) const;
  std::string models_json(const ModelQuery& query) const;
  /// The last alarms, at most so many, in the order in which they began: of a key, or of all.
  std::string alarms_json(const std::optional<std::string>& key, std::size_t most) const;
  static constexpr std::size_t most_alarms = 200;
  /// … and what has happened since an event, as server-sent events: the last `most` of it, and how
  /// many were left out.
  struct News {
    std::string text;
    std::size_t events = 0;
    std::size_t left_out = 0;
    std::uint64_t last = 0;
  };
  News news(const View& view, std::uint64_t since, std::size_t most) const;
  /// The same of warnings alone.
  News warnings(std::uint64_t since) const;

  struct Forecast {
    std::vector<std::string> time;
    bool time_is_text = false;
    std::vector<double> value;
    std::vector<Interval> interval;
  };
  struct Warned {
    std::uint64_t event = 0;
    std::int64_t at = 0;
    std::string kind;
    std::string text;
  };

 private:
  // What is known of a key; of a stream without keys there is one, with an empty key.
  struct Model {
    std::string key;
    std::unique_ptr<Points> points;     // none: there was no room any more
    std::list<Model*>::iterator shown;  // where it is in shown_, if it has points
    Forecast forecast;
    std::vector<double> last_target;
    std::optional<RunningScore> score;
    std::optional<RunningScore> naive;
    std::uint64_t samples = 0;
    std::uint64_t anomalies = 0;
    double surprise = StreamStatus::unknown;
    std::int64_t last = 0;
  };
  struct Label {
    std::uint64_t event = 0;
    std::string key;
    std::uint64_t sample = 0;
    std::vector<double> target;
    std::vector<double> surprise;
    bool anomaly = false;
  };
  struct KeptAlarm {
    std::string key;
    AlarmEvent alarm;
  };
  using Place = std::list<Model>::iterator;

  void exchange(Archive& archive, bool& with_points);
  void exchange(Archive& archive, Model& model, bool with_points);
  Model& model_of(std::string_view key);
  Points* points_for(Model& model);
  void hide(Model& model);
  void erase(Place model);
  void score(Model& model, const Answer& answer);
  void keep_alarm(const Answer& answer);
  const Model* find(const View& view) const;
  const Points* points_of(const View& view) const;
  void begin_event(std::string& to, const char* name, std::uint64_t id) const;
  void add_warnings(News& news, std::uint64_t since) const;

  const std::string name_;
  const std::string learner_;
  const std::int64_t created_;
  const BoardLimits limits_;
  PointBudget& budget_;

  mutable std::mutex mutex_;  // of all that follows
  std::uint64_t event_ = 0;
  bool keys_ = false;
  bool settled_ = false;
  double interval_ = 0;
  std::size_t horizon_ = 0;
  std::vector<std::string> targets_;
  std::unique_ptr<Points> all_;  // of all keys
  std::list<Model> models_;      // the last used first
  std::unordered_map<std::string_view, Place> by_key_;
  std::list<Model*> shown_;  // those with points, the last used first
  std::size_t points_of_keys_ = 0;
  std::optional<RunningScore> naive_;
  std::deque<Label> labels_;
  std::deque<Warned> warnings_;
  std::deque<KeptAlarm> alarms_;
  Counts counts_;
  Errors errors_;
  Errors recent_errors_;
  double coverage_recent_ = StreamStatus::unknown;
  double surprise_ = StreamStatus::unknown;
  std::int64_t last_ = 0;
  std::uint64_t model_count_ = 0;
  std::uint64_t memory_ = 0;
  StreamStatus status_;
  decltype(StreamStatus::warnings) warnings_before_{};  // by processes before this one
  std::string failure_;
  const std::string options_;    // JSON
  std::string schema_ = "null";  // the same
};

std::int64_t milliseconds_now();

}  // namespace kalstream::serve
