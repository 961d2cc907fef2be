#include "kalstream/rules/kernel.h"

#include "learner/kernel_learner.h"
#include "learner/parts.h"
#include "rules/rule.h"

namespace kalstream {
namespace {

// Two filters, of which one is being renewed, the samples in memory, and the kernel.
Footprint footprint_of(const LearnerOptions& options, const Kernel& rule) {
  const NetworkOptions network = network_inside(options);
  const auto inputs =
      static_cast<double>(network.inputs) * static_cast<double>(1 + rule.past_inputs);
  const auto outputs = static_cast<double>(network.outputs);
  const auto centres = static_cast<double>(rule.centres);
  const double size = 1 + inputs + centres;
  const double covariance = size * (size + 1) / 2 * sizeof(float);
  const double filter = covariance + sizeof(double) * (size * (6 + outputs) + centres * inputs +
                                                       centres * (centres + 1) / 2);
  const double memory = static_cast<double>(rule.memory) * (inputs + outputs) * sizeof(double);
  return {.weights = static_cast<std::size_t>(size * outputs),
          .covariance_blocks = 1,
          .bytes = 2 * filter + memory,
          .learnt_bytes = sizeof(double) * inputs};
}

}  // namespace

void Kernel::validate() const { validate_rule(*this); }

const RuleInfo<Kernel>& Kernel::info() {
  static constexpr Permitted few_centres{"in 1..4096",
                                         [](double v) { return v >= 1 && v <= 4096; }};
  static constexpr Permitted enough_memory{"in 32..1000000",
                                           [](double v) { return v >= 32 && v <= 1'000'000; }};
  static constexpr Permitted at_most_1000{"at most 1000", [](double v) { return v <= 1000; }};
  static const RuleInfo<Kernel> info{
      .learners = {{"kernel", "sparse Gaussian process: a kernel method as a Kalman filter"}},
      .fields =
          [](Kernel& o) {
            return Fields{
                {"centres", "samples that the kernel is spanned by, at most", &o.centres,
                 few_centres},
                {"memory", "samples that are remembered, and learnt again with a new kernel",
                 &o.memory, enough_memory},
                {"renewal", "samples from one kernel to the next, in the long run", &o.renewal,
                 at_least_1},
                {"past_inputs", "the inputs of so many samples before are inputs as well",
                 &o.past_inputs, at_most_1000},
            };
          },
      .check_all =
          [](const LearnerOptions& o, const Kernel&) {
            require(o.network.inputs + o.lags >= 1, "lags", "at least 1 without inputs");
          },
      .whole_learner = [](const LearnerOptions& o, const Kernel& rule) -> std::unique_ptr<Learner> {
        const NetworkOptions network = network_inside(o);
        auto kernel = std::make_unique<KernelLearner>(network.inputs, network.outputs, rule);
        return make_lagged(make_scaled(std::move(kernel), OutputActivation::identity, o.lags),
                           o.network.inputs, o.lags);
      },
      .footprint = footprint_of,
  };
  return info;
}

}  // namespace kalstream
