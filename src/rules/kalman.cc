#include "kalstream/rules/kalman.h"

#include "rules/kalman_fields.h"
#include "rules/rule.h"
#include "update/block_kalman.h"

namespace kalstream {
namespace {

Fields kalman_fields(auto& o) {
  return {initial_covariance_field(o.initial_covariance),
          {"measurement_noise", "r: larger learns more slowly", &o.measurement_noise, positive},
          process_noise_field(o.process_noise)};
}

}  // namespace

void Ekf::validate() const { validate_rule(*this); }
void Dekf::validate() const { validate_rule(*this); }
void Iekf::validate() const { validate_rule(*this); }

const RuleInfo<Ekf>& Ekf::info() {
  static const RuleInfo<Ekf> info{
      .learners = {{"ekf", "extended Kalman filter, one covariance for all weights"}},
      .fields =
          [](Ekf& o) {
            return kalman_fields(o) +
                   Fields{{"threads", "of one learner; pays from some 4,000 weights on", &o.threads,
                           at_least_1},
                          single_precision_field(o.single_precision)};
          },
      .update_rule = make_rule,
      .footprint =
          [](const LearnerOptions& o, const Ekf& rule) {
            return network_footprint(network_inside(o), Partition::full, 1, rule.single_precision);
          },
  };
  return info;
}

const RuleInfo<Dekf>& Dekf::info() {
  static const RuleInfo<Dekf> info{
      .learners = {{"dekf", "decoupled EKF: a covariance per block, one innovation"}},
      .fields =
          [](Dekf& o) {
            return kalman_fields(o) +
                   Fields{partition_field(o.partition),
                          {"output_apart", "the output layer has an innovation of its own",
                           &o.output_apart}};
          },
      .update_rule = make_rule,
      .footprint =
          [](const LearnerOptions& o, const Dekf& rule) {
            return network_footprint(network_inside(o), rule.partition);
          },
  };
  return info;
}

const RuleInfo<Iekf>& Iekf::info() {
  static const RuleInfo<Iekf> info{
      .learners = {{"iekf", "independent EKF: a covariance and an innovation per block"}},
      .fields = [](Iekf& o) { return kalman_fields(o) + Fields{partition_field(o.partition)}; },
      .update_rule = make_rule,
      .footprint =
          [](const LearnerOptions& o, const Iekf& rule) {
            return network_footprint(network_inside(o), rule.partition);
          },
  };
  return info;
}

}  // namespace kalstream
