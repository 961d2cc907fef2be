#include "contenders/contenders.h"

#include <algorithm>
#include <stdexcept>

#include "core/closest.h"
#include "core/number_in.h"
#include "kalstream/settings.h"

namespace kalstream {
namespace {

std::uint64_t seed_number(const std::string& text, const std::string& whole) {
  if (const auto seed = number_in<std::uint64_t>(text)) return *seed;
  throw std::invalid_argument("--seeds " + whole + ": write a count (10) or a range (5..14)");
}

// The published stream a generator stands in for.
std::string published_name(const Dataset& data) {
  const auto has = [&](const char* what) { return data.source.find(what) != std::string::npos; };
  if (!data.source.starts_with("gen:")) return data.name;
  const bool wide = data.n_inputs() > 8;
  if (data.name == "kin-like") return wide ? "kin32fm" : "kin8nm";
  if (data.name == "puma-like") return wide ? "puma32fm" : has("noise=h") ? "puma8nh" : "puma8nm";
  return data.name;
}

}  // namespace

std::vector<std::uint64_t> parse_seeds(const std::string& text) {
  const auto dots = text.find("..");
  const bool range = dots != std::string::npos;
  const std::uint64_t first = range ? seed_number(text.substr(0, dots), text) : 1;
  const std::uint64_t last = seed_number(range ? text.substr(dots + 2) : text, text);
  if (last < first || last - first >= 1'000'000)
    throw std::invalid_argument("--seeds " + text + ": there must be 1 to 1,000,000");
  std::vector<std::uint64_t> seeds;
  for (std::uint64_t k = 0; k <= last - first; ++k) seeds.push_back(first + k);
  return seeds;
}

std::pair<Experiment, bool> experiment_for(const std::string& preset, const Dataset& data) {
  const auto colon = preset.find(':');
  const std::string name =
      colon == std::string::npos ? published_name(data) : preset.substr(colon + 1);
  if (const auto experiment = experiment_named(name)) return {*experiment, true};
  if (colon != std::string::npos)
    throw std::invalid_argument("unknown stream '" + name + "' in --preset " + preset +
                                "; known: kin8nm, kin32fm, elevators, puma8nm, puma8nh, puma32fm, "
                                "addition");
  return {Experiment::kin8nm, false};
}

std::vector<Contender> make_contenders(const std::vector<std::string>& names,
                                       const std::string& preset_name, const Dataset& data) {
  const std::string family = preset_name.substr(0, preset_name.find(':'));
  if (!family.empty() && family != "paper" && family != "authors")
    throw std::invalid_argument("unknown preset '" + preset_name +
                                "'; known: paper, authors, paper:STREAM, authors:STREAM");
  std::vector<Contender> contenders;
  for (const std::string& name : names) {
    if (std::any_of(contenders.begin(), contenders.end(),
                    [&](const Contender& c) { return c.name == name; }))
      throw std::invalid_argument("learner '" + name + "' is named twice");
    LearnerOptions options{.network = {}, .rule = rule_named(name)};
    if (!family.empty()) {
      const Experiment experiment = experiment_for(preset_name, data).first;
      options = preset(family == "paper" ? Preset::paper : Preset::authors, experiment,
                       options.rule, published_run_length(experiment));
    }
    contenders.push_back({name, options, false});
  }
  return contenders;
}

void set_lags(std::vector<Contender>& contenders, std::size_t lags) {
  for (Contender& c : contenders) set_if_known(c.options, "lags", std::to_string(lags));
}

const std::vector<std::string>& losses_of_numbers() {
  static const std::vector<std::string> names{"squared", "poisson", "huber", "quantile"};
  return names;
}

void set_loss(std::vector<Contender>& contenders, const std::string& loss) {
  for (Contender& c : contenders)
    if (!set_if_known(c.options, "loss", loss) && loss != "squared" && !is_baseline(c.options.rule))
      throw std::invalid_argument("--loss " + loss + ": " + c.name +
                                  " knows the squared error alone; choose a network, such as "
                                  "--learner alg1");
}

void set_threads(std::vector<Contender>& contenders, std::size_t threads) {
  for (Contender& c : contenders) set_if_known(c.options, "threads", std::to_string(threads));
}

void apply_setting(std::vector<Contender>& contenders, const std::string& assignment,
                   std::size_t run_length) {
  const std::string option = "--set " + assignment + ": ";
  const auto equals = assignment.find('=');
  if (equals == std::string::npos)
    throw std::invalid_argument(option + "write key=value, e.g. --set alg2.initial_covariance=10");
  const std::string path = assignment.substr(0, equals);
  const std::string value = assignment.substr(equals + 1);
  const auto dot = path.find('.');
  const std::string learner = dot == std::string::npos ? "" : path.substr(0, dot);
  const std::string key = dot == std::string::npos ? path : path.substr(dot + 1);

  bool found = false;
  std::vector<std::string> known;  // as they could have been written
  std::string listed;
  try {
    if (!learner.empty()) rule_named(learner);  // complains if there is no such learner
    for (Contender& c : contenders) {
      if (!learner.empty() && c.name != learner) continue;
      found |= set_if_known(c.options, key, value, run_length);
      for (const Setting& s : settings_of(c.options)) {
        const std::string whole = c.name + "." + s.key;
        known.push_back(learner.empty() ? s.key : whole);
        listed += "\n  " + whole;
      }
    }
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(option + error.what());
  }
  if (found) return;
  if (known.empty())
    throw std::invalid_argument(option + learner + " is not among the learners of this run");
  const std::string hint = did_you_mean(path, known);
  throw std::invalid_argument(option + "unknown key '" + path + "'" +
                              (hint.empty() ? "; known keys:" : hint + " Known keys:") + listed);
}

}  // namespace kalstream
