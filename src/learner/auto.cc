#include "learner/auto.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "core/archive.h"
#include "core/denormals.h"
#include "core/finite.h"
#include "core/rng.h"
#include "learner/footprint.h"

namespace kalstream {
namespace {

constexpr double input_reach = 10;     // deviations; beyond, inputs and past targets are cut
constexpr double target_reach = 20;    // the same for what is learnt
constexpr double margin = 0.1;         // of the range of targets, added on either side
constexpr double belief = 20;          // deviations a target may be off …
constexpr double input_belief = 1000;  // … and an input
constexpr std::size_t patience = 3;    // samples beyond belief in a row that are believed
constexpr double alarm = 4;        // times the usual squared error that mean the stream has changed
constexpr double disturbance = 4;  // usual squared error, in variances, that no stream has
constexpr std::size_t quiet = 200;    // samples between two such
constexpr std::size_t believed = 16;  // samples before one can be beyond belief
constexpr std::size_t memory = 1000;  // samples
constexpr double least_variance = 1e-200;
// After something beyond belief:
constexpr std::size_t calm = 256;       // samples that may take the place of all before them …
constexpr double out_of_scale = 8;      // … if their deviation is so many times smaller
constexpr double returned = 5;          // … and their mean so many deviations from before
constexpr std::uint64_t youth = 8192;   // samples; older learners withstand it
constexpr std::uint64_t interval = 64;  // between two looks

/// Units for a network of at most `weights` gate weights, and at least four.
std::size_t units(std::size_t wanted, const NetworkOptions& n, std::size_t weights) {
  const std::size_t columns = n.inputs + 1;
  std::size_t h = wanted;
  while (h > 4 &&
         h * (columns + (n.cell == Cell::feedforward ? 0 : h)) * (n.cell == Cell::lstm ? 4 : 1) >
             weights)
    --h;
  return h;
}

double noise_of(const Rule& rule) {
  const auto* ekf = std::get_if<Ekf>(&rule);
  return ekf != nullptr ? ekf->measurement_noise.from : std::get<Algorithm1>(rule).noise_floor;
}

// Of a sample, in any unit.
double cost_of(const ExpertPlan& plan) {
  return footprint({.network = plan.network, .rule = plan.rule}).bytes *
         static_cast<double>(1 + plan.replays);
}

}  // namespace

std::vector<ExpertPlan> plan_experts(const Auto& options, const NetworkOptions& network) {
  std::vector<ExpertPlan> plans;
  const std::size_t n_d = network.outputs;
  const bool has_inputs = network.inputs > 0;
  const auto add = [&](ExpertPlan plan) {
    plan.sees_inputs = plan.sees_inputs && has_inputs;
    plan.lags = std::min(plan.lags, options.lags);
    plan.network.inputs = (plan.sees_inputs ? network.inputs : 0) + plan.lags * n_d;
    if (plan.network.inputs == 0) return;
    plan.network.outputs = n_d;
    plan.network.output_activation = OutputActivation::identity;
    plan.network.window = network.window;
    plan.network.seed = network.seed * 1000 + plans.size() + 1;
    plans.push_back(std::move(plan));
  };
  // A network under one covariance, r = floor + factor·HPHᵀ.
  struct Net {
    Cell cell;
    std::size_t hidden;
    std::size_t lags = 0;
    double deviation = 0.1;
    double floor = 0.1;
    double factor = 0.5;
    double process_noise = 1e-5;
    std::size_t replays = 0;
    std::size_t memory = 1000;
  };
  const auto net = [&](const char* name, const Net& o) {
    ExpertPlan plan{.name = name, .lags = o.lags, .replays = o.replays, .memory = o.memory};
    NetworkOptions& n = plan.network;
    n.cell = o.cell;
    n.direct = true;
    n.weight_deviation = o.deviation;
    n.inputs = network.inputs + o.lags * n_d;
    n.hidden = units(std::max<std::size_t>(o.hidden * network.hidden / 16, 2), n,
                     o.cell == Cell::feedforward ? 400 : 800);
    Algorithm1 rule;
    rule.partition = Partition::full;
    rule.initial_covariance = 1;
    rule.process_noise = o.process_noise;
    rule.noise_floor = o.floor;
    rule.noise_factor = o.factor;
    rule.error_bound = 1e-9;
    plan.rule = rule;
    add(plan);
  };
  const auto linear = [&](const char* name, bool sees_inputs, std::size_t lags, double covariance) {
    ExpertPlan plan{.name = name, .sees_inputs = sees_inputs, .lags = lags};
    plan.network.cell = Cell::feedforward;
    plan.network.hidden = 0;
    plan.network.direct = true;
    plan.rule = Ekf{.initial_covariance = covariance, .measurement_noise = 1, .process_noise = 0};
    add(plan);
  };

  const Cell ff = Cell::feedforward;
  const Cell rn = Cell::simple;
  if (has_inputs) net("replay3", {.cell = ff, .hidden = 24, .floor = 1, .factor = 1, .replays = 3});
  net("recurrent-lag1", {.cell = rn, .hidden = 8, .lags = 1, .floor = 0.3});
  net("window4", {.cell = ff, .hidden = 12, .lags = 4, .floor = 0.03});
  if (has_inputs) net("memoryless", {.cell = ff, .hidden = 16, .process_noise = 1e-4});
  net("recurrent", {.cell = rn, .hidden = 24, .floor = 0.3, .factor = 1});
  if (has_inputs) net("replay4", {.cell = ff, .hidden = 16, .floor = 1, .factor = 1, .replays = 4});
  net("lstm-lag2", {.cell = Cell::lstm, .hidden = 6, .lags = 2});
  net("window8", {.cell = ff, .hidden = 8, .lags = 8, .floor = 0.01});
  if (has_inputs) {
    net("replay1",
        {.cell = ff, .hidden = 24, .deviation = 0.2, .floor = 0.3, .factor = 1, .replays = 1});
    net("wide", {.cell = ff, .hidden = 24, .deviation = 0.2, .floor = 0.3, .factor = 1});
    net("replay2", {.cell = ff, .hidden = 16, .floor = 0.3, .factor = 1, .replays = 2});
    net("replay-recent", {.cell = ff,
                          .hidden = 16,
                          .floor = 1,
                          .factor = 1,
                          .process_noise = 1e-4,
                          .replays = 1,
                          .memory = 300});
  }
  net("window2", {.cell = ff, .hidden = 16, .lags = 2});
  net("window8-wide", {.cell = ff, .hidden = 16, .lags = 8});
  if (options.experts > 0 && plans.size() > options.experts) plans.resize(options.experts);

  if (options.full_ekf) {
    for (const double b : {0.5, 5.0}) {
      ExpertPlan plan{.name = b < 1 ? "ekf" : "ekf-open"};
      plan.network.hidden = std::max<std::size_t>(network.hidden * 3 / 4, 2);
      plan.network.gate_bias = b < 1 ? GateBias{-b, b, -b} : GateBias{b, b, {}};
      plan.rule = Ekf{.initial_covariance = 100,
                      .measurement_noise = 33,
                      .process_noise = Schedule::exponential(1e-3, 1e-6, 2000)};
      add(plan);
    }
  }

  if (has_inputs) linear("rls", true, 0, 1);
  std::size_t before = 0;
  for (const std::size_t lags : {std::size_t{1}, std::size_t{4}, std::size_t{8}, options.lags}) {
    if (lags > options.lags || lags <= before) continue;
    linear(lags == 1   ? "ar1"
           : lags == 4 ? "ar4"
           : lags == 8 ? "ar8"
                       : "ar",
           false, lags, lags == 1 ? 10 : 100);
    before = lags;
  }
  if (has_inputs) linear("arx2", true, 2, 10);
  return plans;
}

void HeldMoments::take_over(std::size_t k) {
  mean_[k] = running_.mean(k);
  deviation_[k] = running_.deviation(k);
}

void HeldMoments::hold() {
  for (std::size_t k = 0; k < mean_.size(); ++k) take_over(k);
}

void HeldMoments::follow() {
  for (std::size_t k = 0; k < mean_.size(); ++k) {
    const double ratio = running_.deviation(k) / deviation_[k];
    const double shift = std::abs(running_.mean(k) - mean_[k]) / deviation_[k];
    if (ratio > 2 || ratio < 0.5 || shift > 1) take_over(k);
  }
}

void HeldMoments::reset() {
  running_.reset();
  std::fill(mean_.begin(), mean_.end(), 0.0);
  std::fill(deviation_.begin(), deviation_.end(), 1.0);
}

void SampleMemory::push(std::span<const double> a, std::span<const double> b,
                        std::span<const double> c) {
  auto row = rows_.begin() + static_cast<std::ptrdiff_t>(count_++ % capacity_ * numbers_);
  for (const auto part : {a, b, c}) row = std::copy(part.begin(), part.end(), row);
  size_ = std::min(size_ + 1, capacity_);
}

void HeldMoments::exchange(Archive& archive) {
  running_.exchange(archive);
  archive.numbers(mean_);
  archive.numbers(deviation_, Archive::positive);
}

// Only what is still remembered. A sample that was not believed has targets that are not numbers.
void SampleMemory::exchange(Archive& archive) {
  archive.count(count_);
  archive.count(size_, std::min<std::uint64_t>(count_, capacity_));
  for (std::size_t age = size_; age > 0; --age)
    archive.numbers(std::span(rows_).subspan(place(age), numbers_), Archive::any);
}

AutoLearner::AutoLearner(const Auto& options, const NetworkOptions& network)
    : AutoLearner(options, network, plan_experts(options, network)) {}

AutoLearner::AutoLearner(const Auto& options, const NetworkOptions& network,
                         std::vector<ExpertPlan> plans)
    : n_in_(network.inputs),
      n_d_(network.outputs),
      x_moments_(n_in_),
      d_moments_(n_d_),
      history_(std::max<std::size_t>(options.lags, 1), n_d_),
      memory_(memory, n_in_ + (history_.lags() + 1) * n_d_),
      mean_before_(n_d_),
      deviation_before_(n_d_),
      low_(n_d_),
      high_(n_d_),
      naive_loss_(n_d_),
      mean_loss_(n_d_),
      x_(n_in_),
      z_(n_in_ + history_.lags() * n_d_),
      target_(n_d_),
      d_hat_(n_d_),
      no_prediction_(n_d_, std::numeric_limits<double>::quiet_NaN()),
      spread_(n_d_),
      ahead_history_(history_),
      ahead_(n_d_),
      workers_(workers_for(options.threads, plans.size())) {
  for (ExpertPlan& plan : plans) {
    auto learner = make_learner({.network = plan.network, .rule = plan.rule});
    const double noise = noise_of(plan.rule);
    experts_.push_back({.plan = std::move(plan),
                        .learner = std::move(learner),
                        .noise = noise,
                        .z = z_,
                        .target = target_});
    by_cost_.push_back(by_cost_.size());
  }
  std::sort(by_cost_.begin(), by_cost_.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(-cost_of(experts_[a].plan), a) < std::pair(-cost_of(experts_[b].plan), b);
  });
  expert_d_hat_.resize(experts_.size() * n_d_);
  relative_variance_.resize(size() * n_d_, 1.0);
  q_.resize(size());
  weights_.resize(size());
  blends_.assign(n_d_, Blend(size()));
}

