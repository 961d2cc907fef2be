#include "engine/hearsay.h"

namespace kalstream {

void Hearsay::clear() {
  words_.clear();
  numbers_.clear();
  bounds_.clear();
}

void Hearsay::scored(std::span<const double> d_hat, std::span<const Interval> interval,
                     std::span<const double> d) {
  words_.push_back({.is_score = true,
                    .predicted = d_hat.size(),
                    .bounds = interval.size(),
                    .targets = d.size(),
                    .report = {}});
  numbers_.insert(numbers_.end(), d_hat.begin(), d_hat.end());
  numbers_.insert(numbers_.end(), d.begin(), d.end());
  bounds_.insert(bounds_.end(), interval.begin(), interval.end());
}

void Hearsay::stepped(const StepReport& report) {
  words_.push_back({.report = report});
  words_.back().report.weights = {};
}

void Hearsay::tell(ModelListener& to) const {
  std::span<const double> numbers = numbers_;
  std::span<const Interval> bounds = bounds_;
  for (const Word& word : words_) {
    if (!word.is_score) {
      to.stepped(word.report);
      continue;
    }
    to.scored(numbers.first(word.predicted), bounds.first(word.bounds),
              numbers.subspan(word.predicted, word.targets));
    numbers = numbers.subspan(word.predicted + word.targets);
    bounds = bounds.subspan(word.bounds);
  }
}

}  // namespace kalstream
