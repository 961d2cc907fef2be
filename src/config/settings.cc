#include "config/settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>

namespace kalstream {
namespace {

// ---- Values: text to option and back. A value of the wrong form throws what was expected.

struct BadValue {
  std::string expected;
};

void parse(std::string_view text, double& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size()) throw BadValue{"a number"};
}
void parse(std::string_view text, std::size_t& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size()) throw BadValue{"a whole number"};
}
void parse(std::string_view text, bool& out) {
  if (text != "true" && text != "false") throw BadValue{"true or false"};
  out = text == "true";
}
void parse(std::string_view text, std::optional<double>& out) {
  if (text == "none") {
    out.reset();
    return;
  }
  double v = 0;
  parse(text, v);
  out = v;
}
void parse(std::string_view text, std::vector<double>& out) {
  out.clear();
  while (!text.empty()) {
    const auto comma = std::min(text.find(','), text.size());
    parse(text.substr(0, comma), out.emplace_back());
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
}
// A | A..B | A..B@N | A~B@N. Without @N a linear schedule spans the run: steps = 0 until then.
void parse(std::string_view text, Schedule& out) {
  static const BadValue bad{"a number, A..B (linear over the run), A..B@N or A~B@N (exponential)"};
  try {
    const auto dots = text.find("..");
    const auto tilde = text.find('~');
    if (dots == text.npos && tilde == text.npos) {
      double v = 0;
      parse(text, v);
      out = v;
      return;
    }
    const bool linear = dots != text.npos;
    const auto split = linear ? dots : tilde;
    auto rest = text.substr(split + (linear ? 2 : 1));
    const auto at = rest.find('@');
    double from = 0;
    double to = 0;
    double steps = 0;
    parse(text.substr(0, split), from);
    parse(rest.substr(0, at), to);
    if (at != rest.npos) parse(rest.substr(at + 1), steps);
    if (!linear && at == rest.npos) throw bad;
    out = linear ? Schedule::linear(from, to, steps) : Schedule::exponential(from, to, steps);
  } catch (const BadValue&) {
    throw bad;
  }
}

template <class Enum>
constexpr std::array<std::string_view, 0> names_of{};  // in the order of the enumerators
template <>
constexpr std::array<std::string_view, 4> names_of<Partition>{"node", "unit", "gate", "full"};
template <>
constexpr std::array<std::string_view, 2> names_of<Gate>{"squared", "plain"};
template <>
constexpr std::array<std::string_view, 2> names_of<Feedback>{"own", "mixture"};
template <>
constexpr std::array<std::string_view, 2> names_of<OutputActivation>{"tanh", "identity"};
template <>
constexpr std::array<std::string_view, 3> names_of<Cell>{"lstm", "simple", "feedforward"};
template <>
constexpr std::array<std::string_view, 2> names_of<Derivative>{"tbptt", "rtrl"};

template <class Enum>
requires std::is_enum_v<Enum>
void parse(std::string_view text, Enum& out) {
  const auto& names = names_of<Enum>;
  const auto match = std::find(names.begin(), names.end(), text);
  if (match == names.end()) throw BadValue{fmt::format("one of {}", fmt::join(names, ", "))};
  out = static_cast<Enum>(match - names.begin());
}

// Every digit that counts; 1e-7, not 1e-07.
std::string show(double v) {
  std::string text = fmt::format("{}", v);
  if (const auto e = text.find("e-0"); e != std::string::npos) text.erase(e + 2, 1);
  return text;
}
std::string show(std::size_t v) { return fmt::format("{}", v); }
std::string show(bool v) { return v ? "true" : "false"; }
std::string show(const std::optional<double>& v) { return v ? show(*v) : "none"; }
std::string show(const std::vector<double>& v) {
  return v.empty() ? "(built in)" : fmt::format("{:.6g}", fmt::join(v, ","));
}
std::string show(const Schedule& s) {
  switch (s.kind) {
    case Schedule::Kind::linear:
      return fmt::format("{}..{}@{}", show(s.from), show(s.to), show(s.steps));
    case Schedule::Kind::exponential:
      return fmt::format("{}~{}@{}", show(s.from), show(s.to), show(s.steps));
    default:
      return show(s.from);
  }
}
template <class Enum>
requires std::is_enum_v<Enum> std::string show(Enum v) {
  return std::string(names_of<Enum>[static_cast<std::size_t>(v)]);
}

// ---- Fields: every option by name. f(key, field, meaning).

void fields(NetworkOptions& o, const auto& f) {
  f("cell", o.cell, "hidden units: lstm, simple (recurrent) or feedforward");
  f("hidden", o.hidden, "hidden units");
  f("window", o.window, "samples back-propagated through (tbptt)");
  f("derivative", o.derivative, "tbptt, or rtrl (exact over the whole past, slow)");
  f("output", o.output_activation, "tanh, or identity for targets outside [-1,1]");
  f("weight_deviation", o.weight_deviation, "of the random initial weights");
  f("input_gate_bias", o.gate_bias.input, "initial bias weight of the input gates; none: random");
  f("forget_gate_bias", o.gate_bias.forget, "of the forget gates");
  f("output_gate_bias", o.gate_bias.output, "of the output gates");
  f("output_bias", o.output_bias, "a constant input to the output layer");
  f("direct", o.direct, "inputs reach the output layer directly, too");
}
void fields(Sgd& o, const auto& f) { f("learning_rate", o.learning_rate, "step size"); }
void fields(RmsProp& o, const auto& f) {
  f("learning_rate", o.learning_rate, "step size");
  f("decay", o.decay, "of the mean squared gradient");
  f("epsilon", o.epsilon, "added to the root of it");
}
void fields(Adam& o, const auto& f) {
  f("learning_rate", o.learning_rate, "step size");
  f("first_decay", o.first_decay, "of the mean gradient");
  f("second_decay", o.second_decay, "of the mean squared gradient");
  f("epsilon", o.epsilon, "added to the root of it");
}
void kalman_fields(auto& o, const auto& f) {
  f("initial_covariance", o.initial_covariance, "p in P = p I at the start");
  f("measurement_noise", o.measurement_noise, "r: larger learns more slowly");
  f("process_noise", o.process_noise, "q: larger forgets faster");
}
void fields(Ekf& o, const auto& f) {
  kalman_fields(o, f);
  f("threads", o.threads, "of one learner; pays from some 4,000 weights on");
}
void fields(Dekf& o, const auto& f) {
  kalman_fields(o, f);
  f("partition", o.partition, "covariance blocks: node, unit, gate or full");
  f("output_apart", o.output_apart, "the output layer has an innovation of its own");
}
void fields(Iekf& o, const auto& f) {
  kalman_fields(o, f);
  f("partition", o.partition, "covariance blocks: node, unit, gate or full");
}
// What Algorithm 2 shares among its experts; the bound is per expert.
void expert_fields(Algorithm1& o, const auto& f) {
  f("initial_covariance", o.initial_covariance, "p in P = p I at the start");
  f("process_noise", o.process_noise, "q: larger forgets faster");
  f("noise_floor", o.noise_floor, "r = noise_floor + noise_factor Tr(H P H') / outputs");
  f("noise_factor", o.noise_factor, "see noise_floor");
  f("gate", o.gate, "learn if |e|^2 > 4 bound^2 (squared) or > 4 bound (plain)");
  f("process_noise_when_gated", o.process_noise_when_gated, "P gains q on skipped steps too");
  f("partition", o.partition, "covariance blocks: node, unit, gate or full");
}
void fields(Algorithm1& o, const auto& f) {
  expert_fields(o, f);
  f("error_bound", o.error_bound, "errors up to twice this are not learnt from");
}
void fields(Algorithm2& o, const auto& f) {
  expert_fields(o.expert, f);
  f("error_bounds", o.error_bounds, "one expert each, e.g. 0.01,0.05,0.25");
  f("prior_weights", o.prior_weights, "of the experts");
  f("mixing_rate", o.mixing_rate, "of the experts' weights; none: 1/(8 outputs)");
  f("feedback", o.feedback, "experts learn from their own or the mixture's error");
  f("threads", o.threads, "that share the experts; pays from some 30 units on");
}
void linear_fields(auto& o, const auto& f) {
  f("initial_covariance", o.initial_covariance, "p in P = p I at the start: smaller is smoother");
  f("process_noise", o.process_noise, "q: larger forgets faster");
}
void fields(Rls& o, const auto& f) { linear_fields(o, f); }
void fields(Ar& o, const auto& f) {
  f("lags", o.lags, "past targets to predict from");
  linear_fields(o, f);
}
void fields(Naive&, const auto&) {}
void fields(Mean&, const auto&) {}

void fields(Auto& o, const auto& f) {
  f("experts", o.experts, "networks, the most useful first; 0: all");
  f("lags", o.lags, "past targets the experts may look at");
  f("threads", o.threads, "that share the experts");
}
void auto_fields(NetworkOptions& o, const auto& f) {
  f("hidden", o.hidden, "size: 16 is as measured, 32 doubles every network");
  f("window", o.window, "samples back-propagated through");
}

void all_fields(LearnerOptions& o, const auto& f) {
  std::visit([&](auto& rule) { fields(rule, f); }, o.rule);
  if (!sees_past_targets(o.rule)) f("lags", o.lags, "past targets that are inputs as well");
  if (!takes_raw_data(o.rule)) fields(o.network, f);
  if (std::holds_alternative<Auto>(o.rule)) auto_fields(o.network, f);
}

/// Sets the field named key. False if there is none; throws BadValue.
bool set_field(LearnerOptions& options, std::string_view key, std::string_view value,
               std::size_t run_length) {
  bool found = false;
  all_fields(options, [&](const char* name, auto& field, const char*) {
    if (key != name) return;
    found = true;
    parse(value, field);
    if constexpr (std::is_same_v<std::decay_t<decltype(field)>, Schedule>) {
      if (field.kind == Schedule::Kind::linear && field.steps == 0)
        field.steps = static_cast<double>(run_length);
    }
  });
  return found;
}

std::uint64_t seed_number(const std::string& text, const std::string& whole) {
  std::uint64_t v = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (error != std::errc() || end != text.data() + text.size() || text.empty())
    throw std::invalid_argument(
        fmt::format("--seeds {}: write a count (10) or a range (5..14)", whole));
  return v;
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

const std::vector<LearnerName>& learner_names() {
  static const std::vector<LearnerName> names = {
      {"auto", "no tuning: many small experts of several kinds, blended; takes raw data"},
      {"auto-max", "the same with two full-EKF networks"},
      {"sgd", "stochastic gradient descent"},
      {"rmsprop", "RMSprop"},
      {"adam", "Adam"},
      {"ekf", "extended Kalman filter, one covariance for all weights"},
      {"dekf", "decoupled EKF: a covariance per block, one innovation"},
      {"iekf", "independent EKF: a covariance and an innovation per block"},
      {"alg1", "Algorithm 1: IEKF with adaptive noise that ignores small errors"},
      {"alg2", "Algorithm 2: a mixture of Algorithm 1 over error bounds"},
      {"rls", "recursive least squares: a linear model of the inputs"},
      {"ar", "autoregression: a linear model of past targets"},
      {"naive", "the last target"},
      {"mean", "the mean of the targets so far"},
  };
  return names;
}

Rule rule_named(std::string_view name) {
  if (name == "sgd") return Sgd{};
  if (name == "rmsprop") return RmsProp{};
  if (name == "adam") return Adam{};
  if (name == "ekf") return Ekf{};
  if (name == "dekf") return Dekf{};
  if (name == "iekf") return Iekf{};
  if (name == "alg1") return Algorithm1{};
  if (name == "alg2") return Algorithm2{};
  if (name == "rls") return Rls{};
  if (name == "ar") return Ar{};
  if (name == "naive") return Naive{};
  if (name == "mean") return Mean{};
  if (name == "auto") return Auto{};
  if (name == "auto-max") return Auto{.full_ekf = true};
  std::vector<std::string> known;
  for (const LearnerName& l : learner_names()) known.emplace_back(l.name);
  throw std::invalid_argument(
      fmt::format("unknown learner '{}'; known: {}", name, fmt::join(known, ", ")));
}

std::string name_of(const Rule& rule) {
  const auto* automatic = std::get_if<Auto>(&rule);
  if (automatic != nullptr) return automatic->full_ekf ? "auto-max" : "auto";
  const auto& names = learner_names();
  return std::find_if(
             names.begin(), names.end(),
             [&](const LearnerName& l) { return rule_named(l.name).index() == rule.index(); })
      ->name;
}

std::vector<Setting> settings_of(const LearnerOptions& options) {
  std::vector<Setting> settings;
  LearnerOptions copy = options;
  all_fields(copy, [&](const char* key, const auto& field, const char* meaning) {
    settings.push_back({key, show(field), meaning});
  });
  return settings;
}

void set_option(LearnerOptions& options, const std::string& key, const std::string& value) {
  try {
    if (set_field(options, key, value, 0)) return;
  } catch (const BadValue& bad) {
    throw std::invalid_argument(fmt::format("{}: '{}' is not {}", key, value, bad.expected));
  }
  std::vector<std::string> known;
  for (const Setting& s : settings_of(options)) known.push_back(s.key);
  throw std::invalid_argument(
      fmt::format("{} has no option '{}'; it has {}", name_of(options.rule), key,
                  known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", "))));
}