AutoLearner::AutoLearner(const AutoLearner& other)
    : Learner(other),
      n_in_(other.n_in_),
      n_d_(other.n_d_),
      x_moments_(other.x_moments_),
      d_moments_(other.d_moments_),
      history_(other.history_),
      memory_(other.memory_),
      blends_(other.blends_),
      steps_(other.steps_),
      samples_(other.samples_),
      since_change_(other.since_change_),
      usual_error_(other.usual_error_),
      present_error_(other.present_error_),
      bad_targets_(other.bad_targets_),
      bad_inputs_(other.bad_inputs_),
      since_wild_(other.since_wild_),
      mean_before_(other.mean_before_),
      deviation_before_(other.deviation_before_),
      began_anew_(other.began_anew_),
      low_(other.low_),
      high_(other.high_),
      naive_loss_(other.naive_loss_),
      mean_loss_(other.mean_loss_),
      x_(other.x_),
      predicted_(other.predicted_),
      z_(other.z_),
      target_(other.target_),
      expert_d_hat_(other.expert_d_hat_),
      q_(other.q_),
      d_hat_(other.d_hat_),
      no_prediction_(other.no_prediction_),
      relative_variance_(other.relative_variance_),
      spread_(other.spread_),
      weights_(other.weights_),
      ahead_history_(other.ahead_history_),
      ahead_(other.ahead_),
      by_cost_(other.by_cost_),
      workers_(other.workers_) {
  for (const Expert& e : other.experts_)
    experts_.push_back({.plan = e.plan,
                        .learner = e.learner->clone(),
                        .noise = e.noise,
                        .z = e.z,
                        .target = e.target});
}

