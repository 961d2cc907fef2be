#include "learner/trees_learner.h"

#include <algorithm>
#include <limits>

#include "core/archive.h"
#include "core/denormals.h"
#include "core/finite.h"
#include "learner/parts.h"

namespace kalstream {
/// The samples in memory, and their squared error.
class TreesLearner::Window final : public Boosting::Rows {
 public:
  explicit Window(const TreesLearner& learner) : learner_(learner) {}

  std::size_t size() const override {
    return static_cast<std::size_t>(std::min<std::uint64_t>(learner_.learnt_, learner_.memory_));
  }
  std::size_t place(std::size_t s) const override { return s; }
  std::span<const double> x(std::size_t place) const override {
    return std::span(learner_.rows_).subspan(place * learner_.width(), learner_.inputs());
  }
  void slopes(std::size_t place, std::span<const double> score, std::span<double> gradient,
              std::span<double> curvature) const override {
    const double* const d = &learner_.rows_[place * learner_.width() + learner_.inputs()];
    for (std::size_t k = 0; k < score.size(); ++k) {
      gradient[k] = d[k] - learner_.mean_[k] - score[k];
      curvature[k] = 1;
    }
  }

 private:
  const TreesLearner& learner_;
};

TreesLearner::TreesLearner(std::size_t inputs, std::size_t outputs, const Trees& rule,
                           std::uint64_t seed)
    : inputs_(inputs),
      memory_(rule.memory),
      boosting_(inputs, outputs,
                {.window = rule.memory,
                 .trees = rule.trees,
                 .leaves = rule.leaves,
                 .every = rule.every,
                 .rate = rule.rate,
                 .seed = seed}),
      rows_(rule.memory * (inputs + outputs)),
      mean_(outputs),
      d_hat_(outputs),
      no_prediction_(outputs, std::numeric_limits<double>::quiet_NaN()) {}

std::span<const double> TreesLearner::predict(std::span<const double> x) {
  if (x.size() != inputs_ || !all_usable(x)) return no_prediction_;
  boosting_.score(x, d_hat_);
  for (std::size_t k = 0; k < outputs(); ++k) d_hat_[k] += mean_[k];
  return d_hat_;
}

bool TreesLearner::is_usable(std::span<const double> x, std::span<const double> d) const {
  return x.size() == inputs_ && all_usable(x) && d.size() == outputs() && all_usable(d);
}

StepReport TreesLearner::learn(std::span<const double> x, std::span<const double> d) {
  const FlushDenormals guard;
  if (!is_usable(x, d)) return refusal(*this);
  remember(x, d);
  work();
  return {.status = StepStatus::applied, .experts = 1, .applied = 1, .weights = {}};
}

void TreesLearner::remember(std::span<const double> x, std::span<const double> d) {
  if (!is_usable(x, d)) return;
  const auto place = static_cast<std::size_t>(learnt_++ % memory_);
  const auto known = static_cast<double>(std::min<std::uint64_t>(learnt_, memory_));
  for (std::size_t k = 0; k < outputs(); ++k) mean_[k] += (d[k] - mean_[k]) / known;
  ++samples_;
  std::ranges::copy(d, std::ranges::copy(x, &rows_[place * width()]).out);
  boosting_.score(x, d_hat_);
  boosting_.take(Window(*this), place, d_hat_);
}

// The trees that there are predict well enough meanwhile.
bool TreesLearner::work() {
  boosting_.work(Window(*this));
  return false;
}

StepReport TreesLearner::advance(std::span<const double> x) {
  if (x.size() != inputs_ || !all_usable(x)) return refusal(*this);
  ++samples_;
  return {.status = StepStatus::missing, .experts = 1, .weights = {}};
}

void TreesLearner::reset() {
  boosting_.reset();
  samples_ = learnt_ = 0;
  std::ranges::fill(mean_, 0.0);
}

// Only what is still remembered.
void TreesLearner::exchange(Archive& archive) {
  archive.count(samples_);
  archive.count(learnt_, samples_);
  const Window window(*this);
  for (std::size_t place = 0; place < window.size(); ++place)
    archive.run(std::span(rows_).subspan(place * width(), width()), Archive::usable);
  archive.run(mean_, Archive::usable);
  boosting_.exchange(archive);
}

}  // namespace kalstream
