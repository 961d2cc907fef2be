// What a training rule says of itself, all of it in its own file: the source of its options struct,
// here in src/learner/rules. Nothing else names rules one by one; what there is to know of any of
// them is asked through this.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/fields.h"
#include "core/layout.h"
#include "kalstream/learner.h"
#include "kalstream/settings.h"
#include "learner/footprint.h"
#include "update/update_rule.h"

namespace kalstream {

/// A learner by name, and the options it stands for.
template <class Options>
struct NamedLearner {
  const char* name;
  const char* meaning;
  Options options = {};
};

/// What NetworkOptions mean to a rule that has no network of exactly these.
struct NetworkSetting {
  std::string_view key;
  std::string_view meaning;
};

/// Exactly one of update_rule, network_learner and whole_learner must be there.
template <class Options>
struct RuleInfo {
  std::vector<NamedLearner<Options>> learners;
  /// Which of them has these options.
  std::size_t (*which)(const Options&) = [](const Options&) -> std::size_t { return 0; };
  std::string_view stored_as = learners.front().name;  ///< the rule's name in snapshots

  Fields (*fields)(Options&);
  /// What one field demands of another, beyond what each is permitted; throws through require().
  void (*check)(const Options&) = [](const Options&) {};
  /// What only the rest of the options tells.
  void (*check_all)(const LearnerOptions&, const Options&) = [](const LearnerOptions&,
                                                                const Options&) {};
  /// A sentence on what has no effect; empty if all has.
  std::string (*remark)(const LearnerOptions&, const Options&) =
      [](const LearnerOptions&, const Options&) { return std::string(); };

  /// How one network learns; scaler and past targets are put around it …
  std::unique_ptr<UpdateRule> (*update_rule)(const Options&, const ParameterLayout&) = nullptr;
  /// … or a learner of several such networks …
  std::unique_ptr<Learner> (*network_learner)(const NetworkOptions&, const Loss&,
                                              const Options&) = nullptr;
  /// … or a learner that takes raw data as it is.
  std::unique_ptr<Learner> (*whole_learner)(const LearnerOptions&, const Options&) = nullptr;
  bool is_baseline = false;                 ///< for a network to beat
  bool ignores_inputs = false;              ///< predicts from past targets alone
  bool sees_past_targets = ignores_inputs;  ///< by itself, so that `lags` must be 0
  bool takes_missing_inputs = false;        ///< NaN, where others refuse the sample
  bool knows_classes = false;               ///< of a whole learner: the loss may be cross_entropy
  /// Of a whole learner, those of the network's options that are settings of it.
  std::vector<NetworkSetting> network_settings = {};

  Footprint (*footprint)(const LearnerOptions&, const Options&) =
      [](const LearnerOptions& o, const Options&) { return network_footprint(network_inside(o)); };
  /// In the order of StepReport::weights; none if it mixes none.
  std::vector<std::string> (*expert_names)(const LearnerOptions&, const Options&) =
      [](const LearnerOptions&, const Options&) { return std::vector<std::string>(); };
};

/// For `validate()` of a rule's options.
template <class Options>
void validate_rule(const Options& options) {
  Options copy = options;
  check(Options::info().fields(copy));
  Options::info().check(options);
}

/// f(info, options) for the rule that there is.
template <class AnyRule, class F>
decltype(auto) with_info(AnyRule& rule, const F& f) {
  return std::visit([&](auto& options) -> decltype(auto) { return f(options.info(), options); },
                    rule);
}

/// f(info) for every rule: the default, then the others in the order of the variant.
template <class F>
void for_every_rule(const F& f) {
  const Rule first = LearnerOptions{}.rule;
  with_info(first, [&](const auto& info, const auto&) { f(info); });
  [&]<class... Options>(const std::variant<Options...>&) {
    ((std::holds_alternative<Options>(first) ? void() : f(Options::info())), ...);
  }(first);
}

}  // namespace kalstream
