#include "engine/event_buffer.h"

namespace kalstream {

void EventBuffer::clear() {
  events_.clear();
  numbers_.clear();
  bounds_.clear();
}

void EventBuffer::took(std::span<const double> x) {
  events_.push_back({.kind = Event::Kind::took, .first = x.size(), .report = {}});
  numbers_.insert(numbers_.end(), x.begin(), x.end());
}

void EventBuffer::scored(std::uint64_t sample, std::span<const double> d_hat,
                         std::span<const Interval> interval, std::span<const double> d) {
  events_.push_back({.kind = Event::Kind::scored,
                     .sample = sample,
                     .first = d_hat.size(),
                     .second = d.size(),
                     .bounds = interval.size(),
                     .report = {}});
  numbers_.insert(numbers_.end(), d_hat.begin(), d_hat.end());
  numbers_.insert(numbers_.end(), d.begin(), d.end());
  bounds_.insert(bounds_.end(), interval.begin(), interval.end());
}

void EventBuffer::stepped(std::uint64_t sample, const StepReport& report) {
  events_.push_back({.kind = Event::Kind::stepped, .sample = sample, .report = report});
  events_.back().report.weights = {};
}

void EventBuffer::replay(StreamListener& to) const {
  std::span<const double> numbers = numbers_;
  std::span<const Interval> bounds = bounds_;
  for (const Event& event : events_) {
    const auto first = numbers.first(event.first);
    const auto second = numbers.subspan(event.first, event.second);
    switch (event.kind) {
      case Event::Kind::took:
        to.took(first);
        break;
      case Event::Kind::scored:
        to.scored(event.sample, first, bounds.first(event.bounds), second);
        break;
      case Event::Kind::stepped:
        to.stepped(event.sample, event.report);
        break;
    }
    numbers = numbers.subspan(event.first + event.second);
    bounds = bounds.subspan(event.bounds);
  }
}

}  // namespace kalstream
