#include "paper/variants.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

namespace kalstream::paper {
namespace {

LearnerOptions published(Preset preset_, Experiment experiment, const Rule& rule) {
  return preset(preset_, experiment, rule, published_run_length(experiment));
}

// With the gate biases the published comparison gave to Algorithm 2 alone.
LearnerOptions with_open_gates(Experiment experiment, const Rule& rule) {
  LearnerOptions options = published(Preset::authors, experiment, rule);
  options.network.gate_bias =
      published(Preset::authors, experiment, Algorithm2{}).network.gate_bias;
  return options;
}

}  // namespace

const std::vector<Variant>& variants() {
  static const std::vector<Variant> all{
      {"sgd", "SGD", "sgd", "as published", true, false},
      {"rmsprop", "RMSprop", "rmsprop", "as published"},
      {"adam", "Adam", "adam", "as published", true, false},
      {"dekf", "DEKF", "dekf", "as published"},
      {"ekf", "EKF", "ekf", "as published"},
      {"alg2", "Algorithm 2", "alg2", "as published: preset `authors`"},
      {"dekf-open", "DEKF, open gates", "", "DEKF with Algorithm 2's gate biases"},
      {"ekf-open", "EKF, open gates", "", "EKF with Algorithm 2's gate biases"},
      {"alg2-paper", "Algorithm 2, text", "", "as the text defines it: preset `paper`"},
      {"alg2-floor", "Algorithm 2, text + floor", "", "preset `paper` with the noise floor 0.5"},
      {"alg2-own", "Algorithm 2, own errors", "",
       "as published, but every expert learns from its own error, as in the text", false, true},
  };
  return all;
}

std::vector<const Variant*> chosen_variants(const std::vector<std::string>& keys) {
  std::vector<const Variant*> chosen;
  for (const Variant& v : variants())
    if (keys.empty() || std::find(keys.begin(), keys.end(), v.key) != keys.end())
      chosen.push_back(&v);
  for (const std::string& key : keys)
    if (std::none_of(chosen.begin(), chosen.end(), [&](const auto* v) { return v->key == key; })) {
      std::vector<std::string_view> known;
      for (const Variant& v : variants()) known.push_back(v.key);
      throw std::invalid_argument(
          fmt::format("unknown learner '{}'; known: {}", key, fmt::join(known, ", ")));
    }
  return chosen;
}

LearnerOptions options_of(const Variant& variant, Experiment experiment) {
  const std::string_view key = variant.key;
  if (key == "sgd") return published(Preset::authors, experiment, Sgd{});
  if (key == "rmsprop") return published(Preset::authors, experiment, RmsProp{});
  if (key == "adam") return published(Preset::authors, experiment, Adam{});
  if (key == "dekf") return published(Preset::authors, experiment, Dekf{});
  if (key == "ekf") return published(Preset::authors, experiment, Ekf{});
  if (key == "alg2") return published(Preset::authors, experiment, Algorithm2{});
  if (key == "dekf-open") return with_open_gates(experiment, Dekf{});
  if (key == "ekf-open") return with_open_gates(experiment, Ekf{});
  if (key == "alg2-paper") return published(Preset::paper, experiment, Algorithm2{});
  if (key == "alg2-floor") {
    LearnerOptions options = published(Preset::paper, experiment, Algorithm2{});
    std::get<Algorithm2>(options.rule).expert.noise_floor = 0.5;
    return options;
  }
  if (key == "alg2-own") {
    LearnerOptions options = published(Preset::authors, experiment, Algorithm2{});
    std::get<Algorithm2>(options.rule).feedback = Feedback::own;
    return options;
  }
  throw std::logic_error("a variant without options");
}

}  // namespace kalstream::paper
