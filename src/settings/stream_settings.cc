#include "settings/stream_settings.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <stdexcept>

#include "contenders/budget.h"
#include "contenders/contenders.h"
#include "core/closest.h"
#include "core/number_in.h"
#include "kalstream/settings.h"
#include "lines/json_record.h"
#include "lines/json_text.h"
#include "schema/value.h"

namespace kalstream {
namespace {

using Strings = std::vector<std::string>;
using Values = std::span<const Record::Field>;  // of one option; several, if it is a list

std::string json_name(std::string name) {
  std::ranges::replace(name, '-', '_');
  return name;
}

[[noreturn]] void refuse(const StreamOption& option, const std::string& why) {
  throw std::invalid_argument('"' + json_name(option.name) + "\": " + why);
}

// ---- From JSON, one kind of value after the other.

const Value& only(const StreamOption& option, Values values) {
  if (values.size() != 1) refuse(option, "write one value");
  return values.front().value;
}

void read(const StreamOption& option, Values values, bool& to) {
  const Value& value = only(option, values);
  to = value.text == "true";
  if (value.quoted || (!to && value.text != "false")) refuse(option, "write true or false");
}

void read(const StreamOption& option, Values values, double& to) {
  const Value& value = only(option, values);
  const bool is_word = value.text == "true" || value.text == "false";
  if (value.kind != Value::Kind::number || value.quoted || is_word)
    refuse(option, "write a number");
  to = value.number;
  if (!(to >= option.least && to <= option.most))
    refuse(option,
           value.text + " is not from " + json_of(option.least) + " to " + json_of(option.most));
}

void read(const StreamOption& option, Values values, std::uint64_t& to) {
  double v = 0;
  read(option, values, v);
  const std::string& text = values.front().value.text;
  if (v != std::floor(v)) refuse(option, text + " is not a whole number");
  const auto whole = number_in<std::uint64_t>(text);  // which a double may not hold
  if (!whole && v >= 0x1p64) refuse(option, text + " is too large");
  to = whole ? *whole : static_cast<std::uint64_t>(v);  // 1e3
}

// Fields may be named by their number.
std::string text_of(const StreamOption& option, const Value& value) {
  if (!value.quoted && value.text.find_first_not_of("0123456789") != std::string::npos)
    refuse(option, "write text");
  return value.text;
}

void read(const StreamOption& option, Values values, std::string& to) {
  to = text_of(option, only(option, values));
  if (option.choices.empty() || std::ranges::find(option.choices, to) != option.choices.end())
    return;
  std::string all;
  for (const std::string& choice : option.choices) (all += all.empty() ? "" : ", ") += choice;
  refuse(option, '\'' + to + "' is none of " + all);
}

void read(const StreamOption& option, Values values, Strings& to) {
  to.clear();
  for (const Record::Field& field : values) {
    const std::string all = text_of(option, field.value);
    const bool is_list = values.size() > 1 || field.value.only_of_list;
    for (std::size_t at = 0; at <= all.size();) {
      const std::size_t end = is_list ? all.size() : std::min(all.find(',', at), all.size());
      to.push_back(all.substr(at, end - at));
      at = end + 1;
    }
  }
}

// A number, a list of them, or text with commas.
void read(const StreamOption& option, Values values, Coverages& to) {
  std::vector<double> all;
  for (const Record::Field& field : values) {
    const std::string& text = field.value.text;
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t end = std::min(text.find(',', at), text.size());
      const auto number = number_in<double>(text.substr(at, end - at));
      if (!number) refuse(option, "write a number, or a list of numbers");
      if (!(*number >= option.least && *number <= option.most))
        refuse(option, text.substr(at, end - at) + " is not from " + json_of(option.least) +
                           " to " + json_of(option.most));
      all.push_back(*number);
      at = end + 1;
    }
  }
  try {
    to = Coverages(std::move(all));
  } catch (const std::invalid_argument& error) {
    refuse(option, error.what());
  }
}

std::string json_of(const Coverages& coverages) {
  if (coverages.inner.empty()) return kalstream::json_of(coverages.widest);
  std::string to = "[";
  for (const double coverage : coverages.inner) to += kalstream::json_of(coverage) + ',';
  return to + kalstream::json_of(coverages.widest) + ']';
}

const StreamOption& option_named(const std::string& name) {
  Strings names;
  for (const StreamOption& option : stream_options()) {
    names.push_back(json_name(option.name));
    if (names.back() == json_name(name)) return option;
  }
  throw std::invalid_argument("there is no option \"" + name + '"' + did_you_mean(name, names));
}

// The JSON object as a record: a list is several fields, "target.1", "target.2".
Record record_in(std::string_view json) {
  Record record;
  try {
    JsonLines().read(json, record);
  } catch (const DataError&) {
    record.is_row = true;
  }
  if (record.is_row)
    throw std::invalid_argument(R"(options are a JSON object, such as {"learner":"auto"})");
  return record;
}

// How many fields at the beginning are the same option's.
std::size_t length_of_first(Values fields) {
  const std::string& first = fields.front().name;
  if (!first.ends_with(".1")) return 1;
  const std::string list = first.substr(0, first.size() - 1);
  std::size_t count = 1;
  while (count < fields.size() && fields[count].name == list + std::to_string(count + 1)) ++count;
  return count;
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
      throw std::invalid_argument("--set " + assignment +
                                  ": a stream has no end to span; write A..B@SAMPLES");
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
          c.name +
          " has nothing to predict from: the stream has no inputs; give --lags 8, or use auto");
    if (const std::string remark = remark_on(options); !remark.empty()) say(remark);
    if (budget > 0) {
      options.validate();
      const ExpertChoice choice = choose_experts(options, budget);
      std::array<char, 32> us;
      std::snprintf(us.data(), us.size(), choice.us < 99.95 ? "%#.3g" : "%.0f", choice.us);
      say((choice.within ? "" : "cannot keep within the budget: ") + std::string("--experts ") +
          std::to_string(choice.experts) + " of " + std::to_string(choice.most) + ", some " +
          us.data() + " µs per sample");
      std::get<Auto>(options.rule).experts = choice.experts;
    }
    return {options, c.scaled && !takes_raw_data(options.rule)};
  };
}

}  // namespace

