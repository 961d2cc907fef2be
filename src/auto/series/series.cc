#include "auto/series/series.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <new>
#include <numeric>

#include "auto/experts.h"
#include "core/archive.h"
#include "core/layout.h"
#include "learner/parts.h"

namespace kalstream {
namespace {

using F = SeriesFeatures;

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t most_inputs = 8;  // that models look at
constexpr double target_span = 20;
constexpr std::size_t most_weights_beside_inputs = 250;

std::vector<std::size_t> stretch(std::size_t first, std::size_t n) {
  std::vector<std::size_t> all(n);
  std::iota(all.begin(), all.end(), first);
  return all;
}

std::vector<std::size_t> together(std::initializer_list<std::vector<std::size_t>> parts) {
  std::vector<std::size_t> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

std::size_t inputs_seen(const NetworkOptions& network) {
  return network.inputs <= most_inputs ? network.inputs : 0;
}

SeriesPlan linear(const char* name, const NetworkOptions& network, std::vector<std::size_t> sees,
                  double covariance, double process_noise) {
  SeriesPlan plan{.name = name, .sees = std::move(sees)};
  plan.network = linear_network(inputs_seen(network) + plan.sees.size(), 1);
  plan.rule =
      Ekf{.initial_covariance = covariance, .measurement_noise = 1, .process_noise = process_noise};
  return plan;
}

SeriesPlan net(const char* name, const NetworkOptions& network, std::vector<std::size_t> sees) {
  SeriesPlan plan{.name = name, .sees = std::move(sees), .needs_memory = true};
  NetworkOptions& n = plan.network;
  n.cell = Cell::feedforward;
  n.direct = true;
  n.weight_deviation = 0.1;
  n.inputs = inputs_seen(network) + plan.sees.size();
  n.outputs = 1;
  n.hidden = std::max<std::size_t>(network.hidden / 2, 2);
  if (inputs_seen(network) > 0)
    while (n.hidden > 2 && ParameterLayout(n).size() > most_weights_beside_inputs) --n.hidden;
  n.output_activation = OutputActivation::identity;
  Algorithm1 rule;
  rule.partition = Partition::full;
  rule.initial_covariance = 1;
  rule.process_noise = 1e-5;
  rule.noise_floor = 0.3;
  rule.noise_factor = 0.5;
  rule.error_bound = 1e-9;
  rule.single_precision = true;
  plan.rule = rule;
  return plan;
}

std::unique_ptr<Learner> make(const SeriesPlan& plan) {
  return make_learner({.network = plan.network, .rule = plan.rule});
}

// Of the networks that Auto::experts counts, those that come before the ones here.
std::size_t networks_without_time(Auto options, const NetworkOptions& network) {
  options.experts = 0;
  const auto plans = plan_experts(options, network);
  return static_cast<std::size_t>(std::ranges::count_if(
      plans, [](const ExpertPlan& plan) { return std::holds_alternative<Algorithm1>(plan.rule); }));
}

}  // namespace

std::vector<SeriesPlan> plan_series(const Auto& options, const NetworkOptions& network) {
  std::vector<SeriesPlan> plans;
  const auto changes = [](std::size_t n) { return stretch(0, n); };
  const auto level = stretch(F::level(), 1);
  const auto seasons = stretch(F::seasons(), Periods::most * F::per_period);
  const auto phases = stretch(F::phases(), Periods::most * 2 * F::waves);
  plans.push_back(linear("series-linear", network,
                         together({changes(F::changes), level, seasons, phases}), 100, 0));
  plans.push_back(
      linear("series-recent", network, together({changes(8), level, seasons, phases}), 100, 1e-4));
  const std::size_t others = networks_without_time(options, network);
  if (options.experts == 0 || options.experts > others)
    plans.push_back(net("series-changes", network, together({changes(F::changes), level})));
  if (options.experts == 0 || options.experts > others + 1) {
    plans.push_back(net("series-season", network, together({changes(12), level, seasons, phases})));
    plans.back().needs_periods = true;
  }
  for (std::size_t i = 0; i < Periods::most; ++i)
    plans.push_back({.name = "last-season" + std::to_string(i + 1),
                     .kind = SeriesPlan::Kind::last_season,
                     .period = i,
                     .needs_periods = true});
  const Pace paces[] = {{0.02, 0, 0.1}, {0.1, 0.002, 0.1}, {0.4, 0.02, 0.2}, {0.02, 0, 0.3}};
  for (std::size_t i = 0; i < std::size(paces); ++i)
    plans.push_back({.name = "smoothing" + std::to_string(i + 1),
                     .kind = SeriesPlan::Kind::smoothing,
                     .pace = paces[i]});
  plans.push_back({.name = "smoothing-panel", .kind = SeriesPlan::Kind::panel});
  return plans;
}

Series::Series(const Auto& options, const NetworkOptions& network, std::size_t output)
    : plans_(plan_series(options, network)),
      inputs_(inputs_seen(network)),
      least_learnt_(inputs_ > 0 ? 64 : 4),
      values_(1),
      changes_(1),
      seen_(F::size()) {
  for (SeriesPlan& plan : plans_) {
    if (plan.kind == SeriesPlan::Kind::smoothing) smoothings_.emplace_back(plan.pace);
    if (plan.kind != SeriesPlan::Kind::model) continue;
    plan.network.seed = network.seed * 1000 + 500 + output * 20 + models_.size();
    const auto number = static_cast<std::size_t>(&plan - plans_.data());
    models_.push_back({number, {}, std::vector<double>(plan.network.inputs)});
  }
}

// Those that are of use and not there yet. Many streams never need some of them.
void Series::make_models() try {
  for (Model& m : models_)
    if (!m.learner && is_of_use(plan_of(m))) m.learner = make(plan_of(m));
} catch (const std::bad_alloc&) {  // sleeps on
}

void Series::set_periods(const Periods& periods) {
  periods_ = periods;
  // The two that are short enough.
  for (Smoothing& s : smoothings_) s.set_periods({periods.lag(0), periods.lag(1)});
  if (panel_.period() != periods.lag(0)) panel_.set_period(periods.lag(0));
  make_models();
}

bool Series::is_of_use(const SeriesPlan& plan) const {
  if (learnt_ < 4) return false;
  if (plan.needs_periods && !periods_.any()) return false;
  if (plan.kind == SeriesPlan::Kind::last_season)
    return periods_.lag(plan.period) >= 2 && past_.reaches(periods_.lag(plan.period));
  if (!plan.needs_memory) return true;
  return learnt_ >= least_learnt_ && linear_error_ < 0.8 * without_past_error_;
}

void Series::see(std::span<const double> x) {
  see_series(past_, periods_, units_, seen_);
  for (Model& m : models_) {
    auto at = std::copy_n(x.begin(), inputs_, m.view.begin());
    for (const std::size_t k : plan_of(m).sees) *at++ = seen_[k];
  }
}

void Series::say(std::span<const double> x, std::span<double> said, std::size_t stride,
                 bool is_forecast) {
  see(x);
  const double last = past_.reaches(1) ? past_[1] : 0;
  auto model = models_.begin();
  auto smoothing = smoothings_.begin();
  for (std::size_t j = 0; j < plans_.size(); ++j) {
    const SeriesPlan& plan = plans_[j];
    double& y = said[j * stride];
    y = nothing;
    switch (plan.kind) {
      case SeriesPlan::Kind::last_season:
        if (is_of_use(plan)) y = past_[periods_.lag(plan.period)];
        break;
      case SeriesPlan::Kind::smoothing: {
        Smoothing& s = *smoothing++;
        const double value = is_forecast ? s.forecast_next() : s.predict();
        if (is_of_use(plan)) y = value;
        break;
      }
      case SeriesPlan::Kind::panel: {
        const double value = is_forecast ? panel_.forecast_next() : panel_.predict();
        if (is_of_use(plan)) y = value;
        break;
      }
      case SeriesPlan::Kind::model:
        if (Model& m = *model; is_awake(m))
          y = last + units_.change * (is_forecast ? m.learner->forecast_next(m.view)
                                                  : m.learner->predict(m.view))[0];
        if (model == models_.begin()) first_model_ = y;
        ++model;
        break;
    }
  }
}

void Series::predict(std::span<const double> x, std::span<double> said, std::size_t stride) {
  past_.end_forecast();
  say(x, said, stride, /*is_forecast=*/false);
}

void Series::learn(double y, double without_past) {
  past_.end_forecast();
  const double last = past_.reaches(1) ? past_[1] : y;
  const double target = std::clamp((y - last) / units_.change, -target_span, target_span);
  for (Model& m : models_)
    if (is_awake(m)) m.learner->learn(m.view, {&target, 1});
  for (Smoothing& s : smoothings_) s.learn(y);
  if (std::isfinite(first_model_) && learnt_ >= 4) {
    const double pace = std::max(1 / static_cast<double>(learnt_ - 3), 0.005);
    const double e = first_model_ - y;
    const double off = (std::isfinite(without_past) ? without_past : values_.mean(0)) - y;
    linear_error_ += pace * (e * e - linear_error_);
    without_past_error_ += pace * (off * off - without_past_error_);
  }
  const double change = y - last;
  if (past_.reaches(1)) changes_.add({&change, 1});
  values_.add({&y, 1});
  ++learnt_;
  past_.push(y);
  // Held, so that what models have learnt keeps its meaning.
  const double deviation = values_.deviation(0);
  const double rms = std::hypot(changes_.deviation(0), changes_.mean(0));
  if ((learnt_ <= 64 && std::has_single_bit(learnt_)) || deviation > 2 * units_.deviation ||
      deviation < 0.5 * units_.deviation || rms > 2 * units_.change || rms < 0.5 * units_.change)
    units_ = {values_.mean(0), deviation, rms};
  panel_.catch_up(past_);
  make_models();
}

void Series::advance(double guess) {
  past_.end_forecast();
  for (Smoothing& s : smoothings_) s.advance();
  panel_.advance();
  if (learnt_ > 0) past_.push(guess);
}

void Series::start_forecast() {
  past_.start_forecast();
  for (Smoothing& s : smoothings_) s.start_forecast();
  panel_.start_forecast();
  for (Model& m : models_)
    if (m.learner) m.learner->start_forecast();
}

void Series::forecast_next(std::span<const double> x, std::span<double> said, std::size_t stride) {
  say(x, said, stride, /*is_forecast=*/true);
}

void Series::note_forecast(double guess) { past_.push_ahead(guess); }

void Series::reset() {
  past_.reset();
  values_.reset();
  changes_.reset();
  units_ = {};
  linear_error_ = without_past_error_ = 0;
  learnt_ = 0;
  for (Smoothing& s : smoothings_) s.reset();
  panel_.reset();
  set_periods(periods_);
  for (Model& m : models_)
    if (m.learner) m.learner->reset();
}

void Series::exchange(Archive& archive) {
  past_.exchange(archive);
  archive.numbers(periods_.length, Archive::not_negative);
  values_.exchange(archive);
  changes_.exchange(archive);
  archive.number(units_.mean);
  archive.number(units_.deviation, Archive::positive);
  archive.number(units_.change, Archive::positive);
  archive.number(linear_error_, Archive::not_negative);
  archive.number(without_past_error_, Archive::not_negative);
  archive.count(learnt_);
  for (Smoothing& s : smoothings_) s.exchange(archive);
  panel_.exchange(archive);
  for (Model& m : models_) {
    bool is_there = m.learner != nullptr;
    archive.flag(is_there);
    if (!is_there) {
      m.learner.reset();
      continue;
    }
    if (!m.learner) m.learner = make(plan_of(m));
    m.learner->exchange(archive);
  }
}

}  // namespace kalstream
