#include "run_output.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <stdexcept>

#include "comparison_view.h"
#include "io/atomic_file.h"
#include "io/results.h"
#include "kalstream/settings.h"
#include "predictions_chart.h"
#include "result_tables.h"
#include "schema/rules.h"

namespace kalstream::cli {
namespace {

std::string plural(std::size_t n, const char* what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

void print_class_tables(const RunReport& r) {
  fmt::print("{}\nreliability of {}: how often it was right, by how sure it was\n{}",
             class_table(r.outcomes), r.outcomes.front().name,
             reliability_table(*r.outcomes.front().runs.front().classes));
}

void print_tables(const RunArguments& a, const RunReport& r) {
  fmt::print(
      "{}: {} rows{}, {}, {}; {}{}\n", r.data.source, r.steps,
      r.data.keys.empty()
          ? ""
          : fmt::format(" of {}", plural(r.outcomes.front().runs.front().timelines.size(), "key")),
      plural(r.data.n_inputs(), "input"), plural(r.data.n_targets(), "target"),
      plural(r.outcomes.front().seeds.size(), "seed"),
      a.settings.interval > 0 ? fmt::format("; intervals for {:.4g} %", 100 * a.settings.interval)
                              : "");
  const RunResult& first = r.outcomes.front().runs.front();
  if (const std::string time = time_report(a.settings.time, first); !time.empty())
    fmt::print("{}\n", time);
  if (!a.preset.empty()) {
    const auto [experiment, published] = experiment_for(a.preset, r.data);
    fmt::print("preset {}: {} {}\n", a.preset,
               published ? "the published settings of"
                         : "nothing is published for this stream; the settings of",
               to_string(experiment));
  }
  if (first.classes) return print_class_tables(r);
  fmt::print("{}", comparison_table(r.outcomes, {.sustained = a.stop_when_sustained ||
                                                              r.data.name == "addition"}));
  if (r.data.n_targets() > 1) fmt::print("\n{}", target_table(r.data, r.outcomes));
}

// How many rows were told, in each run.
std::string remark_on_anomalies(const RunArguments& a, const std::vector<Outcome>& outcomes) {
  std::string text;
  if (a.settings.alarm_rate > 0)
    for (const Outcome& o : outcomes)
      for (std::size_t s = 0; s < o.seeds.size(); ++s)
        text += fmt::format("{}, seed {}: {} of {} rows are anomalies\n", o.name, o.seeds[s],
                            o.runs[s].anomalies, o.runs[s].steps);
  return text;
}

// What was asked for and has no effect.
std::string remarks_on_options(const RunArguments& a, const Dataset& data,
                               const std::vector<Contender>& contenders) {
  std::vector<std::string> raw;
  for (const Contender& c : contenders)
    if (takes_raw_data(c.options.rule)) raw.push_back(c.name);
  std::string text;
  if ((a.scaling.scale || a.scaling.unscaled) && raw.size() == contenders.size())
    text += fmt::format("{} changes nothing: {} take{} raw data\n",
                        a.scaling.scale ? "--scale" : "--unscaled", fmt::join(raw, ", "),
                        raw.size() == 1 ? "s" : "");
  if (!a.preset.empty() && !raw.empty())
    text += fmt::format(
        "--preset chooses the rows but no settings for {}: nothing is published for {}\n",
        fmt::join(raw, ", "), raw.size() == 1 ? "it" : "them");
  for (const Contender& c : contenders)
    if (const std::string remark = remark_on(options_on(c, data)); !remark.empty())
      text += remark + "\n";
  return text;
}

std::string remarks_on_fields(const Dataset& data) {
  std::string text;
  for (const std::string& remark : kalstream::remarks(data.schema)) text += remark + "\n";
  return text;
}

// The step is in the report; what is unusual is told here.
std::string remarks_on_time(const RunReport& r) {
  constexpr std::size_t most = 5;
  std::string text = r.remark.empty() ? "" : r.remark + "\n";
  std::size_t told = 0;
  for (const std::string& remark : r.outcomes.front().runs.front().remarks) {
    const bool is_step = remark.find("the step between samples is ") != remark.npos;
    if (is_step && remark.find(" now") == remark.npos) continue;  // it is in the report
    if (++told <= most) text += remark + "\n";
  }
  return text;
}

// How many inputs the last values stood in for, in the rows gone through.
std::string remark_on_held(const RunReport& r) {
  const std::vector<std::size_t>& held = r.outcomes.front().runs.front().held;
  const std::size_t n = std::accumulate(held.begin(), held.end(), std::size_t{0});
  if (n == 0) return {};
  const auto first = static_cast<std::size_t>(
      std::find_if(held.begin(), held.end(), [](std::size_t h) { return h > 0; }) - held.begin());
  return fmt::format("{} missing inputs were held at their last values (the first: {})\n", n,
                     place_of_row(r.data, first));
}

// Targets that came on their own, and no row waited for them.
std::string remark_on_labels(const RunReport& r) {
  const std::size_t late = r.outcomes.front().runs.front().late_labels;
  if (late == 0) return {};
  return fmt::format(
      "{} targets came for no row that waited for them: unknown, there already, or later than "
      "--max-delay\n",
      late);
}

}  // namespace

void check_outputs(const RunArguments& a) {
  namespace fs = std::filesystem;
  std::vector<std::string> used;
  if (a.data != "-") used.push_back(a.data);  // there it is what comes in, else what goes out
  std::error_code ignored;
  for (const std::string& out :
       {a.json, a.csv, a.plot, a.plot_predictions, a.plot_weights, a.save}) {
    if (out.empty()) continue;
    for (const std::string& other : used)
      if (out == other || fs::equivalent(out, other, ignored))
        throw std::invalid_argument(
            fmt::format("'{}' is named twice and would be overwritten; choose another name", out));
    used.push_back(out);
    if (out != "-") require_writable(out);
  }
}

void write_results(const RunArguments& a, const RunReport& r) {
  // What was computed is shown first: a full disk must not take the table with it.
  if (!a.quiet && a.json != "-" && a.csv != "-") print_tables(a, r);
  const auto write = [](const std::string& to, const auto& text) {
    if (to.empty()) return;
    to == "-" ? fmt::print("{}", text()) : write_file(to, text());
  };
  write(a.json,
        [&] { return results_json(r.data, r.contenders, a.settings.interval, r.outcomes); });
  write(a.csv, [&] { return predictions_csv(r.data, r.outcomes); });
  write(a.plot, [&] { return learning_curves(r.data, r.outcomes); });
  write(a.plot_predictions,
        [&] { return predictions_chart(r.data, r.outcomes, a.plot_rows, a.settings.interval); });
  write(a.plot_weights, [&] { return weight_curves(r.data, r.contenders, r.outcomes); });
  std::fflush(stdout);
  if (!a.quiet)
    fmt::print(stderr, "{}{}{}{}{}{}{}", remarks_on_fields(r.data), remarks_on_time(r),
               remark_on_held(r), remark_on_labels(r), remark_on_anomalies(a, r.outcomes),
               remarks(r.data, r.outcomes, a.settings.horizon),
               remarks_on_options(a, r.data, r.contenders));
}

}  // namespace kalstream::cli
