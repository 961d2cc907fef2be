#include "classes/auto_classifier.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "classes/class_experts.h"
#include "classes/probabilities.h"
#include "core/archive.h"
#include "core/denormals.h"
#include "core/finite.h"
#include "learner/parts.h"

namespace kalstream {
namespace {

std::vector<double> even(std::size_t n) {
  return std::vector<double>(n, 1 / static_cast<double>(n));
}

// Half of the prior is for the mixture and the stacks, the other for single experts.
std::vector<double> prior_of_candidates(std::size_t combined, std::size_t experts) {
  std::vector<double> prior(combined + experts);
  for (std::size_t j = 0; j < prior.size(); ++j)
    prior[j] = 0.5 / static_cast<double>(j < combined ? combined : experts);
  return prior;
}

std::vector<ClassStack> make_stacks(std::size_t experts, std::size_t classes) {
  const double even_weight = 1 / static_cast<double>(experts);
  std::vector<ClassStack> stacks;
  for (const double q : {0.0, constants::stack_forgetting})
    stacks.emplace_back(
        classes,
        ClassStack::Plan{.weights = std::vector<double>(experts, even_weight),
                         .deviations = std::vector<double>(experts, constants::stack_deviation),
                         .process_noise = q});
  return stacks;
}

}  // namespace

AutoClassifier::AutoClassifier(const Auto& options, const NetworkOptions& network)
    : names_([&] {
        std::vector<std::string> all;
        for (ClassExpertPlan& plan : plan_class_experts(options, network))
          all.push_back(std::move(plan.name));
        return all;
      }()),
      experts_([&] {
        std::vector<Cloned<ClassExpert>> all;
        for (const ClassExpertPlan& plan : plan_class_experts(options, network))
          all.emplace_back(make_class_expert(plan, network.inputs, classes_of(network)));
        return all;
      }()),
      expected_(network.inputs),
      scale_(network.inputs),
      memory_(network.inputs),
      last_(constants::classes_before, no_class),
      among_experts_(even(experts_.size()), constants::tracking_share),
      stacks_(make_stacks(experts_.size(), classes_of(network))),
      among_candidates_(prior_of_candidates(1 + stacks_.size(), experts_.size())),
      calibration_(classes_of(network)),
      workers_(workers_for(options.threads, experts_.size())),
      x_(network.inputs),
      d_hat_(network.outputs),
      spread_(network.outputs),
      no_prediction_(network.outputs, std::numeric_limits<double>::quiet_NaN()),
      weights_(experts_.size() + stacks_.size()) {
  set_sizes(classes_of(network));
  weigh();
}

void AutoClassifier::set_sizes(std::size_t classes) {
  seen_.assign(inputs() + constants::classes_before * LabelCode{classes}.size(), 0.0);
  said_.assign(experts_.size() * classes, 0.0);
  logs_.assign(said_.size(), 0.0);
  candidates_.assign((1 + stacks_.size() + experts_.size()) * classes, 0.0);
  p_.assign(classes, 0.0);
}

// ---- Prediction

ClassMoment AutoClassifier::see(std::span<const double> x) {
  see_inputs(scale_, x, std::span(seen_).first(x.size()));
  const LabelCode code{classes()};
  for (std::size_t lag = 0; lag < constants::classes_before; ++lag)
    code.write(last_[lag], std::span(seen_).subspan(x.size() + lag * code.size(), code.size()));
  return {.x = x, .seen = seen_, .last = last_[0], .step = steps_};
}

bool AutoClassifier::bring_up_to_date(std::span<const double> x) {
  if (!can_use(x)) return false;
  x = expected_.complete(x);
  if (predicted_ && std::equal(x.begin(), x.end(), x_.begin())) return true;
  std::copy(x.begin(), x.end(), x_.begin());
  const ClassMoment seen = see(x_);
  workers_.run(experts_.size(), [&](std::size_t j) {
    experts_[j]->predict(seen, past(), std::span(said_).subspan(j * classes(), classes()));
  });
  combine();
  predicted_ = true;
  return true;
}

void AutoClassifier::combine() {
  const std::size_t n = classes();
  for (std::size_t j = 0; j < experts_.size(); ++j) {
    const auto p = std::span(said_).subspan(j * n, n);
    if (!all_finite(p)) std::fill(p.begin(), p.end(), 1 / static_cast<double>(n));
    keep_possible(p, constants::least_probability);
  }
  const auto candidate = [&](std::size_t j) { return std::span(candidates_).subspan(j * n, n); };
  std::transform(said_.begin(), said_.end(), logs_.begin(), [](double p) { return std::log(p); });
  among_experts_.predict(said_, candidate(0));
  for (std::size_t j = 0; j < stacks_.size(); ++j) {
    stacks_[j].predict(logs_, candidate(1 + j));
    keep_possible(candidate(1 + j), constants::least_probability);
  }
  std::copy(said_.begin(), said_.end(), candidate(1 + stacks_.size()).begin());
  among_candidates_.predict(candidates_, p_);
  calibration_.predict(p_);
  if (outputs() == 1)
    d_hat_[0] = p_[1];
  else
    std::copy(p_.begin(), p_.end(), d_hat_.begin());
}

std::span<const double> AutoClassifier::predict(std::span<const double> x) {
  const FlushDenormals guard;
  return bring_up_to_date(x) ? d_hat_ : no_prediction_;
}

std::span<const double> AutoClassifier::spread() {
  if (!predicted_) return {};
  for (std::size_t k = 0; k < spread_.size(); ++k)
    spread_[k] = std::sqrt(std::max(d_hat_[k] * (1 - d_hat_[k]), constants::least_probability));
  return spread_;
}

StepReport AutoClassifier::learn(std::span<const double> x, std::span<const double> d) {
  const FlushDenormals guard;
  const auto is_probability = [](double v) { return v >= 0 && v <= 1; };
  if (d.size() != outputs() || !std::all_of(d.begin(), d.end(), is_probability) ||
      !bring_up_to_date(x))
    return refusal(*this);
  const std::size_t y =
      outputs() == 1 ? (d[0] >= 0.5 ? 1 : 0)
                     : static_cast<std::size_t>(std::max_element(d.begin(), d.end()) - d.begin());
  calibration_.learn(y);
  among_candidates_.learn(candidates_, classes(), y);
  for (ClassStack& stack : stacks_) stack.learn(y);
  among_experts_.learn(said_, classes(), y);

  memory_.push(x_, y);
  workers_.run(experts_.size(), [&](std::size_t j) { experts_[j]->learn(now(), past(), y); });
  std::shift_right(last_.begin(), last_.end(), 1);
  last_[0] = y;
  move_on(x);
  if (Scale::is_due(memory_.count())) {
    scale_.hold();
    start_over();
  } else if (Scale::is_settled(memory_.count())) {
    scale_.follow();
  }
  weigh();
  return report(StepStatus::applied);
}

StepReport AutoClassifier::advance(std::span<const double> x) {
  const FlushDenormals guard;
  if (!bring_up_to_date(x)) return refusal(*this);
  for (const auto& expert : experts_) expert->advance(now());
  move_on(x);
  return report(StepStatus::missing);
}

StepReport AutoClassifier::report(StepStatus status) const {
  const std::size_t n = state().networks;
  return {.status = status,
          .experts = n,
          .applied = status == StepStatus::applied ? n : 0,
          .covariance_trace = state().covariance_trace,
          .weights = weights_};
}

// While the scale is still poor the experts begin again with all samples in memory each time it is
// taken anew.
void AutoClassifier::start_over() {
  workers_.run(experts_.size(), [&](std::size_t j) { experts_[j]->start_over(past()); });
}

void AutoClassifier::move_on(std::span<const double> x) {
  ++steps_;
  expected_.add(x);
  scale_.add(x_);
  predicted_ = false;
}

// How much each expert counts: by itself, and in the mixture of all.
void AutoClassifier::weigh() {
  const auto of_candidates = among_candidates_.weights();
  const auto of_experts = among_experts_.weights();
  const std::size_t first = 1 + stacks_.size();
  for (std::size_t j = 0; j < experts_.size(); ++j)
    weights_[j] = of_candidates[first + j] + of_candidates[0] * of_experts[j];
  for (std::size_t j = 0; j < stacks_.size(); ++j)
    weights_[experts_.size() + j] = of_candidates[1 + j];
}

LearnerState AutoClassifier::state() const {
  LearnerState all{.networks = 0, .weights = weights_};
  for (const auto& expert : experts_) {
    const LearnerState one = expert->state();
    all.networks += one.networks;
    all.covariance_trace += one.covariance_trace;
  }
  return all;
}

// ---- Forecasts: classes that are not known yet are passed over.

void AutoClassifier::start_forecast() {
  for (const auto& expert : experts_) expert->start_forecast();
}

std::span<const double> AutoClassifier::forecast_next(std::span<const double> x) {
  const FlushDenormals guard;
  if (!can_use(x)) return no_prediction_;
  predicted_ = false;  // what the experts said is written over
  const ClassMoment seen = see(expected_.complete(x));
  for (std::size_t j = 0; j < experts_.size(); ++j)
    experts_[j]->forecast_next(seen, past(), std::span(said_).subspan(j * classes(), classes()));
  combine();
  return d_hat_;
}

// ---- More classes, none, and snapshots

// With many classes there are other experts than with few: each goes on from the one of its name.
bool AutoClassifier::go_on_from(const Learner& narrower) {
  const auto* const other = dynamic_cast<const AutoClassifier*>(&narrower);
  if (other == nullptr || other->inputs() != inputs() || other->classes() > classes()) return false;
  const std::size_t n = classes();
  const std::size_t combined = 1 + stacks_.size();
  std::vector<std::size_t> from(names_.size(), ClassMixture::nobody);
  std::vector<std::size_t> from_candidates(combined + names_.size(), ClassMixture::nobody);
  for (std::size_t j = 0; j < combined; ++j) from_candidates[j] = j;
  for (std::size_t j = 0; j < names_.size(); ++j) {
    const auto found = std::ranges::find(other->names_, names_[j]);
    if (found == other->names_.end()) continue;
    from[j] = static_cast<std::size_t>(found - other->names_.begin());
    from_candidates[combined + j] = combined + from[j];
    if (experts_[j]->starts_over()) continue;
    experts_[j] = other->experts_[from[j]];
    experts_[j]->widen(n);
  }
  expected_ = other->expected_;
  scale_ = other->scale_;
  memory_ = other->memory_;
  last_ = other->last_;
  among_experts_.go_on_from(other->among_experts_, from);
  for (std::size_t j = 0; j < stacks_.size(); ++j) stacks_[j].go_on_from(other->stacks_[j], from);
  among_candidates_.go_on_from(other->among_candidates_, from_candidates);
  calibration_ = other->calibration_;
  calibration_.widen(n);
  steps_ = other->steps_;
  predicted_ = false;
  start_over();
  weigh();
  return true;
}

void AutoClassifier::reset() {
  for (const auto& expert : experts_) expert->reset();
  expected_.reset();
  scale_.reset();
  memory_.reset();
  std::fill(last_.begin(), last_.end(), no_class);
  among_experts_.reset();
  for (ClassStack& stack : stacks_) stack.reset();
  among_candidates_.reset();
  calibration_.reset();
  steps_ = 0;
  predicted_ = false;
  weigh();
}

void AutoClassifier::exchange(Archive& archive) {
  archive.count(steps_);
  expected_.exchange(archive);
  scale_.exchange(archive);
  memory_.exchange(archive, classes());
  for (std::size_t& y : last_) {
    std::size_t number = y == no_class ? 0 : y + 1;
    archive.count(number, classes());
    y = number == 0 ? no_class : number - 1;
  }
  for (const auto& expert : experts_) expert->exchange(archive);
  among_experts_.exchange(archive);
  for (ClassStack& stack : stacks_) stack.exchange(archive);
  among_candidates_.exchange(archive);
  calibration_.exchange(archive);
  if (!archive.reading()) return;
  predicted_ = false;
  weigh();
}

// ---- Before it is made

Footprint footprint_of_classifier(const Auto& options, const NetworkOptions& network) {
  const auto n = static_cast<double>(network.inputs);
  const auto classes = static_cast<double>(classes_of(network));
  const auto plans = plan_class_experts(options, network);
  Footprint total{.networks = 0};
  double numbers = static_cast<double>(constants::class_memory) * (n + 1);
  for (const ClassExpertPlan& plan : plans) {
    if (const auto* net = std::get_if<ClassNetworkPlan>(&plan.what)) {
      const Footprint one = footprint({.network = net->network,
                                       .rule = net->rule,
                                       .loss = {.kind = Loss::Kind::cross_entropy}});
      total.weights = std::max(total.weights, one.weights);
      total.networks += one.networks;
      total.covariance_blocks += one.covariance_blocks;
      total.bytes += one.bytes;
      total.learnt_bytes += one.learnt_bytes;
    } else if (const auto* boosted = std::get_if<BoostingPlan>(&plan.what)) {
      numbers += static_cast<double>(boosted->window) * (classes + n / sizeof(double)) +
                 static_cast<double>(boosted->trees * boosted->leaves) * (classes + 2);
    } else if (const auto* kernel = std::get_if<Kernel>(&plan.what)) {
      const auto centres = static_cast<double>(kernel->centres);
      numbers += static_cast<double>(kernel->memory) * (n + classes) / 2 +
                 2 * centres * (centres + n + classes);
    } else if (const auto* softmax = std::get_if<SoftmaxPlan>(&plan.what)) {
      const double size = n + static_cast<double>(softmax->lags) * classes + 1;
      numbers += size * (size + classes);
    } else if (std::holds_alternative<BayesPlan>(plan.what)) {
      numbers += 18 * n * classes;
    }
  }
  const double features = static_cast<double>(plans.size()) + classes;
  numbers += 2 * features * features + 6 * classes * features;
  total.bytes += numbers * sizeof(double);
  return total;
}

std::vector<std::string> names_in_classifier(const Auto& options, const NetworkOptions& network) {
  std::vector<std::string> names;
  for (ClassExpertPlan& plan : plan_class_experts(options, network))
    names.push_back(std::move(plan.name));
  names.insert(names.end(), {"stack", "stack-recent"});
  return names;
}

}  // namespace kalstream
