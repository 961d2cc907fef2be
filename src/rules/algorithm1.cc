#include "kalstream/rules/algorithm1.h"

#include "rules/kalman_fields.h"
#include "rules/rule.h"
#include "update/block_kalman.h"

namespace kalstream {

void Algorithm1::validate() const { validate_rule(*this); }

const RuleInfo<Algorithm1>& Algorithm1::info() {
  static constexpr std::string_view gates[] = {"squared", "plain"};
  static const RuleInfo<Algorithm1> info{
      .learners = {{"alg1", "Algorithm 1: IEKF with adaptive noise that ignores small errors"}},
      .stored_as = "algorithm1",
      .fields = [](Algorithm1& o) -> Fields {
        return {
            initial_covariance_field(o.initial_covariance),
            process_noise_field(o.process_noise),
            {"noise_floor", "r = noise_floor + noise_factor Tr(H P H') / outputs", &o.noise_floor,
             not_negative},
            {"noise_factor", "see noise_floor", &o.noise_factor, not_negative},
            {"gate", "learn if |e|^2 > 4 bound^2 (squared) or > 4 bound (plain)",
             choice(o.gate, gates)},
            {"process_noise_when_gated", "P gains q on skipped steps too",
             &o.process_noise_when_gated},
            partition_field(o.partition),
            single_precision_field(o.single_precision),
            {"error_bound", "errors up to twice this are not learnt from", &o.error_bound,
             positive},
        };
      },
      .check =
          [](const Algorithm1& o) {
            require(o.noise_floor + o.noise_factor > 0, "noise_floor",
                    "positive where noise_factor is 0");
          },
      .remark = [](const LearnerOptions&, const Algorithm1& o) -> std::string {
        if (!o.single_precision || o.partition == Partition::full) return {};
        return "single_precision has no effect but with partition=full";
      },
      .update_rule = make_rule,
      .footprint =
          [](const LearnerOptions& o, const Algorithm1& rule) {
            return network_footprint(network_inside(o), rule.partition, 1,
                                     rule.single_precision && rule.partition == Partition::full);
          },
  };
  return info;
}

}  // namespace kalstream