// What the last prediction left behind is left out: learn makes it again, to the same bits.
void AutoLearner::exchange(Archive& archive) {
  archive.count(steps_);
  archive.count(samples_, steps_);
  archive.count(since_change_, samples_);
  archive.number(usual_error_, Archive::not_negative);
  archive.number(present_error_, Archive::not_negative);
  archive.count(bad_targets_, steps_);
  archive.count(bad_inputs_, steps_);
  if (archive.format() >= 2) {
    archive.count(since_wild_, steps_);
    archive.numbers(mean_before_);
    archive.numbers(deviation_before_, Archive::not_negative);
    archive.flag(began_anew_);
  }
  for (auto* v : {&low_, &high_}) archive.numbers(*v, Archive::usable);
  for (std::size_t k = 0; k < n_d_; ++k) archive.require(low_[k] <= high_[k]);
  for (auto* v : {&naive_loss_, &mean_loss_}) archive.numbers(*v, Archive::not_negative);
  x_moments_.exchange(archive);
  d_moments_.exchange(archive);
  history_.exchange(archive);
  memory_.exchange(archive);
  for (Blend& b : blends_) b.exchange(archive);
  for (Expert& e : experts_) e.learner->exchange(archive);
}

void AutoLearner::reset() {
  for (Expert& e : experts_) e.learner->reset();
  x_moments_.reset();
  d_moments_.reset();
  history_.reset();
  memory_.reset();
  for (Blend& b : blends_) b.reset();
  steps_ = samples_ = since_change_ = 0;
  usual_error_ = present_error_ = 0;
  bad_targets_ = bad_inputs_ = 0;
  since_wild_ = 0;
  began_anew_ = false;
  for (auto* v : {&mean_before_, &deviation_before_, &low_, &high_, &naive_loss_, &mean_loss_})
    std::fill(v->begin(), v->end(), 0.0);
  predicted_ = false;
}

