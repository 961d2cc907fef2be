// What a model tells, kept to be told again: models that learn at the same time are heard in the
// order of their records.
#pragma once

#include <span>
#include <vector>

#include "engine/model.h"

namespace kalstream {

/// Used again and again, it stops allocating.
class Hearsay final : public ModelListener {
 public:
  void clear();

  void scored(std::span<const double> d_hat, std::span<const Interval> interval,
              std::span<const double> d) override;
  /// What a report refers to does not live as long: it is told without.
  void stepped(const StepReport& report) override;

  void tell(ModelListener& to) const;

 private:
  // In the order they were heard: a score, of so many numbers and bounds, or else a report.
  struct Word {
    bool is_score = false;
    std::size_t predicted = 0;
    std::size_t bounds = 0;
    std::size_t targets = 0;
    StepReport report;
  };

  std::vector<Word> words_;
  std::vector<double> numbers_;  // of all scores
  std::vector<Interval> bounds_;
};

}  // namespace kalstream
