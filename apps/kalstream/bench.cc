// kalstream bench: how long a sample takes, for any size, on this machine.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "contenders/budget.h"
#include "contenders/contenders.h"
#include "core/memory_limit.h"
#include "eval/comparison.h"
#include "eval/statistics.h"
#include "io/atomic_file.h"
#include "io/results.h"
#include "kalstream/settings.h"
#include "kalstream/version.h"
#include "kernels/dispatch.h"
#include "learner/footprint.h"
#include "view/progress.h"
#include "view/table.h"

namespace kalstream::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct BenchArguments {
  std::size_t hidden = 16;
  std::size_t inputs = 8;
  std::size_t outputs = 1;
  std::size_t window = 10;
  std::vector<std::string> learners;
  double seconds = 15;
  std::string json;
};

/// One learner among those measured.
struct Entry {
  std::string name;
  Footprint footprint;
  std::unique_ptr<Learner> learner;  ///< null: does not fit into memory
  std::vector<double> us = {};       ///< per sample, one number per round
  double update_share = 0;
  double bytes = footprint.bytes;  ///< as measured in the end, if it was made
};

std::vector<Entry> make_entries(const BenchArguments& a, const Dataset& data) {
  std::vector<std::string> names = a.learners;
  if (names.empty())
    for (const LearnerName& l : learner_names()) names.emplace_back(l.name);
  std::vector<Entry> entries;
  for (Contender& c : make_contenders(names, "", data)) {
    c.options.network.hidden = a.hidden;
    c.options.network.window = a.window;
    const LearnerOptions options = options_on(c, data);
    options.validate();
    Entry e{c.name, footprint(options), nullptr};
    if (e.footprint.bytes < 0.5 * static_cast<double>(memory_allowed()))
      e.learner = make_contender(c, data, 1);
    entries.push_back(std::move(e));
  }
  return entries;
}

/// Microseconds per sample of a learner over at least `samples` of them and `slice` seconds, going
/// round and round the data from row `next` on.
double measure(Entry& e, const Dataset& data, double slice, std::size_t samples,
               std::size_t& next) {
  std::size_t done = 0;
  std::size_t applied = 0;
  std::size_t possible = 0;
  const auto start = Clock::now();
  double seconds = 0;
  do {
    const std::size_t t = next;
    next = t + 1 < data.rows() ? t + 1 : 0;
    e.learner->predict(data.x(t));
    const StepReport report = e.learner->learn(data.x(t), data.d(t));
    applied += report.applied;
    possible += report.experts;
    ++done;
    seconds = seconds_since(start);
  } while (seconds < slice || (done < samples && seconds < 40 * slice));
  e.update_share =
      static_cast<double>(applied) / static_cast<double>(std::max<std::size_t>(possible, 1));
  return seconds * 1e6 / static_cast<double>(done);
}

/// One learner after the other, again and again: what disturbs the machine for a while disturbs all
/// of them.
void measure_in_turns(std::vector<Entry>& entries, const Dataset& data, double wanted,
                      view::Progress& progress) {
  constexpr std::size_t warm_samples = 10;
  const auto count = std::ranges::count_if(entries, [](const Entry& e) { return !!e.learner; });
  const double slice = std::min(0.05, wanted / 10 / static_cast<double>(count));
  const auto start = Clock::now();
  std::size_t next = 0;
  for (std::size_t round = 0; round < 3 || seconds_since(start) < wanted; ++round) {
    for (Entry& e : entries) {
      // The first round fills the window, and is not counted; a learner that needs seconds for a
      // sample gets no more than its share of the time.
      if (!e.learner || (round > 1 && seconds_since(start) > wanted)) continue;
      const double us = measure(e, data, slice, round == 0 ? 2 * warm_samples : 1, next);
      if (round > 0) e.us.push_back(us);
    }
    progress.advance(static_cast<std::size_t>(1000 * seconds_since(start)) - progress.done());
    if (round >= 1 && seconds_since(start) > wanted) break;
  }
}

std::string bytes_text(double bytes) {
  static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t u = 0;
  for (; bytes >= 1024 && u + 1 < std::size(units); ++u) bytes /= 1024;
  return fmt::format("{:.3g} {}", bytes, units[u]);
}

