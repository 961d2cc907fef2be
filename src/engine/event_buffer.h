// The events of a record that is taken in a batch.
#pragma once

#include <vector>

#include "engine/listener.h"

namespace kalstream {

/// Buffers the events of one model so that they can be delivered in record order after parallel
/// work. Used again and again, it stops allocating.
class EventBuffer final : public StreamListener {
 public:
  void clear();

  void took(std::span<const double> x) override;
  void scored(std::uint64_t sample, std::span<const double> d_hat,
              std::span<const Interval> interval, std::span<const double> d) override;
  /// Keeps the report without its weights, which do not live as long.
  void stepped(std::uint64_t sample, const StepReport& report) override;

  /// Delivers the events in the order in which they came.
  void replay(StreamListener& to) const;

 private:
  // The numbers of an event are in numbers_ and bounds_, one event after the other.
  struct Event {
    enum class Kind : std::uint8_t { took, scored, stepped };

    Kind kind = Kind::stepped;
    std::uint64_t sample = 0;
    std::size_t first = 0;   // numbers: x, or d_hat
    std::size_t second = 0;  // numbers: d
    std::size_t bounds = 0;
    StepReport report;
  };

  std::vector<Event> events_;
  std::vector<double> numbers_;
  std::vector<Interval> bounds_;
};

}  // namespace kalstream
