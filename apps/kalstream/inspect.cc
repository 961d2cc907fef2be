// kalstream inspect: what is in a file, what a learner is made of.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "auto/experts.h"
#include "checks.h"
#include "commands.h"
#include "contenders/contenders.h"
#include "data/source.h"
#include "engine/checkpoint.h"
#include "eval/statistics.h"
#include "io/atomic_file.h"
#include "kalstream/settings.h"
#include "learner/footprint.h"
#include "schema/rules.h"
#include "settings/schema_json.h"
#include "stores/folder_store.h"
#include "stream_options.h"
#include "stream_summary.h"
#include "view/progress.h"
#include "view/table.h"

namespace kalstream::cli {
namespace {

using view::format_number;
using view::plural;

struct InspectArguments {
  std::string data;
  StreamSettings settings;
  std::vector<std::string> columns;
  bool json = false;
  std::vector<std::string> learners;
  std::string preset;
  std::size_t hidden = 0;
  std::vector<std::string> set;
};

struct ColumnFacts {
  std::size_t missing = 0;
  double mean = 0, deviation = 0, low = 0, high = 0;
  double autocorrelation = 0;  // lag one
};

ColumnFacts facts_of(std::span<const double> table, std::size_t columns, std::size_t column) {
  std::vector<double> v;
  for (std::size_t n = column; n < table.size(); n += columns) v.push_back(table[n]);
  ColumnFacts f{.mean = mean(v),
                .deviation = std::sqrt(variance(v)),
                .low = quantile(v, 0),
                .high = quantile(v, 1)};
  std::vector<double> products;
  for (std::size_t t = 0; t < v.size(); ++t) {
    if (std::isnan(v[t])) ++f.missing;
    if (t > 0) products.push_back((v[t] - f.mean) * (v[t - 1] - f.mean));
  }
  f.autocorrelation = mean(products) / (f.deviation * f.deviation);
  return f;
}

void print(const view::Table& table) { fmt::print("{}", table.to_text(view::is_terminal(stdout))); }

void describe(const Dataset& data) {
  fmt::print("{}: {} rows, {} inputs, {}\n", data.source, data.rows(), data.n_inputs(),
             plural(data.n_targets(), "target"));
  view::Table table(view::columns(
      {"column", "role"}, {"missing", "mean", "deviation", "lowest", "highest", "lag-1 corr."}));
  double widest = 0;
  double far = 0;
  const auto add_row = [&](const std::string& name, const char* role, const ColumnFacts& f) {
    const bool varies = f.deviation > 0;
    table.add_row({name, role, f.missing == 0 ? "" : std::to_string(f.missing),
                   format_number(f.mean), format_number(f.deviation), format_number(f.low),
                   format_number(f.high), varies ? fmt::format("{:.2f}", f.autocorrelation) : ""});
  };
  for (std::size_t k = 0; k < data.n_inputs(); ++k) {
    const ColumnFacts f = facts_of(data.inputs, data.n_inputs(), k);
    far = std::max({far, std::abs(f.mean), f.deviation});
    add_row(data.input_names[k], "input", f);
  }
  for (std::size_t k = 0; k < data.n_targets(); ++k) {
    const ColumnFacts f = facts_of(data.targets, data.n_targets(), k);
    widest = std::max({widest, -f.low, f.high});
    add_row(data.target_names[k], "target", f);
  }
  print(table);
  if (!data.time_name.empty())
    fmt::print("time: {} ({}), from {} to {}\n", data.time_name, to_string(data.schema.time_form),
               data.times.front(), data.times.back());
  if (!data.schema.has_classes()) {
    const RunResult run =
        evaluate(engine_for({.name = "mean", .options = {.rule = Mean{}}}, 1), data, {});
    if (const std::string time = time_report({}, run); !time.empty()) fmt::print("{}\n", time);
  }
  for (const std::string& remark : remarks(data.schema)) fmt::print("{}\n", remark);
  if (data.n_inputs() == 0)
    fmt::print("A time series: fine for auto, ar and naive; others need --lags 8.\n");
  if (widest > 1)
    fmt::print(
        "The target leaves [-1,1]: learners see it scaled. With --unscaled, or a preset without "
        "--scale, it is fine for auto and baselines; others need --set output=identity.\n");
  else if (far > 10)
    fmt::print(
        "Some inputs are far from unit size: learners see them scaled. With --unscaled, or a "
        "preset without --scale, they are fine for auto and baselines only.\n");
}

std::string kind_of(const ExpertPlan& plan) {
  if (std::holds_alternative<Naive>(plan.rule)) return "the last target";
  if (std::holds_alternative<Mean>(plan.rule)) return "the mean so far";
  if (plan.network.hidden == 0) return "linear";
  // In the order of Cell.
  constexpr std::array cells{"lstm", "recurrent", "feed-forward", "gru"};
  return cells[static_cast<std::size_t>(plan.network.cell)];
}

// What auto blends on a stream of this size.
void describe_experts(const Auto& rule, const NetworkOptions& network) {
  view::Table table(
      view::columns({"expert", "kind"}, {"units", "inputs", "past targets", "replays", "weights"}));
  const auto count = [](std::size_t n) { return n == 0 ? "" : fmt::format("{}", n); };
  for (const ExpertPlan& plan : plan_experts(rule, network))
    table.add_row({plan.name, kind_of(plan), count(plan.network.hidden),
                   count(plan.sees_inputs ? network.inputs : 0), count(plan.lags),
                   count(plan.replays),
                   count(footprint({.network = plan.network, .rule = plan.rule}).weights)});
  print(table);
}

void describe(const Contender& c) {
  const NetworkOptions& network = c.options.network;
  const Footprint f = footprint(c.options);
  fmt::print("\n{}: {}, ", c.name, plural(network.inputs, "input"));
  if (c.options.lags > 0) fmt::print("{}, ", plural(c.options.lags, "past target"));
  if (!takes_raw_data(c.options.rule)) fmt::print("{}, ", plural(network.hidden, "unit"));
  fmt::print("{}; ", plural(network.outputs, "output"));
  const auto* blend = std::get_if<Auto>(&c.options.rule);
  if (f.networks > 1)
    fmt::print("{} of {}", plural(f.networks, "network"), blend == nullptr ? "" : "up to ");
  fmt::print("{}, {}, {:.3g} MiB\n", plural(f.weights, "weight"),
             plural(f.covariance_blocks, "covariance block"), f.bytes / (1 << 20));
  // Those of classes are named with their weights.
  if (blend != nullptr && c.options.loss.kind != Loss::Kind::cross_entropy)
    describe_experts(*blend, network);
  if (const std::string remark = remark_on(c.options); !remark.empty()) fmt::print("{}\n", remark);
  view::Table table(
      {{"key for --set", Align::left}, {"value", Align::left}, {"meaning", Align::left}});
  for (const Setting& s : settings_of(c.options))
    table.add_row({c.name + "." + s.key, s.value, s.meaning});
  print(table);
}

void describe(const std::string& name, const Learner& learner) {
  const Recipe& recipe = *learner.recipe();
  describe({name, recipe.options, recipe.scaled});
  if (const auto periods = learner.periods(); !periods.empty())
    fmt::print("\nperiods: {}\n", period_text({periods.begin(), periods.end()}));
  const auto experts = expert_names(recipe.options);
  if (experts.empty()) return;
  const auto weights = learner.state().weights;
  view::Table table(view::columns({"expert"}, {"weight"}));
  for (std::size_t j = 0; j < experts.size(); ++j)
    table.add_row({experts[j], fmt::format("{:.4f}", weights[j])});
  fmt::print("\n");
  print(table);
}

void describe(const StreamModel& model) {
  const Scores& scores = model.scores();
  fmt::print("{} samples, {} waiting for a target; ", model.samples(), model.pending());
  if (scores.classes() != nullptr) {
    fmt::print("{}\nclasses: {}\n", class_summary(scores.classes()->errors()),
               fmt::join(model.classes(), ", "));
  } else {
    const Errors errors = scores.errors().all();
    fmt::print("RMSE {}, MAE {}, NSE {}\n", format_number(errors.rmse), format_number(errors.mae),
               format_number(errors.nse));
  }
  if (model.clock().has_started()) fmt::print("step: {}\n", model.clock().text());
  if (scores.intervals() > 0)
    fmt::print("intervals held {:.1f} % of {} targets\n", 100 * scores.coverage(),
               scores.intervals());
}

// The folder of a stream with keys holds the stream, and a model for each.
std::vector<std::byte> kept_in(const std::string& place, const std::string& key) {
  if (!std::filesystem::is_directory(place)) return read_bytes(place);
  const auto bytes =
      read_folder(place, key.empty() ? std::nullopt : std::optional<std::string>(key));
  if (!bytes)
    throw SnapshotError(key.empty() ? "there is no checkpoint yet"
                                    : fmt::format("there is no model of key '{}'", key));
  return *bytes;
}

void print_indented(const std::string& json) {
  fmt::print("{}\n", nlohmann::ordered_json::parse(json).dump(2));
}

// The same for programs.
std::string kept_json(const std::string& place, const std::string& key) {
  const auto bytes = kept_in(place, key);
  if (is_checkpoint(bytes) && checkpoint_of(bytes).model.empty())
    return schema_json(summary_of(checkpoint_of(bytes)).schema, nullptr);
  const Learnt learnt = learnt_of(bytes);
  return schema_json(learnt.schema, learnt.learner.get());
}

// What is in a snapshot or a checkpoint.
void describe_file(const std::string& file, const std::string& key) {
  try {
    const auto bytes = kept_in(file, key);
    const double size = static_cast<double>(bytes.size()) / 1024;
    const auto title = [&](const Learner& learner) {
      const Recipe& recipe = *learner.recipe();
      const std::string name = name_of(recipe.options.rule);
      fmt::print("{}: {}{} after {} samples, {:.1f} KiB\n", file, name,
                 recipe.scaled ? ", scaled," : "", learner.samples(), size);
      return name;
    };
    if (!is_checkpoint(bytes)) {
      const auto learner = load(bytes);
      return describe(title(*learner), *learner);
    }
    const Checkpoint checkpoint = checkpoint_of(bytes);
    if (checkpoint.model.empty()) {
      fmt::print("{}: a checkpoint of a stream, without models, {:.1f} KiB\n", file, size);
    } else {
      const auto model = model_of(checkpoint);
      const Learner& learner = model->learner();
      const std::string name = title(learner);
      if (!checkpoint.key.empty()) fmt::print("the model of key {}\n", checkpoint.key);
      describe(*model);
      describe(name, learner);
    }
    if (!checkpoint.stream.empty()) {
      const Counts counts = summary_of(checkpoint).counts;
      fmt::print(
          "\nstream: {} records, {} refused; {} samples, {} targets learnt, {} missing, {} too "
          "late; {} updates gated, {} rejected; {} inputs held; by their times {} never came, {} "
          "were too late, {} repeated\n",
          counts.records, counts.refused, counts.samples, counts.learnt, counts.missing,
          counts.late, counts.gated, counts.rejected, counts.held, counts.passed, counts.untimely,
          counts.repeated);
    }
  } catch (const SnapshotError& error) {
    throw SnapshotError(fmt::format("{}: {}", file, error.what()));
  }
}

// Whether a file is a snapshot or a checkpoint, or is called one: both begin with a byte that no
// text and no matrix does.
bool is_kept_state(const std::string& file) {
  constexpr int first_byte = 0x89;
  return std::filesystem::is_directory(file) || std::filesystem::path(file).extension() == ".kal" ||
         std::ifstream(file, std::ios::binary).get() == first_byte;
}

void inspect(InspectArguments& a) {
  if (a.data.empty() && a.learners.empty())
    throw std::invalid_argument("inspect what? Name a file, --learner or both");
  if (is_kept_state(a.data)) {
    if (!a.settings.fields.targets.empty() || !a.settings.fields.inputs.empty() ||
        !a.learners.empty() || !a.preset.empty() || a.hidden > 0 || !a.set.empty())
      throw std::invalid_argument(fmt::format(
          "{} holds a learner with its settings: leave out --target, --inputs, --learner, "
          "--preset, --hidden and --set",
          a.data));
    if (a.json) {
      print_indented(kept_json(a.data, a.settings.fields.key));
      return;
    }
    return describe_file(a.data, a.settings.fields.key);
  }
  Dataset data;
  if (!a.data.empty())
    data = load(a.data, is_generated(a.data) ? 5000 : 0, read_options(a.settings, a.columns));
  if (a.json) {
    if (a.data.empty())
      throw std::invalid_argument("--json prints the fields of data; name a file");
    print_indented(schema_json(data));
    return;
  }
  auto contenders = make_contenders(a.learners, a.preset, data);
  for (Contender& c : contenders) {
    if (a.hidden > 0) c.options.network.hidden = a.hidden;
    if (data.n_targets() > 0) {
      c.options.network.inputs = data.n_inputs();
      c.options.network.outputs = data.n_targets();
    }
  }
  const std::size_t run_length = std::max<std::size_t>(data.rows(), 1);
  for (const std::string& assignment : a.set) apply_setting(contenders, assignment, run_length);
  for (const Contender& c : contenders) c.options.validate();
  if (data.n_targets() > 0) describe(data);
  for (const Contender& c : contenders) describe(c);
}

}  // namespace

void add_inspect(CLI::App& app) {
  auto a = std::make_shared<InspectArguments>();
  CLI::App* cmd =
      app.add_subcommand("inspect", "Show what a stream holds, and every setting of a learner");
  cmd->add_option("FILE,--data", a->data,
                  "Data, as for run, or what run --save or stream --checkpoint has kept");
  add_field_settings(*cmd, a->settings);
  add_column_names(*cmd, a->columns);
  cmd->add_flag("--json", a->json,
                "Print how the data is understood: format, fields and their roles");
  cmd->add_option("--learner", a->learners, "Learners, as for run")
      ->delimiter(',')
      ->allow_extra_args(false);
  cmd->add_option("--preset", a->preset, "As for run");
  cmd->add_option("--hidden", a->hidden, "Units, as for run")->check(whole_number(1, 1e6));
  cmd->add_option("--set", a->set, "As for run");
  cmd->footer(
      "  kalstream inspect my.csv\n"
      "  kalstream inspect my.csv --json\n"
      "  kalstream inspect my.csv --learner auto\n"
      "  kalstream inspect --learner alg2,ekf --preset authors:kin8nm\n"
      "  kalstream inspect learnt.kal\n"
      "  kalstream inspect models --key device7\n");
  cmd->callback([a] { inspect(*a); });
}

}  // namespace kalstream::cli
