#include "kalstream/rules/parallel_ekf.h"

#include "learner/parallel_ekf_learner.h"
#include "rules/kalman_fields.h"
#include "rules/rule.h"

namespace kalstream {
namespace {

// P of weights and state, both halves, and the rows of the state two times more.
Footprint footprint_of(const LearnerOptions& options, const ParallelEkf& /*rule*/) {
  const NetworkOptions network = network_inside(options);
  Footprint total = network_footprint(network);
  const ParameterLayout layout(network);
  const auto n = static_cast<double>(layout.size());
  const auto m = static_cast<double>(layout.n_s * (layout.cell == Cell::lstm ? 2 : 1));
  total.covariance_blocks = 1;
  total.bytes += ((n + m) * (n + m) + 2 * m * (n + m)) * sizeof(double);
  total.learnt_bytes += (n + m) * (n + m + 1) / 2 * sizeof(double);
  return total;
}

}  // namespace

void ParallelEkf::validate() const { validate_rule(*this); }

const RuleInfo<ParallelEkf>& ParallelEkf::info() {
  static const RuleInfo<ParallelEkf> info{
      .learners = {{"pekf", "parallel EKF: weights and hidden state estimated together"}},
      .fields =
          [](ParallelEkf& o) {
            return Fields{initial_covariance_field(o.initial_covariance),
                          {"measurement_noise", "r: larger learns more slowly",
                           &o.measurement_noise, positive},
                          process_noise_field(o.process_noise),
                          {"state_noise", "of the hidden state: larger corrects it more",
                           &o.state_noise, not_negative}};
          },
      .remark =
          [](const LearnerOptions& o, const ParallelEkf&) {
            return std::string(o.network.derivative == Derivative::rtrl
                                   ? "pekf needs no derivative of the past: derivative has no "
                                     "effect on it"
                                   : "");
          },
      .network_learner = [](const NetworkOptions& network, const Loss& loss,
                            const ParallelEkf& rule) -> std::unique_ptr<Learner> {
        return std::make_unique<ParallelEkfLearner>(network, rule, loss);
      },
      .footprint = footprint_of,
  };
  return info;
}

}  // namespace kalstream