std::vector<std::uint64_t> parse_seeds(const std::string& text) {
  const auto dots = text.find("..");
  const bool range = dots != std::string::npos;
  const std::uint64_t first = range ? seed_number(text.substr(0, dots), text) : 1;
  const std::uint64_t last = seed_number(range ? text.substr(dots + 2) : text, text);
  if (last < first || last - first >= 1'000'000)
    throw std::invalid_argument(fmt::format("--seeds {}: there must be 1 to 1,000,000", text));
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
    throw std::invalid_argument(fmt::format(
        "unknown stream '{}' in --preset {}; known: kin8nm, kin32fm, elevators, puma8nm, puma8nh, "
        "puma32fm, addition",
        name, preset));
  return {Experiment::kin8nm, false};
}

std::vector<Contender> make_contenders(const std::vector<std::string>& names,
                                       const std::string& preset_name, const Dataset& data) {
  const std::string family = preset_name.substr(0, preset_name.find(':'));
  if (!family.empty() && family != "paper" && family != "authors")
    throw std::invalid_argument(fmt::format(
        "unknown preset '{}'; known: paper, authors, paper:STREAM, authors:STREAM", preset_name));
  std::vector<Contender> contenders;
  for (const std::string& name : names) {
    if (std::any_of(contenders.begin(), contenders.end(),
                    [&](const Contender& c) { return c.name == name; }))
      throw std::invalid_argument(fmt::format("learner '{}' is named twice", name));
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
  for (Contender& c : contenders) set_field(c.options, "lags", std::to_string(lags), 0);
}

void set_threads(std::vector<Contender>& contenders, std::size_t threads) {
  for (Contender& c : contenders) set_field(c.options, "threads", std::to_string(threads), 0);
}

void apply_setting(std::vector<Contender>& contenders, const std::string& assignment,
                   std::size_t run_length) {
  const auto equals = assignment.find('=');
  if (equals == std::string::npos)
    throw std::invalid_argument(fmt::format(
        "--set {}: write key=value, e.g. --set alg2.initial_covariance=10", assignment));
  const std::string path = assignment.substr(0, equals);
  const std::string value = assignment.substr(equals + 1);
  const auto dot = path.find('.');
  const std::string learner = dot == std::string::npos ? "" : path.substr(0, dot);
  const std::string key = dot == std::string::npos ? path : path.substr(dot + 1);
  if (!learner.empty()) rule_named(learner);  // complains if there is no such learner

  bool found = false;
  std::vector<std::string> known;
  for (Contender& c : contenders) {
    if (!learner.empty() && c.name != learner) continue;
    try {
      found |= set_field(c.options, key, value, run_length);
    } catch (const BadValue& bad) {
      throw std::invalid_argument(
          fmt::format("--set {}: '{}' is not {}", assignment, value, bad.expected));
    }
    for (const Setting& s : settings_of(c.options))
      known.push_back(fmt::format("{}.{}", c.name, s.key));
  }
  if (found) return;
  if (known.empty())
    throw std::invalid_argument(
        fmt::format("--set {}: {} is not among the learners of this run", assignment, learner));
  throw std::invalid_argument(fmt::format("--set {}: unknown key '{}'; known keys:\n  {}",
                                          assignment, path, fmt::join(known, "\n  ")));
}

}  // namespace kalstream