// Every view is a stretch of z: the inputs, the inputs and some past targets, or these alone.
std::span<const double> AutoLearner::view(const Expert& expert, std::span<const double> z) const {
  const std::size_t first = expert.plan.sees_inputs ? 0 : n_in_;
  return z.subspan(first, expert.plan.network.inputs);
}

void AutoLearner::standardise(std::span<const double> x, std::span<const double> targets,
                              std::span<double> z) const {
  for (std::size_t k = 0; k < x.size(); ++k) {
    const double v = (x[k] - x_moments_.mean(k)) / x_moments_.deviation(k);
    z[k] = std::abs(v) > input_belief ? 0 : std::clamp(v, -input_reach, input_reach);
  }
  for (std::size_t k = 0; k < targets.size(); ++k)
    z[n_in_ + k] = d_moments_.standardised(k % n_d_, targets[k], input_reach);
}

void AutoLearner::standardise_target(std::span<const double> d, std::span<double> target) const {
  for (std::size_t k = 0; k < n_d_; ++k) target[k] = d_moments_.standardised(k, d[k], target_reach);
}

// expert_d_hat_, the last value and the mean, blended.
void AutoLearner::combine(std::span<const double> last, std::span<double> d_hat) {
  for (std::size_t k = 0; k < n_d_; ++k) {
    for (std::size_t j = 0; j < experts_.size(); ++j)
      q_[j] = d_moments_.mean(k) + d_moments_.deviation(k) * expert_d_hat_[j * n_d_ + k];
    q_[experts_.size()] = last[k];
    q_[experts_.size() + 1] = d_moments_.running().mean(k);
    d_hat[k] = blends_[k].predict(q_);
  }
}