std::string to_json(const BenchArguments& a, const std::vector<Entry>& entries) {
  using Json = nlohmann::ordered_json;
  Json root{{"version", version()},      {"date", today()},
            {"machine", machine_name()}, {"target", kernels::active().name},
            {"hidden", a.hidden},        {"inputs", a.inputs},
            {"outputs", a.outputs},      {"window", a.window},
            {"learners", Json::array()}};
  for (const Entry& e : entries) {
    const bool measured = !e.us.empty();
    root["learners"].push_back({{"learner", e.name},
                                {"weights", e.footprint.weights},
                                {"networks", e.footprint.networks},
                                {"bytes", e.bytes},
                                {"us_per_sample", measured ? Json(median(e.us)) : Json(nullptr)},
                                {"us_p05", measured ? Json(quantile(e.us, 0.05)) : Json(nullptr)},
                                {"us_p95", measured ? Json(quantile(e.us, 0.95)) : Json(nullptr)},
                                {"rounds", e.us.size()},
                                {"update_fraction", e.update_share}});
  }
  return root.dump(2) + "\n";
}

void print_table(const BenchArguments& a, const std::vector<Entry>& entries) {
  fmt::print("kalstream {}, {} kernels, one core of {}, {}\n", version(), kernels::active().name,
             machine_name(), today());
  fmt::print("{} units, {}, {}, window {}\n", a.hidden, view::plural(a.inputs, "input"),
             view::plural(a.outputs, "output"), a.window);
  view::Table table(view::columns(
      {"learner"}, {"weights", "memory", "µs/sample", "5–95 %", "samples/s", "updates"}));
  for (const Entry& e : entries) {
    const std::string weights = view::format_count(static_cast<double>(e.footprint.weights));
    if (e.us.empty()) {
      table.add_row({e.name, weights, bytes_text(e.bytes), "does not fit", "", "", ""});
      continue;
    }
    const double us = median(e.us);
    table.add_row({e.name, weights, bytes_text(e.bytes), view::format_number(us, 3),
                   fmt::format("{} – {}", view::format_number(quantile(e.us, 0.05), 3),
                               view::format_number(quantile(e.us, 0.95), 3)),
                   view::format_count(1e6 / us), fmt::format("{:.0f} %", 100 * e.update_share)});
  }
  fmt::print("{}", table.to_text(view::is_terminal(stdout)));
}

void bench(const BenchArguments& a) {
  if (!a.json.empty() && a.json != "-") require_writable(a.json);
  const Dataset data = made_up_stream(a.inputs, a.outputs, 2000);
  auto entries = make_entries(a, data);
  {
    view::Progress progress("bench", static_cast<std::size_t>(1000 * a.seconds),
                            view::is_terminal(stderr));
    measure_in_turns(entries, data, a.seconds, progress);
  }
  for (Entry& e : entries) {
    const std::size_t before = heap_in_use();
    if (!e.learner || before == 0) continue;
    const auto copy = e.learner->clone();  // it shows what it takes
    e.bytes = static_cast<double>(heap_in_use() - before);
  }
  if (a.json != "-") print_table(a, entries);
  write_or_print(a.json, [&] { return to_json(a, entries); });
}

}  // namespace

void add_bench(CLI::App& app) {
  auto a = std::make_shared<BenchArguments>();
  CLI::App* cmd =
      app.add_subcommand("bench", "Measure the time per sample for any size of network");
  cmd->add_option("--hidden", a->hidden, "LSTM units")
      ->check(whole_number(1, 1e5))
      ->capture_default_str();
  cmd->add_option("--inputs", a->inputs, "Numbers per sample; 0: a series by itself")
      ->check(whole_number(0, 1e5))
      ->capture_default_str();
  cmd->add_option("--outputs", a->outputs, "Targets per sample")
      ->check(whole_number(1, 1e3))
      ->capture_default_str();
  cmd->add_option("--window", a->window, "Samples to back-propagate through")
      ->check(whole_number(1, 1e4))
      ->capture_default_str();
  cmd->add_option("--learner", a->learners, "Which (default: all)")->delimiter(',');
  cmd->add_option("--seconds", a->seconds, "Time to take")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  cmd->add_option("--json", a->json, "Write the numbers as JSON; - for standard output");
  cmd->footer(
      "Learners have their default settings and are measured in turns, one core each; the median "
      "of\n"
      "the rounds is shown. The environment variable KALSTREAM_TARGET chooses the kernels:\n"
      "avx512, avx2, portable or reference.\n\n"
      "  kalstream bench --hidden 32 --inputs 20 --outputs 2\n");
  cmd->callback([a] { bench(*a); });
}

}  // namespace kalstream::cli
