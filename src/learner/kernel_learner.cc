#include "learner/kernel_learner.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <utility>

#include "core/archive.h"
#include "core/denormals.h"
#include "core/finite.h"
#include "core/rng.h"
#include "learner/parts.h"

namespace kalstream {
namespace {

constexpr std::uint64_t first_renewal = 16;       // samples
constexpr std::uint64_t first_climb = 12;         // samples
constexpr std::uint64_t samples_of_a_climb = 32;  // in memory, for one from each to the next
constexpr double largest = 1e30;                  // that is remembered: fits a float
constexpr std::size_t batch = 96;                 // samples of a climb, which takes some 0.2 ms
constexpr std::uint64_t most_climbs_left = 64;    // what would be too late is not made up for
// Of one portion of work:
constexpr std::size_t most_climbs = 12;  // one of a batch, more of fewer samples, which take less
constexpr std::size_t centres_chosen = 32;
constexpr std::size_t samples_again = 8;
// Samples that are not drawn for a choice: the oldest, which may be forgotten before it is made.
constexpr std::size_t kept_back = 16;

// Samples drawn from memory, for a moment: shared by all models of a thread.
struct Batch {
  std::vector<double> x, d;
};

Batch& batch_of_thread(std::size_t x_size, std::size_t d_size) {
  thread_local Batch one;
  if (one.x.size() < x_size) one.x.resize(x_size);
  if (one.d.size() < d_size) one.d.resize(d_size);
  return one;
}

}  // namespace

KernelLearner::KernelLearner(std::size_t inputs, std::size_t outputs, const Kernel& rule)
    : inputs_(inputs),
      seen_inputs_(inputs * (1 + rule.past_inputs)),
      width_(seen_inputs_ + outputs),
      rule_(rule),
      likelihood_(seen_inputs_, outputs),
      filter_(std::make_unique<KernelFilter>(likelihood_.shape(), outputs, std::vector<double>())),
      renewal_at_(first_renewal),
      rows_(rule.memory * width_),
      seen_(seen_inputs_),
      ahead_(seen_inputs_),
      again_(width_),
      d_hat_(outputs),
      spread_(outputs),
      no_prediction_(outputs, std::numeric_limits<double>::quiet_NaN()) {
  draw(0, 0);
}

bool KernelLearner::is_usable(std::span<const double> x) const {
  return x.size() == inputs_ && all_usable(x);
}

// Brings d_hat_ up to date for x. False if x cannot be used.
bool KernelLearner::bring_up_to_date(std::span<const double> x) {
  if (!is_usable(x)) return false;
  if (predicted_ && std::ranges::equal(x, std::span(seen_).first(inputs_))) return true;
  std::ranges::copy(x, seen_.begin());
  std::ranges::copy(filter_->predict(seen_), d_hat_.begin());
  predicted_ = true;
  return true;
}

std::span<const double> KernelLearner::predict(std::span<const double> x) {
  const FlushDenormals guard;
  return bring_up_to_date(x) ? d_hat_ : no_prediction_;
}

std::span<const double> KernelLearner::spread() {
  const FlushDenormals guard;
  if (!predicted_) return {};
  std::ranges::fill(spread_, std::sqrt(filter_->relative_variance()));
  return spread_;
}

std::span<const double> KernelLearner::forecast_next(std::span<const double> x) {
  const FlushDenormals guard;
  if (!is_usable(x)) return no_prediction_;
  predicted_ = false;
  std::ranges::copy(x, ahead_.begin());
  std::ranges::copy(filter_->predict(ahead_), d_hat_.begin());
  std::shift_right(ahead_.begin(), ahead_.end(), static_cast<std::ptrdiff_t>(inputs_));
  return d_hat_;
}

StepReport KernelLearner::learn(std::span<const double> x, std::span<const double> d) {
  const FlushDenormals guard;
  if (d.size() != outputs() || !all_usable(d) || !bring_up_to_date(x)) return refusal(*this);
  const StepStatus status = take(d);
  work();
  const bool applied = status == StepStatus::applied;
  return {.status = status,
          .experts = 1,
          .applied = applied ? 1U : 0U,
          .rejected = applied ? 0U : 1U,
          .covariance_trace = filter_->covariance_trace(),
          .weights = {}};
}

void KernelLearner::remember(std::span<const double> x, std::span<const double> d) {
  if (bring_up_to_date(x)) take(d);
}

// The sample that was last predicted, with target d. The more samples are known, the rarer are
// climbs, since a new one says less then; the fewer make up a batch, the more there are.
StepStatus KernelLearner::take(std::span<const double> d) {
  const StepStatus status = filter_->learn(d);
  const std::span<float> row = row_of(learnt_++);
  const auto narrow = [](double v) { return static_cast<float>(std::clamp(v, -largest, largest)); };
  std::ranges::transform(d, std::ranges::transform(seen_, row.begin(), narrow).out, narrow);
  move_on();
  const std::uint64_t known = std::min<std::uint64_t>(learnt_, 2 * rule_.memory);
  const std::uint64_t pause = std::max<std::uint64_t>(known / samples_of_a_climb, 1);
  if (learnt_ >= first_climb && learnt_ % pause == 0)
    climbs_left_ =
        std::min(climbs_left_ + 2 * batch / std::min(batch, remembered()) - 1, most_climbs_left);
  return status;
}

StepReport KernelLearner::advance(std::span<const double> x) {
  if (!is_usable(x)) return refusal(*this);
  std::ranges::copy(x, seen_.begin());
  move_on();
  return {.status = StepStatus::missing,
          .experts = 1,
          .covariance_trace = filter_->covariance_trace(),
          .weights = {}};
}

// The inputs of this sample are those of the past.
void KernelLearner::move_on() {
  ++samples_;
  predicted_ = false;
  std::shift_right(seen_.begin(), seen_.end(), static_cast<std::ptrdiff_t>(inputs_));
}

std::size_t KernelLearner::remembered() const {
  return static_cast<std::size_t>(std::min<std::uint64_t>(learnt_, rule_.memory));
}

std::span<const double> KernelLearner::recall(std::uint64_t sample) {
  std::ranges::copy(row_of(sample), again_.begin());
  return again_;
}

// At most so many of the samples in memory, of those before `until`: drawn at random, none of them
// twice.
KernelLearner::Drawn KernelLearner::draw(std::size_t n, std::uint64_t until) {
  Batch& to = batch_of_thread(most_candidates * seen_inputs_, most_candidates * outputs());
  const auto all =
      static_cast<std::size_t>(std::min<std::uint64_t>(until, rule_.memory - kept_back));
  n = std::min(n, all);
  Rng rng(until);
  std::size_t taken = 0;
  for (std::size_t k = 0; taken < n; ++k) {
    if (rng.below(all - k) >= n - taken) continue;
    const std::span<const float> row = row_of(until - 1 - k);
    std::ranges::copy(row.first(seen_inputs_), &to.x[taken * seen_inputs_]);
    std::ranges::copy(row.subspan(seen_inputs_), &to.d[taken * outputs()]);
    ++taken;
  }
  return {n, to.x, to.d};
}

// First all climbs that are due; then the choice of centres, the new filter and its samples.
bool KernelLearner::work() {
  if (climbs_left_ > 0) climb();
  if (climbs_left_ > 0) return true;
  if (next_)
    learn_again();
  else if (choice_ || is_renewal_due())
    choose();
  return next_ || choice_ || is_renewal_due();
}

void KernelLearner::climb() {
  const Drawn drawn = draw(batch, learnt_);
  const double times_smaller = static_cast<double>(batch) / static_cast<double>(drawn.n);
  std::size_t climbs = static_cast<std::size_t>(
      std::min(std::pow(times_smaller, 3), static_cast<double>(most_climbs)));
  for (; climbs > 0 && climbs_left_ > 0; --climbs, --climbs_left_)
    likelihood_.climb(drawn.n, drawn.x, drawn.d);
}

// Half as many samples again from one renewal to the next.
void KernelLearner::choose() {
  try {
    if (!choice_) {
      renewal_at_ = learnt_ + std::min<std::uint64_t>(learnt_ / 2, rule_.renewal);
      choice_began_ = learnt_;
      begin_choice(likelihood_.shape());
    }
    if (choice_->choose(centres_chosen)) return;
    next_ = std::make_unique<KernelFilter>(choice_->shape(), outputs(), choice_->centres());
    learnt_again_ = learnt_ - remembered();
  } catch (const std::bad_alloc&) {  // the filter that there is stays for now
  }
  choice_.reset();
}

void KernelLearner::begin_choice(const KernelShape& shape) {
  const Drawn drawn = draw(most_candidates, choice_began_);
  choice_ = std::make_unique<CentreChoice>(shape, drawn.n, drawn.x, rule_.centres);
}

void KernelLearner::learn_again() {
  learnt_again_ = std::max(learnt_again_, learnt_ - remembered());
  for (std::size_t k = 0; k < samples_again && learnt_again_ < learnt_; ++k) {
    const std::span<const double> sample = recall(learnt_again_++);
    next_->predict(sample.first(seen_inputs_));
    next_->learn(sample.subspan(seen_inputs_));
  }
  if (learnt_again_ < learnt_) return;
  filter_.swap(next_);
  next_.reset();
}

void KernelLearner::reset() {
  likelihood_.reset();
  filter_ = std::make_unique<KernelFilter>(likelihood_.shape(), outputs(), std::vector<double>());
  next_.reset();
  choice_.reset();
  std::ranges::fill(seen_, 0.0);
  predicted_ = false;
  renewal_at_ = first_renewal;
  samples_ = learnt_ = learnt_again_ = climbs_left_ = choice_began_ = 0;
}

// Only what is still remembered. A choice that is being made is made again up to where it was.
void KernelLearner::exchange(Archive& archive) {
  archive.count(samples_);
  archive.count(learnt_, samples_);
  archive.count(climbs_left_, most_climbs_left);
  archive.count(renewal_at_);
  bool is_renewing = next_ != nullptr;
  archive.flag(is_renewing);
  archive.count(learnt_again_, learnt_);
  for (std::uint64_t k = learnt_ - remembered(); k < learnt_; ++k) archive.run(row_of(k));
  archive.run(std::span(seen_).subspan(inputs_), Archive::usable);
  likelihood_.exchange(archive);
  const auto exchange_filter = [&](Cloned<KernelFilter>& filter) {
    KernelFilter::exchange(archive, filter, seen_inputs_, outputs(), rule_.centres);
  };
  exchange_filter(filter_);
  if (is_renewing)
    exchange_filter(next_);
  else
    next_.reset();
  bool is_choosing = choice_ != nullptr;
  archive.flag(is_choosing);
  archive.count(choice_began_, learnt_);
  if (!is_choosing) {
    choice_.reset();
  } else {
    KernelShape shape = choice_ ? choice_->shape() : likelihood_.shape();
    std::size_t chosen = choice_ ? choice_->size() : 0;
    archive.numbers(shape.log, [](double v) { return std::abs(v) <= KernelShape::most; });
    archive.count(chosen, rule_.centres);
    archive.require(learnt_ - choice_began_ <= kept_back);
    if (archive.reading()) {
      begin_choice(shape);
      choice_->choose(chosen);
    }
  }
  if (archive.reading()) predicted_ = false;
}

}  // namespace kalstream
