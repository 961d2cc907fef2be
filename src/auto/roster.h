// Which networks of `auto` are awake.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace kalstream {

class Archive;

/// A network that hardly moves the prediction does not pay for its time and memory. It is put to
/// sleep: it says nothing, and what it learnt is forgotten. It is woken again by evidence, when
/// errors have grown since it fell asleep, and otherwise for a trial after a while, each time twice
/// as long as the time before.
///
/// How much an expert counts is the running mean of (d̂ without it − d̂)², in units of the squared
/// error: where the others make up for it, that grows by about this share.
class Roster {
 public:
  struct Change {
    std::vector<std::size_t> sleep;
    std::vector<std::size_t> wake;
  };

  /// Who may sleep.
  explicit Roster(std::vector<bool> may_sleep);

  bool is_awake(std::size_t j) const { return seats_[j].awake; }
  std::size_t asleep() const;

  /// A sample was learnt with this squared error, and so much would its prediction have been
  /// another without expert j. Says who is to fall asleep or to wake now.
  const Change& learn(std::span<const double> moved, double squared_error);
  /// The same where all shall be awake.
  const Change& wake_all();
  void reset();
  void exchange(Archive& archive);

 private:
  struct Seat {
    bool may_sleep = false;
    bool awake = true;
    std::uint64_t since = 0;  // samples since it woke or fell asleep
    std::uint64_t nap = 0;    // how long it sleeps, if nothing happens
    double moved = 0;
  };

  void wake(std::size_t j);
  bool begin_trial();
  void find_sleeper();

  std::vector<Seat> seats_;
  Change change_;
  std::uint64_t samples_ = 0;
  std::uint64_t pause_ = 0;    // samples since the last change
  double usual_error_ = 0;     // squared, over the last hundreds of samples
  double recent_error_ = 0;    // over the last tens
  double error_at_sleep_ = 0;  // the usual one, when the last one fell asleep
};

}  // namespace kalstream
