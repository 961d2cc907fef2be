#include "auto/ensemble.h"

#include <algorithm>
#include <limits>

#include "core/archive.h"
#include "core/denormals.h"
#include "core/finite.h"
#include "learner/network_learner.h"
#include "learner/parts.h"
#include "learner/wild_start.h"

namespace kalstream {
namespace {

std::vector<bool> who_may_sleep(const Panel& panel) {
  std::vector<bool> may_sleep;
  for (std::size_t j = 0; j < panel.size(); ++j) may_sleep.push_back(panel[j].plan.may_sleep);
  return may_sleep;
}

}  // namespace

Ensemble::Ensemble(const Auto& options, const NetworkOptions& network)
    : expected_(network.inputs),
      panel_(options, network),
      series_([&] {
        std::vector<Series> all;
        for (std::size_t k = 0; k < network.outputs; ++k) all.emplace_back(options, network, k);
        return all;
      }()),
      now_(sight_of(options, network)),
      before_(now_),
      history_(sight_of(options, network).lags, network.outputs),
      memory_(sight_of(options, network)),
      blends_(all_experts(), network.outputs,
              {.expert = all_experts() - 1,
               .weight = network.inputs == 0 ? constants::weight_of_smoothing_panel : 0}),
      roster_(who_may_sleep(panel_)),
      range_(network.outputs),
      first_guess_(network.outputs),
      announced_(network.inputs, network.outputs),
      x_(network.inputs),
      said_(all_experts() * network.outputs, std::numeric_limits<double>::quiet_NaN()),
      variance_(said_.size(), 1.0),
      moved_(all_experts()),
      usual_(network.outputs),
      d_hat_(network.outputs),
      ahead_history_(history_),
      ahead_(network.outputs) {
  for (std::size_t j = 0; j < panel_.size(); ++j)
    if (panel_[j].plan.name == "rls") without_past_ = j;
}

// ---- Prediction

std::span<const double> Ensemble::predict(std::span<const double> x) {
  x = expected_.complete(x);
  if (predicted_ && std::equal(x.begin(), x.end(), x_.begin())) return d_hat_;
  std::copy(x.begin(), x.end(), x_.begin());
  if (has_experts()) {
    see(x, history_);
    std::ranges::copy(panel_.predict(now_, before_), said_.begin());
    for (std::size_t k = 0; k < series_.size(); ++k)
      series_[k].predict(inputs_seen(), said_by_series(k), outputs());
    blends_.predict(said_, usual_);
  } else {
    first_guess_.predict(history_[1], now_.scale.targets().running(), usual_);
  }
  unusual_ = samples_ >= constants::few_samples && announced_.see(x, now_.scale.inputs().running());
  std::copy(usual_.begin(), usual_.end(), d_hat_.begin());
  if (unusual_) announced_.add_to(d_hat_);
  predicted_ = true;
  return d_hat_;
}

void Ensemble::see(std::span<const double> x, const TargetHistory& past) {
  now_.scale.see(x, past.all(), now_.seen);
  if (panel_.are_some_behind()) before_.scale.see(x, past.all(), before_.seen);
}

std::span<const double> Ensemble::spread() {
  if (!predicted_ || !has_experts()) return {};
  std::ranges::copy(panel_.relative_variance(), variance_.begin());
  return blends_.spread(d_hat_, variance_);
}

void Ensemble::start_forecast() {
  ahead_history_ = history_;
  if (!has_experts()) return;
  panel_.start_forecast();
  for (Series& s : series_) s.start_forecast();
}

std::span<const double> Ensemble::forecast_next(std::span<const double> x) {
  x = expected_.complete(x);
  predicted_ = false;  // now_.seen and what the experts and blends said are written over
  if (has_experts()) {
    see(x, ahead_history_);
    std::ranges::copy(panel_.forecast_next(now_, before_), said_.begin());
    for (std::size_t k = 0; k < series_.size(); ++k)
      series_[k].forecast_next(inputs_seen(), said_by_series(k), outputs());
    blends_.predict(said_, ahead_);
    for (std::size_t k = 0; k < series_.size(); ++k) series_[k].note_forecast(ahead_[k]);
    ahead_history_.push_guess(ahead_);
    if (announced_.see(x, now_.scale.inputs().running())) announced_.add_to(ahead_);
  } else {
    first_guess_.predict(history_[1], now_.scale.targets().running(), ahead_);
    ahead_history_.push_guess(ahead_);
  }
  return ahead_;
}

// ---- Learning

StepReport Ensemble::learn(std::span<const double> x, std::span<const double> d) {
  predict(x);
  if (unusual_) announced_.learn(usual_, d, false);
  const StepReport report = step_experts(d);
  for (std::size_t k = 0; k < series_.size(); ++k) series_[k].learn(d[k], said_without_past(k));
  learn_blend(d);
  if (samples_ == 0) history_.push(d);  // stands for those before it here, too: 0 is no target
  memory_.push(x_, history_.all(), d);
  now_.scale.add_targets(d);
  widen_range(d);
  ++samples_;
  now_.scale.add_inputs(x_);
  expected_.add(x);
  move_on(d);
  look_for_periods();
  look_at_scale();
  prepare_experts();
  if (had_a_wild_start()) begin_anew(WildStart::length - WildStart::judged);
  return finish(report);
}

Distance Ensemble::distance(std::span<const double> x, std::span<const double> d) {
  if (samples_ < constants::few_samples) return {};
  return {now_.scale.inputs().running(), expected_.complete(x), now_.scale.targets().running(), d};
}

double Ensemble::error(std::span<const double> d_hat, std::span<const double> d) const {
  double sum = 0;
  for (std::size_t k = 0; k < d.size(); ++k) {
    const double off = (d[k] - d_hat[k]) / now_.scale.targets().running().deviation(k);
    sum += std::min(off * off, constants::wild_target * constants::wild_target);
  }
  return sum;
}

StepReport Ensemble::doubt(std::span<const double> x, std::span<const double> d,
                           const Distance& distance) {
  predict(x);
  if (unusual_ && distance.has_wild_target() && !distance.has_wild_input()) {
    announced_.learn(usual_, d, true);
    range_.add(d);
    blends_.widen(range_);
  }
  if (distance.target < constants::absurd_target) now_.scale.add_targets(d);
  StepReport report = step_experts({});
  const std::span<const double> past = distance.has_wild_target() ? usual_ : d;
  advance_series(past);
  if (!distance.has_wild_input()) {
    now_.scale.add_inputs(x_);
    expected_.add(x);
  }
  move_on(past);
  report.status = StepStatus::gated;
  return finish(report);
}

StepReport Ensemble::observe(std::span<const double> x, std::span<const double> d) {
  predict(x);
  StepReport report = step_experts({});
  const std::span<const double> past = d.empty() ? std::span<const double>(usual_) : d;
  advance_series(past);
  move_on(past);
  report.status = StepStatus::missing;
  return finish(report);
}

// Every expert moves on, and learns d unless it is empty.
StepReport Ensemble::step_experts(std::span<const double> d) {
  if (!has_experts())
    return {.status = StepStatus::gated, .experts = panel_.state().networks, .weights = {}};
  for (ScaledSample* s : {&now_, &before_}) s->scale.standardise_target(d, s->target);
  panel_.each_awake([&](Expert& e) {
    const ScaledSample& sample = e.is_behind ? before_ : now_;
    const auto view = e.view(sample.seen);
    if (d.empty()) {
      e.report = e.learner->advance(view);
    } else {
      e.report = e.learner->learn(view, e.target_of(sample.target, d));
      replay(e, *e.learner, memory_, sample.scale, steps_);
    }
  });
  follow_linear();
  return panel_.report();
}

// By a linear model of the inputs, if there is one.
double Ensemble::said_without_past(std::size_t k) const {
  return without_past_ ? said_[*without_past_ * outputs() + k]
                       : std::numeric_limits<double>::quiet_NaN();
}

void Ensemble::advance_series(std::span<const double> guess) {
  for (std::size_t k = 0; k < series_.size(); ++k) series_[k].advance(guess[k]);
}

void Ensemble::learn_blend(std::span<const double> d) {
  if (has_experts()) {
    blends_.without_each(moved_);
    blends_.learn(d);
    look_for_change();
  } else if (samples_ > 0) {
    first_guess_.learn(history_[1], now_.scale.targets().running(), d);
  }
}

// After a change what was learnt by heart is forgotten, and all other experts go on and adapt.
void Ensemble::look_for_change() {
  const double error = squared_error();
  if (!alarm_.rings(error)) {
    follow_roster(roster_.learn(moved_, error));
    return;
  }
  memory_.keep(constants::few_samples);
  follow_roster(roster_.wake_all());
  panel_.each([&](Expert& e) {
    if (e.plan.knows_by_heart()) begin_again(e, memory_);
  });
  for (Blend& blend : blends_) blend.become_open();
}

// Linear models learn all at once: that is quickly done, and others see what they say.
void Ensemble::prepare_experts() {
  panel_.each([&](Expert& e) {
    if (e.plan.is_linear()) prepare(e, memory_, now_.scale, steps_, memory_.size());
  });
  follow_linear();
  panel_.each(
      [&](Expert& e) { prepare(e, memory_, now_.scale, steps_, constants::samples_of_a_step); });
}

void Ensemble::follow_linear() {
  if (!without_past_ || !now_.scale.is_wide()) return;
  now_.scale.follow_linear(
      static_cast<const NetworkLearner&>(*panel_[*without_past_].learner).weights());
}

double Ensemble::squared_error() const {
  double sum = 0;
  for (std::size_t k = 0; k < outputs(); ++k) {
    const double e = now_.target[k] - now_.scale.targets().standardised(k, usual_[k]);
    sum += e * e;
  }
  return sum;
}

void Ensemble::follow_roster(const Roster::Change& change) {
  for (const std::size_t j : change.sleep) {
    panel_.send_to_sleep(j);
    for (Blend& blend : blends_) blend.dismiss(j);
  }
  for (const std::size_t j : change.wake) {
    begin_again(panel_[j], memory_, constants::memory_with_past);
    for (Blend& blend : blends_) blend.admit(j);
  }
}

void Ensemble::widen_range(std::span<const double> d) {
  if (samples_ == 0)
    range_.begin(d);
  else
    range_.add(d);
  blends_.widen(range_);
}

// The sample becomes part of the stream, with target d or what stands for it.
void Ensemble::move_on(std::span<const double> d) {
  ++steps_;
  if (samples_ > 0) history_.push(d);  // before the first target nothing can stand for one
  predicted_ = false;
}

// The scale is going to be another one. Who is not ready for the present one speaks all the same.
void Ensemble::keep_scale() {
  before_ = now_;
  panel_.each([](Expert& e) {
    if (e.is_behind) e.learner = std::move(e.next);
    e.is_behind = false;
  });
}

// The learners of before speak, on the scale of before, until the next ones are ready.
template <class Which>
void Ensemble::follow_scale(const Which& which) {
  panel_.each([&](Expert& e) {
    if (!which(e)) return;
    begin_again(e, memory_);
    e.is_behind = e.is_awake();
  });
}

// When it is taken anew, the experts learn all samples so far with the scale as it is known now.
void Ensemble::look_at_scale() {
  if (Scale::is_due(samples_)) {
    keep_scale();
    now_.scale.hold();
    now_.scale.choose(memory_);
    follow_scale([](const Expert&) { return true; });
  } else if (Scale::is_settled(samples_)) {
    now_.scale.follow();
    if (memory_.size() != constants::enough_samples) return;
    keep_scale();
    if (now_.scale.choose(memory_))
      follow_scale([](const Expert& e) { return e.plan.sees_chosen; });
  }
}

// Whether an input or a target of the first two samples is wild beside those that followed.
bool Ensemble::had_a_wild_start() const {
  if (samples_ != WildStart::length || memory_.size() < WildStart::length) return false;
  const auto is_wild = [this](auto number_of) {
    Others others;
    constexpr std::size_t rest = WildStart::length - WildStart::judged;
    for (std::size_t age = 1; age <= rest; ++age) others.add(number_of(memory_[age]));
    for (std::size_t age = rest + 1; age <= WildStart::length; ++age)
      if (others.make_wild(number_of(memory_[age]))) return true;
    return false;
  };
  using Sample = SampleMemory::Sample;
  for (std::size_t k = 0; k < inputs(); ++k)
    if (is_wild([k](const Sample& s) { return s.x[k]; })) return true;
  for (std::size_t k = 0; k < outputs(); ++k)
    if (is_wild([k](const Sample& s) { return s.d[k]; })) return true;
  return false;
}

void Ensemble::begin_anew(std::size_t newest) {
  const std::uint64_t steps = steps_;
  const std::uint64_t first = memory_.count() - newest;
  reset();
  for (std::uint64_t k = first; k < first + newest; ++k) {
    const SampleMemory::Sample sample = memory_[memory_.count() - k];
    sample.is_whole() ? learn(sample.x, sample.d) : observe(sample.x, {});
  }
  steps_ = steps;
}

// ---- Periods

void Ensemble::expect_periods(std::span<const double> samples) {
  periods_told_ = true;
  set_periods(samples);
}

void Ensemble::look_for_periods() {
  if (periods_told_ || !is_time_for_periods(samples_)) return;
  const auto found = find_periods(series_[0].past());
  if (!found.empty() && !std::ranges::equal(found, periods())) set_periods(found);
}

void Ensemble::set_periods(std::span<const double> samples) {
  periods_ = {};
  for (std::size_t i = 0; i < std::min(samples.size(), Periods::most); ++i)
    periods_.length[i] = samples[i];
  for (Series& s : series_) s.set_periods(periods_);
}

std::span<const double> Ensemble::periods() const {
  std::size_t n = 0;
  while (n < Periods::most && periods_.length[n] > 0) ++n;
  return std::span(periods_.length).first(n);
}

// ---- What is known of it

LearnerState Ensemble::state() const {
  LearnerState state = panel_.state();
  state.weights = blends_.weights();
  return state;
}

// What only shows after the step.
StepReport Ensemble::finish(StepReport report) {
  const LearnerState after = state();
  report.covariance_trace = after.covariance_trace;
  report.weights = after.weights;
  return report;
}

void Ensemble::reset() {
  expected_.reset();
  panel_.reset();
  if (!periods_told_) set_periods({});
  for (Series& s : series_) s.reset();
  std::ranges::fill(said_, std::numeric_limits<double>::quiet_NaN());
  now_.scale.reset();
  before_.scale.reset();
  history_.reset();
  memory_.reset();
  blends_.reset();
  roster_.reset();
  range_.reset();
  first_guess_.reset();
  announced_.reset();
  alarm_.reset();
  steps_ = samples_ = 0;
  predicted_ = false;
}

// What the last prediction left behind is left out: learn makes it again, to the same bits.
void Ensemble::exchange(Archive& archive) {
  archive.count(steps_);
  archive.count(samples_, steps_);
  expected_.exchange(archive);
  alarm_.exchange(archive, samples_);
  range_.exchange(archive);
  first_guess_.exchange(archive);
  now_.scale.exchange(archive);
  before_.scale.exchange(archive);
  history_.exchange(archive);
  memory_.exchange(archive);
  blends_.exchange(archive);
  roster_.exchange(archive);
  panel_.exchange(archive);
  announced_.exchange(archive);
  archive.flag(periods_told_);
  for (Series& s : series_) s.exchange(archive);
  periods_ = series_[0].periods();
}

}  // namespace kalstream
