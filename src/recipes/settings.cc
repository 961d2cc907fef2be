#include "kalstream/settings.h"

#include <stdexcept>

#include "core/closest.h"
#include "core/fields.h"
#include "rules/rule.h"

namespace kalstream {
namespace {

// The settings of a learner, in the order people see them: its rule's, then its network's.
Fields settings_fields(LearnerOptions& o) {
  return with_info(o.rule, [&](const auto& info, auto& rule) {
    Fields all = info.fields(rule);
    if (!info.sees_past_targets)
      all.push_back({"lags", "past targets that are inputs as well", &o.lags});
    const Fields network = fields_of(o.network);
    if (info.whole_learner == nullptr) all = std::move(all) + network + fields_of(o.loss);
    for (const NetworkSetting& wanted : info.network_settings)
      for (Field field : network)
        if (field.key == wanted.key) {
          field.meaning = wanted.meaning;
          all.push_back(field);
        }
    std::erase_if(all, [](const Field& field) { return !field.is_setting; });
    return all;
  });
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

}  // namespace

const std::vector<LearnerName>& learner_names() {
  static const std::vector<LearnerName> names = [] {
    std::vector<LearnerName> all;
    for_every_rule([&](const auto& info) {
      for (const auto& learner : info.learners) all.push_back({learner.name, learner.meaning});
    });
    return all;
  }();
  return names;
}

Rule rule_named(std::string_view name) {
  std::optional<Rule> rule;
  std::vector<std::string> known;
  for_every_rule([&](const auto& info) {
    for (const auto& learner : info.learners) {
      known.emplace_back(learner.name);
      if (learner.name == name) rule = learner.options;
    }
  });
  if (rule) return *rule;
  throw std::invalid_argument("unknown learner '" + std::string(name) +
                              "'; known: " + listed(known) + did_you_mean(name, known));
}

std::string name_of(const Rule& rule) {
  return with_info(rule, [](const auto& info, const auto& options) {
    return std::string(info.learners[info.which(options)].name);
  });
}

std::vector<Setting> settings_of(const LearnerOptions& options) {
  std::vector<Setting> settings;
  LearnerOptions copy = options;
  for (const Field& field : settings_fields(copy))
    settings.push_back({std::string(field.key), text_of(field.value), std::string(field.meaning),
                        field.permitted.words});
  return settings;
}

bool set_if_known(LearnerOptions& options, std::string_view key, std::string_view value,
                  std::size_t run_length) {
  for (const Field& field : settings_fields(options))
    if (field.key == key) {
      set_from_text(field.value, value, run_length);
      return true;
    }
  return false;
}

void set_option(LearnerOptions& options, std::string_view key, std::string_view value,
                std::size_t run_length) {
  const std::string name(key);
  try {
    if (set_if_known(options, key, value, run_length)) return;
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(name + ": " + error.what());
  }
  std::vector<std::string> known;
  for (const Setting& s : settings_of(options)) known.push_back(s.key);
  throw std::invalid_argument(name_of(options.rule) + " has no option '" + name + "'; it has " +
                              listed(known) + did_you_mean(name, known));
}

}  // namespace kalstream