// Before there are experts: the last value or the mean, whichever was better.
void AutoLearner::predict_first(std::span<double> d_hat) const {
  for (std::size_t k = 0; k < n_d_; ++k)
    d_hat[k] = naive_loss_[k] < mean_loss_[k] ? history_[1][k] : d_moments_.running().mean(k);
}

// Brings d_hat_ up to date for x. False if x cannot be used.
bool AutoLearner::bring_up_to_date(std::span<const double> x) {
  if (x.size() != n_in_ || !all_usable(x)) return false;
  if (predicted_ && std::equal(x.begin(), x.end(), x_.begin())) return true;
  std::copy(x.begin(), x.end(), x_.begin());
  if (has_experts()) {
    standardise(x, history_.all(), z_);
    each_expert([&](std::size_t j) {
      const auto d_hat = experts_[j].learner->predict(view(experts_[j], z_));
      std::copy(d_hat.begin(), d_hat.end(), expert_d_hat_.begin() + j * n_d_);
    });
    combine(history_[1], d_hat_);
  } else {
    predict_first(d_hat_);
  }
  predicted_ = true;
  return true;
}

std::span<const double> AutoLearner::predict(std::span<const double> x) {
  const FlushDenormals guard;
  return bring_up_to_date(x) ? d_hat_ : no_prediction_;
}

// The law of total variance over the experts of a blend, with weights w and squared error s²:
//   Σ w_j((q_j − d̂)² + s²(H_jP_jH_jᵀ + r_j)/r_j),
// where r_j, a setting, stands for s². Naive and mean have no P.
std::span<const double> AutoLearner::spread() {
  const FlushDenormals guard;
  if (!predicted_ || !has_experts()) return {};
  each_expert([&](std::size_t j) {
    const auto spread = experts_[j].learner->spread();
    for (std::size_t k = 0; k < n_d_; ++k)
      relative_variance_[j * n_d_ + k] = spread[k] * spread[k] / experts_[j].noise;
  });
  for (std::size_t k = 0; k < n_d_; ++k) {
    const Blend& blend = blends_[k];
    double variance = 0;
    for (std::size_t j = 0; j < size(); ++j) {
      const double beyond = blend.q()[j] - d_hat_[k];
      variance += blend.average_weights()[j] *
                  (beyond * beyond + blend.squared_error() * relative_variance_[j * n_d_ + k]);
    }
    spread_[k] = std::sqrt(std::clamp(variance, least_variance, 1 / least_variance));
  }
  return spread_;
}

bool AutoLearner::is_beyond(const RunningMoments& seen, std::span<const double> v,
                            double deviations) const {
  if (samples_ < believed) return false;
  for (std::size_t k = 0; k < v.size(); ++k)
    if (std::abs(v[k] - seen.mean(k)) > deviations * seen.deviation(k)) return true;
  return false;
}

