// The baselines: linear models, the last target and the mean.
#include "kalstream/rules/baselines.h"

#include "learner/parts.h"
#include "rules/kalman_fields.h"
#include "rules/rule.h"

namespace kalstream {
namespace {

Fields linear_fields(auto& o) {
  Field p = initial_covariance_field(o.initial_covariance);
  p.meaning = "p in P = p I at the start: smaller is smoother";
  return {p, process_noise_field(o.process_noise)};
}

Footprint linear_footprint(std::size_t inputs, std::size_t outputs) {
  return network_footprint(linear_network(inputs, outputs), Partition::node);
}

// A number for each output.
template <class Options>
RuleInfo<Options> level(const char* name, const char* meaning) {
  return {
      .learners = {{name, meaning}},
      .fields = [](Options&) { return Fields{}; },
      .whole_learner = make_baseline,
      .is_baseline = true,
      .ignores_inputs = true,
      .footprint =
          [](const LearnerOptions& o, const Options&) {
            const double level = static_cast<double>(o.network.outputs) * sizeof(double);
            return Footprint{.bytes = 2 * level, .learnt_bytes = level};
          },
  };
}

}  // namespace

void Rls::validate() const { validate_rule(*this); }
void Ar::validate() const { validate_rule(*this); }

const RuleInfo<Rls>& Rls::info() {
  static const RuleInfo<Rls> info{
      .learners = {{"rls", "recursive least squares: a linear model of the inputs"}},
      .fields = [](Rls& o) { return linear_fields(o); },
      .whole_learner = make_baseline,
      .is_baseline = true,
      .footprint =
          [](const LearnerOptions& o, const Rls&) {
            return linear_footprint(network_inside(o).inputs, o.network.outputs);
          },
  };
  return info;
}

const RuleInfo<Ar>& Ar::info() {
  static const RuleInfo<Ar> info{
      .learners = {{"ar", "autoregression: a linear model of past targets"}},
      .fields =
          [](Ar& o) {
            return Fields{{"lags", "past targets to predict from", &o.lags, at_least_1,
                           "past_targets"}} +
                   linear_fields(o);
          },
      .whole_learner = make_baseline,
      .is_baseline = true,
      .ignores_inputs = true,
      .footprint =
          [](const LearnerOptions& o, const Ar& rule) {
            return linear_footprint(rule.lags * o.network.outputs, o.network.outputs);
          },
  };
  return info;
}

const RuleInfo<Naive>& Naive::info() {
  static const auto info = level<Naive>("naive", "the last target");
  return info;
}

const RuleInfo<Mean>& Mean::info() {
  static const auto info = level<Mean>("mean", "the mean of the targets so far");
  return info;
}

}  // namespace kalstream