Coverages::Coverages(std::vector<double> all) {
  std::ranges::sort(all);
  if (std::ranges::adjacent_find(all) != all.end())
    throw std::invalid_argument("each coverage comes once");
  if (all.size() > ModelOptions::most_inner + 1)
    throw std::invalid_argument("there are at most " +
                                std::to_string(ModelOptions::most_inner + 1) + " coverages");
  if (all.empty()) return;
  widest = all.back();
  all.pop_back();
  inner = std::move(all);
}

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
       "Lines that lack inputs: learn from them, as auto can (other learners refuse them), refuse "
       "them, or hold the last values of these inputs",
       [](S& s) -> P { return &s.missing; },
       0,
       0,
       {"learn", "refuse", "hold"}},
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
      {"interval",
       "Bounds around every prediction that hold this fraction of targets, e.g. 0.9; several, as "
       "0.8,0.95, are told together",
       [](S& s) -> P { return &s.interval; }, 0.01, 0.999},
      {"surprise", "With every target, the probability of a value at least so far off",
       [](S& s) -> P { return &s.surprise; }},
      {"alarm-rate",
       "Mark targets as anomalies: about this fraction of ordinary ones at most, e.g. 1e-4; "
       "implies --surprise",
       [](S& s) -> P { return &s.alarm_rate; }, 1e-12, 0.5},
      {"strangeness",
       "With every target, how far and how long it is beyond the usual: 1 and more is worth an "
       "alarm, whose start and end are told; implies --surprise",
       [](S& s) -> P { return &s.strangeness; }},
      {"alarm-above", "Tell as an alarm when a target is above this number",
       [](S& s) -> P { return &s.alarm_above; }, -1e100, 1e100},
      {"alarm-below", "Tell as an alarm when a target is below this number",
       [](S& s) -> P { return &s.alarm_below; }, -1e100, 1e100},
      {"max-delay", "A sample with an id waits for its target while this many others come",
       [](S& s) -> P { return &s.max_delay; }, 0, ModelOptions::longest_delay},
  };
  return options;
}

std::string to_json(const StreamSettings& settings) {
  StreamSettings here = settings;
  StreamSettings plain;
  std::vector<std::string> names;  // of what is written
  std::vector<JsonField> fields;
  names.reserve(stream_options().size());
  for (const StreamOption& option : stream_options())
    std::visit(
        [&](auto* value) {
          if (*value != *std::get<decltype(value)>(option.in(plain)))
            fields.emplace_back(names.emplace_back(json_name(option.name)), json_of(*value));
        },
        option.in(here));
  return json_object(fields);
}

StreamSettings settings_from_json(std::string_view json) {
  const Record record = record_in(json);
  StreamSettings settings;
  for (Values left = record.fields(); !left.empty();) {
    const Values values = left.first(length_of_first(left));
    left = left.subspan(values.size());
    const Record::Field& first = values.front();
    const StreamOption& option =
        option_named(values.size() > 1 ? first.name.substr(0, first.name.size() - 2) : first.name);
    const bool is_null = first.value.text.empty() && !first.value.quoted && values.size() == 1;
    if (!is_null) std::visit([&](auto* to) { read(option, values, *to); }, option.in(settings));
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
                   .coverage = s.interval.widest,
                   .inner = s.interval.inner,
                   .surprise = s.surprise || s.strangeness || s.alarm_rate > 0,
                   .alarm_rate = s.alarm_rate,
                   .alarms = s.alarms(),
                   .horizon = s.horizon,
                   .max_delay = s.max_delay,
                   .periods = periods_of(s.time)};
  options.missing = missing_inputs_named(s.missing);
  return options;
}

}  // namespace kalstream