StepReport AutoLearner::learn(std::span<const double> x, std::span<const double> d) {
  const FlushDenormals guard;
  if (d.size() != n_d_ || !all_usable(d) || !bring_up_to_date(x)) return refuse();
  StepReport report{.status = StepStatus::gated, .experts = experts_.size(), .weights = {}};
  const bool bad_target = is_beyond(d_moments_.running(), d, belief);
  const bool bad_input = is_beyond(x_moments_.running(), x, input_belief);
  bad_targets_ = bad_target ? bad_targets_ + 1 : 0;
  bad_inputs_ = bad_input ? bad_inputs_ + 1 : 0;
  note_wild(bad_target || bad_input);
  if ((bad_target && bad_targets_ < patience) || (bad_input && bad_inputs_ < patience)) {
    d_moments_.add(d);
    step_experts(report, false);
    memory_.push(x, history_.all(), no_prediction_);
    move_on(x, bad_target ? std::span<const double>(d_hat_) : d);
    report.status = StepStatus::gated;
    return finish(report);
  }

  if (has_experts()) {
    standardise_target(d, target_);
    step_experts(report, true);
    for (std::size_t k = 0; k < n_d_; ++k) blends_[k].learn(d[k]);
    watch();
  } else if (samples_ > 0) {
    for (std::size_t k = 0; k < n_d_; ++k) {
      const double mean = d_moments_.running().mean(k);
      naive_loss_[k] += (d[k] - history_[1][k]) * (d[k] - history_[1][k]);
      mean_loss_[k] += (d[k] - mean) * (d[k] - mean);
    }
  }
  if (samples_ == 0) history_.push(d);  // stands for those before it here, too: 0 is no target
  memory_.push(x, history_.all(), d);
  d_moments_.add(d);
  widen_range(d);
  ++samples_;
  move_on(x, d);
  if (samples_ >= first_hold && samples_ <= last_hold && std::has_single_bit(samples_)) {
    start_over();
  } else if (samples_ > last_hold) {
    x_moments_.follow();
    d_moments_.follow();
  }
  if (since_wild_ >= calm && since_wild_ <= 2 * calm && samples_ <= youth &&
      samples_ % interval == 0 && !began_anew_ && memory_.size() >= calm && is_out_of_scale())
    begin_anew();
  return finish(report);
}

StepReport AutoLearner::advance(std::span<const double> x) { return observe(x, {}); }

StepReport AutoLearner::observe(std::span<const double> x, std::span<const double> d) {
  const FlushDenormals guard;
  if (!bring_up_to_date(x)) return refuse();
  StepReport report{.experts = experts_.size(), .weights = {}};
  step_experts(report, false);
  const bool known = d.size() == n_d_ && all_usable(d);
  move_on(x, known ? d : std::span<const double>(d_hat_));
  report.status = StepStatus::missing;
  return finish(report);
}

StepReport AutoLearner::refuse() {
  return finish({.status = StepStatus::rejected_input,
                 .experts = experts_.size(),
                 .rejected = experts_.size(),
                 .weights = {}});
}

// job(j) for every expert; they know nothing of each other.
template <class Job>
void AutoLearner::each_expert(const Job& job) {
  workers_.run(experts_.size(), [&](std::size_t k) { job(by_cost_[k]); });
}

// Every expert moves on, and learns target_ if there is one; what they report, added up.
void AutoLearner::step_experts(StepReport& report, bool has_target) {
  if (!has_experts()) return;
  report.status = StepStatus::rejected_covariance;
  each_expert([&](std::size_t j) {
    Expert& e = experts_[j];
    const auto z = view(e, z_);
    e.report = has_target ? e.learner->learn(z, target_) : e.learner->advance(z);
    if (has_target) replay(e, 0);
  });
  for (const Expert& e : experts_) {
    report.status = std::min(report.status, e.report.status);
    report.applied += e.report.applied;
    report.rejected += e.report.rejected;
  }
}

