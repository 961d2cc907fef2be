#include "run_classes.h"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "data/reader.h"
#include "data/record_file.h"
#include "engine/engine.h"
#include "eval/contenders.h"
#include "io/atomic_file.h"
#include "schema/rules.h"
#include "session/answers.h"
#include "stream/stream_settings.h"
#include "stream_summary.h"
#include "view/table.h"

namespace kalstream::cli {
namespace {

struct ClassRun {
  std::string learner;
  std::uint64_t seed;
  ClassScores scores;
  Counts counts;
  double us;  // per sample
};

StreamSettings settings_of(const RunArguments& a, const std::string& learner, std::uint64_t seed) {
  StreamSettings s;
  s.fields = a.fields;
  s.missing = a.missing;
  s.learner = learner;
  s.loss = a.loss;
  s.lags = a.lags;
  s.hidden = a.hidden;
  s.window = a.window;
  s.experts = a.experts;
  s.budget_us = a.budget_us;
  s.seed = seed;
  s.set = a.set;
  s.unscaled = a.scaling.unscaled;
  s.surprise = a.surprise;
  s.alarm_rate = a.alarm_rate;
  s.time = a.time;
  return s;
}

// One learner goes through the file; its answers are appended to `csv` if there is one.
ClassRun run_one(const RunArguments& a, const std::string& learner, std::uint64_t seed,
                 std::string* csv) {
  const ReadOptions read{.fields = a.fields, .columns = a.columns, .like = {}};
  const auto file = open_records(a.data, read);
  StreamSettings settings = settings_of(a, learner, seed);
  if (settings.fields.targets.empty()) settings.fields.targets = file->targets();
  const auto say = [&](const std::string& text) {
    if (!a.quiet) fmt::print(stderr, "{}\n", text);
  };
  Engine engine(engine_options(settings, say), nullptr);
  std::optional<AnswerWriter> writer;
  Record record;
  const auto start = std::chrono::steady_clock::now();
  while ((a.steps == 0 || engine.counts().samples < a.steps) && file->next(record)) {
    const Answer* answer = engine.take({.record = record});
    if (answer == nullptr || csv == nullptr || !engine.settled()) continue;
    if (!writer) {
      writer.emplace(shape_of(engine, /*json=*/false));
      if (csv->empty()) writer->write_header(*csv);
    }
    if (answer->status != Answer::Status::refused) writer->write(*answer, *csv);
  }
  engine.learn();
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  for (const std::string& text : engine.take_remarks()) say(text);
  if (engine.scores() == nullptr || engine.scores()->classes() == nullptr)
    throw std::invalid_argument(fmt::format("{}: there is no class to learn", a.data));
  return {learner, seed, *engine.scores()->classes(), engine.counts(),
          1e6 * seconds / static_cast<double>(std::max<std::uint64_t>(engine.counts().samples, 1))};
}

void print_tables(const RunArguments& a, const std::vector<ClassRun>& runs) {
  const Counts& counts = runs.front().counts;
  fmt::print("{}: {} rows, classes{}\n", a.data, counts.samples,
             counts.refused > 0 ? fmt::format("; {} rows refused", counts.refused) : "");
  const auto number = [](double v) { return view::format_number(v, 4); };
  view::Table table({{"learner", view::Align::left},
                     {"seed"},
                     {"log loss"},
                     {"accuracy"},
                     {"kappa"},
                     {"AUC"},
                     {"F1"},
                     {"calibration error"},
                     {"µs per row"}});
  for (const ClassRun& r : runs) {
    const ClassErrors e = r.scores.errors();
    table.add_row({r.learner, std::to_string(r.seed), number(e.log_loss), number(e.accuracy),
                   number(e.kappa), number(e.auc), number(e.f1), number(e.calibration),
                   view::format_number(r.us, 3)});
  }
  fmt::print("{}", table.to_text());
  fmt::print("\nreliability of {}: how often it was right, by how sure it was\n",
             runs.front().learner);
  view::Table bins({{"confidence"}, {"rows"}, {"mean confidence"}, {"right"}});
  const auto reliability = runs.front().scores.reliability();
  for (std::size_t k = 0; k < reliability.size(); ++k)
    if (reliability[k].count > 0)
      bins.add_row({fmt::format("{:.1f}..{:.1f}", 0.1 * static_cast<double>(k),
                                0.1 * static_cast<double>(k + 1)),
                    std::to_string(reliability[k].count), number(reliability[k].confidence),
                    number(reliability[k].accuracy)});
  fmt::print("{}", bins.to_text());
}

std::string results_json(const RunArguments& a, const std::vector<ClassRun>& runs) {
  nlohmann::ordered_json json{{"data", a.data}, {"runs", nlohmann::ordered_json::array()}};
  for (const ClassRun& r : runs) {
    nlohmann::ordered_json one{{"learner", r.learner},
                               {"seed", r.seed},
                               {"samples", r.counts.samples},
                               {"refused", r.counts.refused},
                               {"us_per_sample", r.us},
                               {"scores", class_json(r.scores.errors())},
                               {"reliability", nlohmann::ordered_json::array()}};
    for (const ReliabilityBin& bin : r.scores.reliability())
      one["reliability"].push_back(
          {{"count", bin.count}, {"confidence", bin.confidence}, {"accuracy", bin.accuracy}});
    json["runs"].push_back(std::move(one));
  }
  return json.dump(2) + "\n";
}

void refuse_what_is_for_numbers(const RunArguments& a) {
  const std::vector<std::pair<bool, const char*>> options = {
      {!a.preset.empty(), "--preset"},
      {a.horizon > 0, "--horizon"},
      {a.interval > 0, "--interval"},
      {a.stop_when_sustained, "--stop-when-sustained"},
      {!a.plot.empty(), "--plot"},
      {!a.plot_predictions.empty(), "--plot-predictions"},
      {!a.plot_weights.empty(), "--plot-weights"},
      {!a.save.empty(), "--save"},
      {!a.start.empty(), "--start"},
      {a.warm_up.has_value(), "--warm-up"}};
  for (const auto& [given, name] : options)
    if (given)
      throw std::invalid_argument(fmt::format(
          "{} is for targets that are numbers, and the target of {} is a class; leave it away",
          name, a.data));
}

}  // namespace

void run_classes(const RunArguments& a) {
  refuse_what_is_for_numbers(a);
  std::vector<ClassRun> runs;
  std::string csv;
  for (const std::string& learner : a.learners)
    for (const std::uint64_t seed : parse_seeds(a.seeds))
      runs.push_back(run_one(a, learner, seed, a.csv.empty() || !runs.empty() ? nullptr : &csv));
  if (!a.quiet && a.json != "-" && a.csv != "-") print_tables(a, runs);
  const auto write = [](const std::string& to, const std::string& text) {
    if (to.empty()) return;
    to == "-" ? fmt::print("{}", text) : write_file(to, text);
  };
  if (!a.json.empty()) write(a.json, results_json(a, runs));
  write(a.csv, csv);
}

}  // namespace kalstream::cli
