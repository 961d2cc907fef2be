#include "kalstream/rules/level.h"

#include "learner/baselines.h"
#include "rules/rule.h"

namespace kalstream {
namespace {

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

const RuleInfo<Naive>& Naive::info() {
  static const auto info = level<Naive>("naive", "the last target");
  return info;
}

const RuleInfo<Mean>& Mean::info() {
  static const auto info = level<Mean>("mean", "the mean of the targets so far");
  return info;
}

}  // namespace kalstream