// Learns a few of the samples in memory once more.
void AutoLearner::replay(Expert& e, std::size_t turn) {
  const std::size_t available = std::min(memory_.size(), e.plan.memory);
  if (e.plan.replays == 0 || available == 0) return;
  Rng rng(e.plan.network.seed ^ (steps_ << 20) ^
          (std::uint64_t{turn} << 54));  // without memory, so that one sample less changes little
  for (std::size_t n = 0; n < e.plan.replays; ++n) learn_again(e, 1 + rng.below(available));
}

void AutoLearner::learn_again(Expert& e, std::size_t age) {
  const auto row = memory_[age];
  if (!all_finite(row)) return;  // was not believed
  standardise(row.first(n_in_), row.subspan(n_in_, history_.lags() * n_d_), e.z);
  standardise_target(row.last(n_d_), e.target);
  e.learner->learn(view(e, e.z), e.target);
}

// A stream whose errors are suddenly far above the usual has changed. What it was like before is
// forgotten; experts without replay go on and adapt, those with it start over. And when errors fall
// from far beyond what the targets' own variance explains, a disturbance is over, or a new level
// found: on the way there all experts were thrown to where a network no longer learns.
void AutoLearner::watch() {
  double e2 = 0;
  for (std::size_t k = 0; k < n_d_; ++k) {
    const double expected = (d_hat_[k] - d_moments_.mean(k)) / d_moments_.deviation(k);
    e2 += (target_[k] - expected) * (target_[k] - expected);
  }
  ++since_change_;
  const double n = static_cast<double>(since_change_);
  usual_error_ += std::max(1 / n, 1.0 / 500) * (e2 - usual_error_);
  present_error_ += std::max(1 / n, 1.0 / 16) * (e2 - present_error_);
  const bool changed = present_error_ > alarm * usual_error_;
  const bool over = samples_ >= memory && usual_error_ > disturbance &&
                    alarm * alarm * present_error_ < usual_error_;
  if (since_change_ < quiet || !(changed || over)) return;
  since_change_ = 0;
  memory_.keep(memory_.size() < believed ? memory_.size() : believed);
  each_expert([&](std::size_t j) {
    if (over || experts_[j].plan.replays > 0) start_over(experts_[j]);
  });
  for (Blend& b : blends_) b.become_open();
}

// A stretch of wild samples begins, goes on, or is so many samples ago.
void AutoLearner::note_wild(bool is_wild) {
  if (is_wild && (since_wild_ == 0 || since_wild_ > calm))
    for (std::size_t k = 0; k < n_d_; ++k) {
      mean_before_[k] = d_moments_.running().mean(k);
      deviation_before_[k] = d_moments_.running().deviation(k);
    }
  if (is_wild)
    since_wild_ = 1;
  else if (since_wild_ > 0)
    ++since_wild_;
}

// Whether the calm samples after a disturbance are next to nothing on the scale it left, in an
// input or a target (those that stand still tell nothing), and targets are where they were before.
bool AutoLearner::is_out_of_scale() const {
  bool found = false;
  const std::size_t first_target = n_in_ + history_.lags() * n_d_;
  for (std::size_t k = 0; k < n_in_ + n_d_; ++k) {
    const bool is_target = k >= n_in_;
    const std::size_t target = is_target ? k - n_in_ : 0;
    double n = 0;
    double mean = 0;
    double sum_sq = 0;
    for (std::size_t age = calm; age > 0; --age) {
      const auto row = memory_[age];
      if (!all_finite(row)) continue;  // was not believed
      const double v = row[is_target ? first_target + target : k];
      const double before = v - mean;
      mean += before / ++n;
      sum_sq += before * (v - mean);
    }
    if (n == 0) return false;
    if (is_target && std::abs(mean - mean_before_[target]) > returned * deviation_before_[target])
      return false;
    const double deviation = std::sqrt(sum_sq / n);
    const double of_all =
        is_target ? d_moments_.running().deviation(target) : x_moments_.running().deviation(k);
    found = found || (deviation > 0 && out_of_scale * deviation < of_all);
  }
  return found;
}

