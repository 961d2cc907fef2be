// What is asked of any rule, whichever it is.
#include "rules/rule.h"

#include <algorithm>

namespace kalstream {

Footprint footprint(const LearnerOptions& options) {
  return with_info(options.rule, [&](const auto& info, const auto& rule) {
    return info.footprint(options, rule);
  });
}

bool is_baseline(const Rule& rule) {
  return with_info(rule, [](const auto& info, const auto&) { return info.is_baseline; });
}

bool ignores_inputs(const Rule& rule) {
  return with_info(rule, [](const auto& info, const auto&) { return info.ignores_inputs; });
}

bool sees_past_targets(const Rule& rule) {
  return with_info(rule, [](const auto& info, const auto&) { return info.sees_past_targets; });
}

bool takes_raw_data(const Rule& rule) {
  return with_info(rule,
                   [](const auto& info, const auto&) { return info.whole_learner != nullptr; });
}

bool takes_missing_inputs(const Rule& rule) {
  return with_info(rule, [](const auto& info, const auto&) { return info.takes_missing_inputs; });
}

std::vector<std::string> expert_names(const LearnerOptions& options) {
  return with_info(options.rule, [&](const auto& info, const auto& rule) {
    return info.expert_names(options, rule);
  });
}

std::string remark_on(const LearnerOptions& options) {
  return with_info(options.rule,
                   [&](const auto& info, const auto& rule) { return info.remark(options, rule); });
}

namespace {

// "auto, ar, naive and mean".
std::string those_that_see_past_targets() {
  std::vector<std::string> names;
  for_every_rule([&](const auto& info) {
    if (info.sees_past_targets) names.emplace_back(info.learners.front().name);
  });
  std::string text;
  for (std::size_t k = 0; k < names.size(); ++k)
    text += (k == 0 ? "" : k + 1 == names.size() ? " and " : ", ") + names[k];
  return text;
}

}  // namespace

void LearnerOptions::validate() const {
  require(network.outputs >= 1, "outputs", "at least 1");
  with_info(rule, [&](const auto& info, const auto& options) {
    require(
        lags == 0 || !info.sees_past_targets, "lags",
        "0 for " + those_that_see_past_targets() + ", which look at past targets by themselves");
    if (info.whole_learner == nullptr)
      network_inside(*this).validate();
    else
      require(loss.kind == Loss::Kind::squared ||
                  (info.knows_classes && loss.kind == Loss::Kind::cross_entropy),
              "loss",
              std::string(info.knows_classes ? "squared or cross_entropy for " : "squared for ") +
                  info.learners.front().name);
    loss.validate();
    options.validate();
    info.check_all(*this, options);
  });
}

}  // namespace kalstream
