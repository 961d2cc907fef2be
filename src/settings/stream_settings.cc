#include "settings/stream_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "contenders/budget.h"
#include "contenders/contenders.h"
#include "core/closest.h"
#include "kalstream/settings.h"

namespace kalstream {
namespace {

using Json = nlohmann::ordered_json;
using Strings = std::vector<std::string>;

std::string json_name(std::string name) {
  std::ranges::replace(name, '-', '_');
  return name;
}

[[noreturn]] void refuse(const StreamOption& option, const std::string& why) {
  throw std::invalid_argument(fmt::format("\"{}\": {}", json_name(option.name), why));
}

// ---- From JSON, one kind of value after the other.

void read(const StreamOption& option, const Json& json, bool& to) {
  if (!json.is_boolean()) refuse(option, "write true or false");
  to = json.get<bool>();
}

double number_in(const StreamOption& option, const Json& json) {
  if (!json.is_number()) refuse(option, "write a number");
  const auto v = json.get<double>();
  if (!(v >= option.least && v <= option.most))
    refuse(option, fmt::format("{} is not from {} to {}", v, option.least, option.most));
  return v;
}

void read(const StreamOption& option, const Json& json, double& to) {
  to = number_in(option, json);
}

void read(const StreamOption& option, const Json& json, std::uint64_t& to) {
  const double v = number_in(option, json);
  if (v != std::floor(v)) refuse(option, fmt::format("{} is not a whole number", v));
  to = json.is_number_unsigned() ? json.get<std::uint64_t>() : static_cast<std::uint64_t>(v);
}

// Fields may be named by their number.
std::string text_in(const StreamOption& option, const Json& json) {
  if (json.is_number_unsigned()) return std::to_string(json.get<std::uint64_t>());
  if (!json.is_string()) refuse(option, "write text");
  return json.get<std::string>();
}

void read(const StreamOption& option, const Json& json, std::string& to) {
  to = text_in(option, json);
  if (!option.choices.empty() && std::ranges::find(option.choices, to) == option.choices.end())
    refuse(option, fmt::format("'{}' is none of {}", to, fmt::join(option.choices, ", ")));
}

void read(const StreamOption& option, const Json& json, Strings& to) {
  to.clear();
  if (json.is_array()) {
    for (const Json& one : json) to.push_back(text_in(option, one));
    return;
  }
  const std::string all = text_in(option, json);
  for (std::size_t at = 0; at <= all.size();) {
    const std::size_t end = std::min(all.find(',', at), all.size());
    to.push_back(all.substr(at, end - at));
    at = end + 1;
  }
}

const StreamOption& option_named(const std::string& name) {
  for (const StreamOption& option : stream_options())
    if (json_name(option.name) == json_name(name)) return option;
  Strings names;
  for (const StreamOption& option : stream_options()) names.push_back(json_name(option.name));
  throw std::invalid_argument(
      fmt::format("there is no option \"{}\"{}", name, did_you_mean(name, names)));
}

// ---- The learner.

bool has_threads(const Rule& rule) {
  return std::visit(
      [](const auto& r) {
        if constexpr (requires { r.threads; })
          return r.threads > 1;
        else
          return false;
      },
      rule);
}

Contender contender_of(const StreamSettings& s) {
  auto contenders = make_contenders({s.learner}, "", {});
  Contender& c = contenders.front();
  c.scaled = !s.unscaled;
  if (s.hidden > 0) c.options.network.hidden = s.hidden;
  if (s.window > 0) c.options.network.window = s.window;
  if (auto* rule = std::get_if<Auto>(&c.options.rule))
    rule->experts = s.experts;
  else if (s.experts > 0 || s.budget_us > 0)
    throw std::invalid_argument("--experts and --budget-us are for auto and auto-max");
  set_loss(contenders, s.loss);
  if (s.lags > 0) set_lags(contenders, s.lags);
  const bool has_keys = !s.fields.key.empty();
  set_threads(contenders, has_keys ? 1 : std::max<std::uint64_t>(1, s.jobs));
  for (const std::string& assignment : s.set) {
    if (assignment.find("..") != std::string::npos && assignment.find('@') == std::string::npos)
      throw std::invalid_argument(
          fmt::format("--set {}: a stream has no end to span; write A..B@SAMPLES", assignment));
    apply_setting(contenders, assignment, 1);
  }
  c.options.network.seed = s.seed;
  if (has_threads(c.options.rule) && has_keys)
    throw std::invalid_argument(
        "--key: every model would have threads of its own; leave out threads, and share the models "
        "among some with --jobs");
  return c;
}

// The learner, once the first sample tells how many inputs and targets there are.
auto recipe_of(const StreamSettings& s, const std::function<void(const std::string&)>& say) {
  return [c = contender_of(s), budget = s.budget_us, say](std::size_t inputs,
                                                          std::size_t outputs) -> Recipe {
    LearnerOptions options = c.options;
    options.network.inputs = inputs;
    options.network.outputs = outputs;
    if (inputs + options.lags == 0 && !sees_past_targets(options.rule))
      throw std::invalid_argument(
          fmt::format("{} has nothing to predict from: the stream has no inputs; give --lags 8, or "
                      "use auto",
                      c.name));
    if (const std::string remark = remark_on(options); !remark.empty()) say(remark);
    if (budget > 0) {
      options.validate();
      const ExpertChoice choice = choose_experts(options, budget);
      say(fmt::format("{}--experts {} of {}, some {} µs per sample",
                      choice.within ? "" : "cannot keep within the budget: ", choice.experts,
                      choice.most,
                      choice.us < 99.95 ? fmt::format("{:#.3g}", choice.us)
                                        : fmt::format("{:.0f}", choice.us)));
      std::get<Auto>(options.rule).experts = choice.experts;
    }
    return {options, c.scaled && !takes_raw_data(options.rule)};
  };
}

}  // namespace

const std::vector<StreamOption>& stream_options() {
  using S = StreamSettings;
  using P = StreamOption::Place;
  static const std::vector<StreamOption> options = {
      {"target",
       "Target fields, by name or number from 1 (default: 'target', else the last number)",
       [](S& s) -> P { return &s.fields.targets; }},
      {"inputs",
       "Input fields, by name or number from 1, or none for a time series (default: all other "
       "numbers)",
       [](S& s) -> P { return &s.fields.inputs; }},
      {"category",
       "Fields of a few values, text or numbers, that are inputs: one input for each of the first "
       "15 values, and one for all others",
       [](S& s) -> P { return &s.fields.categories; }},
      {"time", "Field that tells the time, or none (default: the first that does)",
       [](S& s) -> P { return &s.fields.time; }},
      {"task",
       "Whether the target is a class (classify) or a number (regress); by itself text is a class",
       [](S& s) -> P { return &s.fields.task; },
       0,
       0,
       {"classify", "regress"}},
      {"classes", "How many classes there may be", [](S& s) -> P { return &s.fields.classes; }, 2,
       Schema::most_classes},
      {"id", "Field that names a sample, so that its target can come later",
       [](S& s) -> P { return &s.fields.id; }},
      {"key", "Field that names a model: one for each of its values",
       [](S& s) -> P { return &s.fields.key; }},
      {"missing",
       "Lines that lack inputs: refuse them, or hold the last values of these inputs",
       [](S& s) -> P { return &s.missing; },
       0,
       0,
       {"refuse", "hold"}},
      {"learner", "As for run", [](S& s) -> P { return &s.learner; }, 0, 0, {}, true},
      {"loss",
       "What an error costs: squared; poisson, of counts; huber, where some are far off; quantile, "
       "for --set quantile=0.9 of the targets below",
       [](S& s) -> P { return &s.loss; }, 0, 0, losses_of_numbers(), true},
      {"lags",
       "So many past targets are inputs as well",
       [](S& s) -> P { return &s.lags; },
       1,
       1e5,
       {},
       true},
      {"hidden", "Units (default 16)", [](S& s) -> P { return &s.hidden; }, 1, 1e6, {}, true},
      {"window",
       "Samples to back-propagate through (default 10)",
       [](S& s) -> P { return &s.window; },
       1,
       1e6,
       {},
       true},
      {"experts",
       "Networks of auto (default: all)",
       [](S& s) -> P { return &s.experts; },
       1,
       1e3,
       {},
       true},
      {"budget-us",
       "As many of them as keep a sample within this many microseconds here",
       [](S& s) -> P { return &s.budget_us; },
       1,
       1e9,
       {},
       true},
      {"jobs",
       "Threads: with --key they share the models (default: stream one per core, a fleet's worker "
       "1), without they share the experts of auto and alg2, or a large ekf (default: 1); the "
       "answers are the same",
       [](S& s) -> P { return &s.jobs; }, 1, 1e4},
      {"seed", "Of the random start", [](S& s) -> P { return &s.seed; }, 0, 0x1p64, {}, true},
      {"set", "key=value ..., as for run", [](S& s) -> P { return &s.set; }, 0, 0, {}, true},
      {"unscaled",
       "Give inputs and targets to the network as they are; by itself it sees them standardised, "
       "causally",
       [](S& s) -> P { return &s.unscaled; },
       0,
       0,
       {},
       true},
      {"predict-only", "Predict and score, but learn nothing (default: --learn)",
       [](S& s) -> P { return &s.predict_only; }},
      {"horizon",
       "Forecast this many samples after each; inputs stay what they are, but for those of "
       "--future",
       [](S& s) -> P { return &s.horizon; }, 1, ModelOptions::longest_horizon},
      {"period",
       "The stream repeats itself after so many samples, e.g. 24,168; or none (default: what the "
       "times tell, or auto finds)",
       [](S& s) -> P { return &s.time.period; }},
      {"future",
       "Inputs that are known ahead of their time, so that forecasts may use them; others are "
       "held at their last values",
       [](S& s) -> P { return &s.time.future; }},
      {"elapsed",
       "Whether the time since the sample before is an input (default: in a file, where samples "
       "come at no regular times; in a live stream, no)",
       [](S& s) -> P { return &s.time.elapsed; },
       0,
       0,
       {"yes", "no"}},
      {"interval", "Bounds around every prediction that hold this fraction of targets, e.g. 0.9",
       [](S& s) -> P { return &s.interval; }, 0.01, 0.999},
      {"surprise", "With every target, the probability of a value at least so far off",
       [](S& s) -> P { return &s.surprise; }},
      {"alarm-rate",
       "Mark targets as anomalies: about this fraction of ordinary ones at most, e.g. 1e-4; "
       "implies --surprise",
       [](S& s) -> P { return &s.alarm_rate; }, 1e-12, 0.5},
      {"max-delay", "A sample with an id waits for its target while this many others come",
       [](S& s) -> P { return &s.max_delay; }, 0, ModelOptions::longest_delay},
  };
  return options;
}

std::string to_json(const StreamSettings& settings) {
  StreamSettings here = settings;
  StreamSettings plain;
  Json json = Json::object();
  for (const StreamOption& option : stream_options())
    std::visit(
        [&](auto* value) {
          if (*value != *std::get<decltype(value)>(option.in(plain)))
            json[json_name(option.name)] = *value;
        },
        option.in(here));
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

StreamSettings settings_from_json(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object())
    throw std::invalid_argument(R"(options are a JSON object, such as {"learner":"auto"})");
  StreamSettings settings;
  for (const auto& [name, value] : json.items()) {
    const StreamOption& option = option_named(name);
    std::visit([&, &v = value](auto* to) { read(option, v, *to); }, option.in(settings));
  }
  if (settings.experts > 0 && settings.budget_us > 0)
    throw std::invalid_argument("\"experts\" and \"budget_us\" exclude each other");
  return settings;
}

EngineOptions engine_options(const StreamSettings& s,
                             const std::function<void(const std::string&)>& say) {
  EngineOptions options;
  options.fields = s.fields;
  options.fields.elapsed = s.time.elapsed == "yes";
  options.future = s.time.future;
  options.recipe = recipe_of(s, say);
  options.model = {.learns = !s.predict_only,
                   .coverage = s.interval,
                   .surprise = s.surprise || s.alarm_rate > 0,
                   .alarm_rate = s.alarm_rate,
                   .horizon = s.horizon,
                   .max_delay = s.max_delay,
                   .periods = periods_of(s.time)};
  options.hold_missing = s.missing == "hold";
  return options;
}

}  // namespace kalstream