// A disturbance in a learner's youth leaves a scale which fades only as samples add up. The calm
// ones after it are the better youth.
void AutoLearner::begin_anew() {
  const std::uint64_t steps = steps_;
  const std::uint64_t first = memory_.count() - calm;
  reset();
  for (std::uint64_t k = first; k < first + calm; ++k) {
    const auto row = memory_[memory_.count() - k];  // still there: there is room for twice as many
    const auto x = row.first(n_in_);
    all_finite(row) ? learn(x, row.last(n_d_)) : advance(x);
  }
  steps_ = steps;
  began_anew_ = true;
}

// The experts learn all samples so far with the scale as it is known now.
void AutoLearner::start_over() {
  x_moments_.hold();
  d_moments_.hold();
  each_expert([&](std::size_t j) { start_over(experts_[j]); });
}

void AutoLearner::start_over(Expert& e) {
  e.learner->reset();
  for (std::size_t age = memory_.size(); age > 0; --age) {
    learn_again(e, age);
    replay(e, age);
  }
}

void AutoLearner::widen_range(std::span<const double> d) {
  const RunningMoments& seen = d_moments_.running();
  for (std::size_t k = 0; k < n_d_; ++k) {
    const double reach = RunningMoments::reach * seen.deviation(k);
    const bool sure = samples_ < believed || bad_targets_ >= patience;
    const double v = sure ? d[k] : std::clamp(d[k], seen.mean(k) - reach, seen.mean(k) + reach);
    low_[k] = samples_ == 0 ? v : std::min(low_[k], v);
    high_[k] = samples_ == 0 ? v : std::max(high_[k], v);
    const double more = margin * (high_[k] - low_[k]);
    blends_[k].widen(low_[k] - more, high_[k] + more);
  }
}

// The sample becomes part of the stream, with target d or what stands for it.
void AutoLearner::move_on(std::span<const double> x, std::span<const double> d) {
  ++steps_;
  x_moments_.add(x);
  if (samples_ > 0) history_.push(d);  // before the first target nothing can stand for one
  predicted_ = false;
}

// What only shows after the step: covariances, asked for by a sample that every expert refuses, and
// weights.
StepReport AutoLearner::finish(StepReport report) {
  for (Expert& e : experts_) report.covariance_trace += e.learner->learn({}, {}).covariance_trace;
  std::fill(weights_.begin(), weights_.end(), 0.0);
  for (const Blend& b : blends_)
    for (std::size_t j = 0; j < weights_.size(); ++j)
      weights_[j] += b.weights()[j] / static_cast<double>(n_d_);
  report.weights = weights_;
  return report;
}

void AutoLearner::start_forecast() {
  ahead_history_ = history_;
  if (has_experts())
    for (Expert& e : experts_) e.learner->start_forecast();
}

std::span<const double> AutoLearner::forecast_next(std::span<const double> x) {
  const FlushDenormals guard;
  if (x.size() != n_in_ || !all_usable(x)) return no_prediction_;
  predicted_ = false;  // z_, q_ and the experts' predictions are written over
  if (has_experts()) {
    standardise(x, ahead_history_.all(), z_);
    for (std::size_t j = 0; j < experts_.size(); ++j) {
      const auto d_hat = experts_[j].learner->forecast_next(view(experts_[j], z_));
      std::copy(d_hat.begin(), d_hat.end(), expert_d_hat_.begin() + j * n_d_);
    }
    combine(ahead_history_[1], ahead_);
  } else {
    predict_first(ahead_);
  }
  ahead_history_.push_guess(ahead_);
  return ahead_;
}

}  // namespace kalstream
