// Coverage and sharpness of prediction intervals: the tables of docs/intervals.md.
//
//     make experiments && build/release/intervals [SEEDS] [DATA] [--all]
//     build/release/intervals --late
//     build/release/intervals --times
//
// SEEDS runs for each stream and learner (3), DATA the folder of the real streams
// (../shared/data; left out where there are none). Prints Markdown: what sums up all runs, with
// --all also a row for each stream, learner and nominal coverage; or what targets do that come late
// or never; or what it costs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <filesystem>
#include <map>

#include "contenders/contenders.h"
#include "core/rng.h"
#include "data/source.h"
#include "eval/parallel.h"
#include "io/results.h"
#include "kalstream/interval.h"
#include "kalstream/settings.h"
#include "view/table.h"

namespace {

using namespace kalstream;

constexpr std::size_t rows = 5010;    // the first ten have no bounds
constexpr std::size_t period = 1000;  // rows between drifts
constexpr std::size_t after = 500;    // rows after one
constexpr std::size_t soon = 50;
constexpr std::size_t lead = 10;  // of forecasts
const std::vector<std::string> learners{"auto", "ekf", "alg2", "naive"};

struct Level {
  double coverage;
  double z;  // the normal distribution has as much within ±z
};
constexpr std::array levels{Level{0.5, 0.67449}, Level{0.8, 1.28155}, Level{0.9, 1.64485},
                            Level{0.95, 1.95996}};
constexpr std::size_t ninety = 2;  // among them

// ---- Streams.

// Noise on Friedman's function, in its units: the targets' deviation is about 0.2.
double heavy(Rng& rng) {  // Student's t with two degrees of freedom
  const double chi2 = -2 * std::log(1 - rng.uniform());
  return 0.05 * rng.normal() / std::sqrt(chi2 / 2);
}
double skewed(Rng& rng) { return -0.05 * std::log(1 - rng.uniform()); }
double switching(std::size_t t, Rng& rng) {
  return (t / period % 2 == 0 ? 0.03 : 0.15) * rng.normal();
}

Dataset series(const std::string& name, std::uint64_t seed, std::size_t length = rows) {
  Dataset data{.name = name, .target_names = {"d"}};
  Rng rng(seed);
  double level = 0;
  double variance = 1;
  double shock = 0;
  for (std::size_t t = 0; t < length; ++t) {
    if (name == "garch") {  // an autoregression whose shocks have a variance of their own
      variance = 0.02 + 0.1 * shock * shock + 0.88 * variance;
      shock = std::sqrt(variance) * rng.normal();
      level = 0.9 * level + shock;
      data.targets.push_back(level);
    } else if (name == "steps") {
      if (rng.below(100) == 0) level = rng.normal();
      data.targets.push_back(level + 0.05 * rng.normal());
    } else if (name == "season") {
      data.targets.push_back(10 * std::sin(0.26 * static_cast<double>(t)) + rng.normal());
    } else {  // a random walk
      data.targets.push_back(level += rng.normal());
    }
  }
  return data;
}

Dataset noisy(const std::string& name, std::uint64_t seed) {
  Dataset data = load(fmt::format("gen:friedman?noise=0&seed={}", seed), rows);
  data.name = name;
  Rng rng(seed);
  for (std::size_t t = 0; t < rows; ++t)
    data.targets[t] += name == "heavy"    ? heavy(rng)
                       : name == "skewed" ? skewed(rng)
                                          : switching(t, rng);
  return data;
}

const std::vector<std::string> real{"kin8nm", "elevators", "puma8nm", "puma32fm"};
const std::vector<std::string> generated{"friedman?",
                                         "friedman?drift=abrupt&",
                                         "friedman?drift=gradual&",
                                         "kin-like?noise=h&",
                                         "puma-like?noise=h&",
                                         "mackey-glass?",
                                         "mackey-glass?noise=0.1&",
                                         "lorenz?",
                                         "lorenz?noise=0.1&",
                                         "narma10?",
                                         "sine?",
                                         "addition?"};
const std::vector<std::string> noises{"heavy", "skewed", "switching"};
const std::vector<std::string> without_inputs{"walk", "steps", "garch"};

bool is_among(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string file_of(const std::string& name, const std::string& folder) {
  return std::filesystem::path(folder) / (name + ".csv");
}

Dataset stream(const std::string& name, std::uint64_t seed, const std::string& folder) {
  if (is_among(real, name)) return load(file_of(name, folder), rows);
  if (is_among(noises, name)) return noisy(name, seed);
  if (is_among(without_inputs, name)) return series(name, seed);
  return load(fmt::format("gen:{}seed={}", name, seed), rows);
}

std::string title(std::string name) {
  while (name.ends_with('?') || name.ends_with('&')) name.pop_back();
  return name;
}

bool drifts(const std::string& name) {
  return name == "switching" || name.find("abrupt") != std::string::npos;
}

std::unique_ptr<Learner> learner_for(const std::string& name, const Dataset& data,
                                     std::uint64_t seed) {
  auto contenders = make_contenders({name}, "", data);
  contenders[0].scaled = true;
  // Without inputs a network needs something to look at.
  if (data.n_inputs() == 0 && !sees_past_targets(contenders[0].options.rule))
    set_lags(contenders, 4);
  return make_contender(contenders[0], data, seed);
}

// ---- What is measured.

/// Sums over samples; the score is Winkler's: the width, and 2/(1 − coverage) times what a target
/// is outside by. The quantiles of the true distribution would have the least.
struct Sums {
  double n = 0, within = 0, width = 0, score = 0;
  double n_after = 0, within_after = 0;
  double n_soon = 0, within_soon = 0;

  /// `since` is the number of rows since the last drift.
  void add(double low, double high, double d, double nominal, std::size_t since = after) {
    const bool in = low <= d && d <= high;
    n += 1;
    within += in ? 1 : 0;
    width += high - low;
    score += high - low + 2 / (1 - nominal) * (std::max(low - d, 0.0) + std::max(d - high, 0.0));
    n_after += since < after ? 1 : 0;
    within_after += since < after && in ? 1 : 0;
    n_soon += since < soon ? 1 : 0;
    within_soon += since < soon && in ? 1 : 0;
  }
  double coverage() const { return within / n; }
  double coverage_after() const { return within_after / n_after; }
  double coverage_soon() const { return within_soon / n_soon; }
};

struct Run {
  std::array<Sums, levels.size()> ours, without_spread, constant, normal;
  Sums ahead;  // forecasts, at 90 %
};

// The alternatives: ± the quantile of all |e| so far, ± z times a running root mean square.
class Alternatives {
 public:
  double constant(double coverage) const {
    const auto n = static_cast<double>(sorted_.size());
    const auto rank = static_cast<std::size_t>(std::ceil(coverage * (n + 1)));
    return sorted_[std::min(rank, sorted_.size()) - 1];
  }
  double normal(double z) const { return z * std::sqrt(mean_square_); }
  void learn(double e) {
    sorted_.insert(std::upper_bound(sorted_.begin(), sorted_.end(), std::abs(e)), std::abs(e));
    mean_square_ +=
        std::max(1 / static_cast<double>(sorted_.size()), 0.01) * (e * e - mean_square_);
  }

 private:
  std::vector<double> sorted_;
  double mean_square_ = 0;
};

Run run(const std::string& name, Learner& learner, const Dataset& data) {
  Run result;
  std::vector<Intervals> with_spread;
  std::vector<Intervals> without;
  for (const Level& level : levels) {
    with_spread.emplace_back(1, level.coverage);
    without.emplace_back(1, level.coverage);
  }
  Alternatives others;
  Intervals ahead(1, levels[ninety].coverage);
  std::vector<Interval> outstanding(lead);  // made so many rows ago, the place is the row's
  std::vector<double> d_ahead(lead);
  const bool forecasts = data.n_inputs() == 0;

  for (std::size_t t = 0; t < data.rows(); ++t) {
    const auto d = data.d(t);
    const std::vector<double> d_hat{learner.predict(data.x(t))[0]};
    const auto spread = learner.spread();
    const std::size_t since = drifts(name) && t >= period ? t % period : after;
    for (std::size_t l = 0; l < levels.size(); ++l) {
      const double c = levels[l].coverage;
      const auto bounds = with_spread[l].around(d_hat, spread);
      const auto plain = without[l].around(d_hat);
      if (bounds[0].low <= bounds[0].high) {
        result.ours[l].add(bounds[0].low, bounds[0].high, d[0], c, since);
        result.without_spread[l].add(plain[0].low, plain[0].high, d[0], c, since);
        const double a = others.constant(c);
        result.constant[l].add(d_hat[0] - a, d_hat[0] + a, d[0], c, since);
        const double b = others.normal(levels[l].z);
        result.normal[l].add(d_hat[0] - b, d_hat[0] + b, d[0], c, since);
      }
      with_spread[l].learn(bounds, d);
      without[l].learn(plain, d);
    }
    others.learn(d[0] - d_hat[0]);
    learner.learn(data.x(t), d);
    if (!forecasts) continue;
    Interval& slot = outstanding[t % lead];
    if (t >= lead) {
      if (slot.low <= slot.high)
        result.ahead.add(slot.low, slot.high, d[0], levels[ninety].coverage);
      ahead.learn({&slot, 1}, d);
    }
    learner.forecast(lead, {}, d_ahead);
    slot = ahead.around(std::span(d_ahead).last(1))[0];
  }
  return result;
}

/// All seeds of one stream and learner.
struct Cell {
  std::vector<Run> runs;

  double mean(auto of) const {
    double sum = 0;
    for (const Run& r : runs) sum += of(r);
    return sum / static_cast<double>(runs.size());
  }
  double coverage(std::size_t l) const {
    return mean([&](const Run& r) { return r.ours[l].coverage(); });
  }
  /// The one of the seed that is furthest off.
  double worst(std::size_t l) const {
    double found = levels[l].coverage;
    for (const Run& r : runs)
      if (const double c = r.ours[l].coverage();
          std::abs(c - levels[l].coverage) > std::abs(found - levels[l].coverage))
        found = c;
    return found;
  }
  double relative(std::size_t l, std::array<Sums, levels.size()> Run::*other) const {
    return mean([&](const Run& r) { return r.ours[l].score / (r.*other)[l].score; });
  }
};

using Results = std::map<std::pair<std::string, std::string>, Cell>;  // by stream and learner

void print_all(const std::vector<std::string>& streams, const Results& results) {
  view::Table table({{"stream", view::Align::left},
                     {"learner", view::Align::left},
                     {"nominal"},
                     {"coverage"},
                     {"worst seed"},
                     {"width"},
                     {"score"},
                     {"of constant"},
                     {"of ±z·RMSE"},
                     {"of no spread"},
                     {"constant's coverage"},
                     {"±z·RMSE's"}});
  for (const auto& s : streams)
    for (const auto& learner : learners)
      for (std::size_t l = 0; l < levels.size(); ++l) {
        const Cell& cell = results.at({s, learner});
        const auto per_sample = [&](double Sums::*sum) {
          return view::format_number(
              cell.mean([&](const Run& r) { return r.ours[l].*sum / r.ours[l].n; }), 3);
        };
        table.add_row(
            {title(s), learner, fmt::format("{}", levels[l].coverage),
             fmt::format("{:.3f}", cell.coverage(l)), fmt::format("{:.3f}", cell.worst(l)),
             per_sample(&Sums::width), per_sample(&Sums::score),
             fmt::format("{:.3f}", cell.relative(l, &Run::constant)),
             fmt::format("{:.3f}", cell.relative(l, &Run::normal)),
             fmt::format("{:.3f}", cell.relative(l, &Run::without_spread)),
             fmt::format("{:.3f}",
                         cell.mean([&](const Run& r) { return r.constant[l].coverage(); })),
             fmt::format("{:.3f}",
                         cell.mean([&](const Run& r) { return r.normal[l].coverage(); }))});
      }
  fmt::print("{}\n", table.to_markdown());
}

// At 90 %: coverage, mean width, and the score in those of the alternatives.
void print_streams(const std::vector<std::string>& streams, const Results& results) {
  std::vector<view::Column> columns{{"stream", view::Align::left}};
  for (const auto& learner : learners) columns.push_back({learner});
  view::Table table(columns);
  for (const auto& s : streams) {
    std::vector<view::Cell> row{title(s)};
    for (const auto& learner : learners) {
      const Cell& cell = results.at({s, learner});
      row.emplace_back(fmt::format(
          "{:.3f} · {} · {:.2f} · {:.2f}", cell.coverage(ninety),
          view::format_number(
              cell.mean([](const Run& r) { return r.ours[ninety].width / r.ours[ninety].n; }), 2),
          cell.relative(ninety, &Run::constant), cell.relative(ninety, &Run::normal)));
    }
    table.add_row(row);
  }
  fmt::print("{}\n", table.to_markdown());
}

// The furthest any run of any stream was off, and geometric means of scores.
void print_levels(const std::vector<std::string>& streams, const Results& results) {
  view::Table table({{"nominal"},
                     {"least"},
                     {"most"},
                     {"constant: least"},
                     {"most"},
                     {"±z·RMSE: least"},
                     {"most"},
                     {"score, of constant"},
                     {"of ±z·RMSE"},
                     {"of no spread"}});
  for (std::size_t l = 0; l < levels.size(); ++l) {
    std::vector<view::Cell> row{fmt::format("{}", levels[l].coverage)};
    for (const auto of : {&Run::ours, &Run::constant, &Run::normal}) {
      double least = 1;
      double most = 0;
      for (const auto& [name, cell] : results)
        for (const Run& r : cell.runs) {
          least = std::min(least, (r.*of)[l].coverage());
          most = std::max(most, (r.*of)[l].coverage());
        }
      row.emplace_back(fmt::format("{:.3f}", least));
      row.emplace_back(fmt::format("{:.3f}", most));
    }
    for (const auto of : {&Run::constant, &Run::normal, &Run::without_spread}) {
      double log_ratio = 0;
      for (const auto& s : streams)
        for (const auto& learner : learners)
          log_ratio += std::log(results.at({s, learner}).relative(l, of));
      row.emplace_back(
          fmt::format("{:.3f}", std::exp(log_ratio / static_cast<double>(results.size()))));
    }
    table.add_row(row);
  }
  fmt::print("{}\n", table.to_markdown());
}

void print_after_drift(const std::vector<std::string>& streams, const Results& results) {
  view::Table table({{"stream", view::Align::left},
                     {"learner", view::Align::left},
                     {"nominal"},
                     {"coverage"},
                     {"constant"},
                     {"±z·RMSE"},
                     {"first 50"},
                     {"constant"},
                     {"±z·RMSE"}});
  for (const auto& s : streams)
    for (const auto& learner : learners)
      for (std::size_t l = 0; drifts(s) && l < levels.size(); ++l) {
        const Cell& cell = results.at({s, learner});
        std::vector<view::Cell> row{title(s), learner, fmt::format("{}", levels[l].coverage)};
        for (const auto coverage : {&Sums::coverage_after, &Sums::coverage_soon})
          for (const auto of : {&Run::ours, &Run::constant, &Run::normal})
            row.emplace_back(fmt::format(
                "{:.3f}", cell.mean([&](const Run& r) { return ((r.*of)[l].*coverage)(); })));
        table.add_row(row);
      }
  fmt::print("{}\n", table.to_markdown());
}

void print_forecasts(const Results& results) {
  std::vector<view::Column> columns{{"stream", view::Align::left}};
  for (const auto& learner : learners) columns.push_back({learner});
  view::Table table(columns);
  for (const auto& s : without_inputs) {
    std::vector<view::Cell> row{s};
    for (const auto& learner : learners)
      row.emplace_back(fmt::format("{:.3f}", results.at({s, learner}).mean([](const Run& r) {
        return r.ahead.coverage();
      })));
    table.add_row(row);
  }
  fmt::print("{}\n", table.to_markdown());
}

// ---- Targets that come late, or never, at 90 %.

struct Lateness {
  std::size_t lead;   // samples between a forecast and what it is of
  std::size_t delay;  // samples until the target of that one is known
  double lost;        // part of the targets that never are
};

constexpr std::array latenesses{
    Lateness{1, 0, 0},      Lateness{1, 0, 0.2},     Lateness{1, 300, 0}, Lateness{1, 1000, 0},
    Lateness{1, 1000, 0.2}, Lateness{100, 0, 0},     Lateness{500, 0, 0}, Lateness{1000, 0, 0},
    Lateness{1000, 0, 0.2}, Lateness{500, 500, 0.02}};

struct LateRun {
  Sums sums;
  double furthest = 0;  // of a bound from all targets learnt, in ranges of these
};

// The learner itself gets every target at once: what it predicts is the same in every column.
LateRun run_late(const std::string& name, const Lateness& how) {
  constexpr std::size_t length = 40'000;
  const Dataset data =
      name == "friedman" ? load("gen:friedman?seed=1", length) : series(name, 1, length);
  const bool forecasts = data.n_inputs() == 0;
  const auto learner = learner_for(forecasts ? "ar" : "rls", data, 1);
  Intervals intervals(1, levels[ninety].coverage);
  LateRun result;
  Rng rng(2);
  std::deque<std::pair<Interval, bool>> outstanding;  // and whether its target is lost
  std::vector<double> d_ahead(how.lead);
  double least = 0;
  double most = 0;
  std::size_t learnt = 0;
  const std::size_t ahead = how.lead - 1;  // samples between the next one and the forecast's
  for (std::size_t t = 0; t + ahead < length; ++t) {
    const double d_hat = how.lead == 1 ? learner->predict(data.x(t))[0] : d_ahead.back();
    const Interval b = intervals.around({&d_hat, 1})[0];
    if (b.low <= b.high) {
      result.sums.add(b.low, b.high, data.d(t + ahead)[0], levels[ninety].coverage);
      const double outside = std::max(least - b.low, b.high - most);
      result.furthest = std::max(result.furthest, outside / (most - least));
    }
    outstanding.emplace_back(b, rng.uniform() < how.lost);
    if (t >= ahead + how.delay) {
      const auto& [bounds, is_lost] = outstanding.front();
      const auto d = data.d(t - how.delay);
      if (!is_lost) {
        intervals.learn({&bounds, 1}, d);
        least = learnt == 0 ? d[0] : std::min(least, d[0]);
        most = learnt == 0 ? d[0] : std::max(most, d[0]);
        ++learnt;
      }
      outstanding.pop_front();
    }
    learner->learn(data.x(t), data.d(t));
    if (how.lead > 1) learner->forecast(how.lead, {}, d_ahead);
  }
  return result;
}

void print_late() {
  const std::vector<std::string> streams{"friedman", "steps", "garch", "season", "walk"};
  std::vector<view::Column> columns{{"lead"}, {"delay"}, {"lost"}};
  for (const auto& name : streams) columns.push_back({name});
  view::Table table(columns);
  std::vector<LateRun> runs(streams.size() * latenesses.size());
  parallel_for(runs.size(), 0, [&](std::size_t k) {
    const std::string& name = streams[k % streams.size()];
    const Lateness& how = latenesses[k / streams.size()];
    if (name != "friedman" || how.lead == 1) runs[k] = run_late(name, how);
  });
  for (std::size_t i = 0; i < latenesses.size(); ++i) {
    const Lateness& how = latenesses[i];
    std::vector<view::Cell> row{fmt::format("{}", how.lead), fmt::format("{}", how.delay),
                                fmt::format("{:g} %", 100 * how.lost)};
    for (std::size_t k = 0; k < streams.size(); ++k) {
      const LateRun& r = runs[i * streams.size() + k];
      row.emplace_back(r.sums.n == 0 ? "–"
                                     : fmt::format("{:.3f} · {} · {:.1f}", r.sums.coverage(),
                                                   view::format_number(r.sums.width / r.sums.n, 2),
                                                   r.furthest));
    }
    table.add_row(row);
  }
  fmt::print("{}", table.to_markdown());
}

// ---- What it costs: µs of processor time per sample, of the best of some runs.

double time_of(const std::string& name, const Dataset& data, bool asks, bool bounds) {
  double best = 1e9;
  for (int again = 0; again < 5; ++again) {
    const auto learner = learner_for(name, data, 1);
    Intervals intervals(1, 0.9);
    const std::clock_t begin = std::clock();
    for (std::size_t t = 0; t < data.rows(); ++t) {
      const double d_hat = learner->predict(data.x(t))[0];
      if (bounds) {
        const auto made = intervals.around({&d_hat, 1}, learner->spread());
        intervals.learn(made, data.d(t));
      } else if (asks) {
        learner->spread();
      }
      learner->learn(data.x(t), data.d(t));
    }
    best = std::min(best, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  return best / static_cast<double>(data.rows()) * 1e6;
}

void print_times() {
  const Dataset data = load("gen:kin-like", 3000);
  view::Table table({{"learner", view::Align::left},
                     {"predict and learn, µs"},
                     {"and spread"},
                     {"and intervals"}});
  for (const std::string name : {"auto", "ekf", "dekf", "alg2", "naive"})
    table.add_row({name, fmt::format("{:.2f}", time_of(name, data, false, false)),
                   fmt::format("{:.2f}", time_of(name, data, true, false)),
                   fmt::format("{:.2f}", time_of(name, data, true, true))});
  fmt::print("{}", table.to_markdown());
}

}  // namespace

int main(int argc, char** argv) try {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (std::erase(arguments, "--times") > 0) {
    print_times();
    return 0;
  }
  if (std::erase(arguments, "--late") > 0) {
    print_late();
    return 0;
  }
  const bool all = std::erase(arguments, "--all") > 0;
  const std::size_t seeds = arguments.empty() ? 3 : std::stoul(arguments[0]);
  const std::string folder = arguments.size() > 1 ? arguments[1] : "../shared/data";

  std::vector<std::string> streams;
  for (const auto& name : real)
    if (std::filesystem::exists(file_of(name, folder))) streams.push_back(name);
  for (const auto* more : {&generated, &noises, &without_inputs})
    streams.insert(streams.end(), more->begin(), more->end());
  Results results;
  for (const auto& s : streams)
    for (const auto& learner : learners) results[{s, learner}].runs.resize(seeds);
  parallel_for(streams.size() * seeds, 0, [&](std::size_t k) {
    const std::string& s = streams[k / seeds];
    const std::uint64_t seed = k % seeds + 1;
    const Dataset data = stream(s, seed, folder);
    for (const auto& name : learners) {
      const auto learner = learner_for(name, data, seed);
      results.at({s, name}).runs[seed - 1] = run(s, *learner, data);
    }
  });

  fmt::print("{} seeds, {}\n\n", seeds, machine_name());
  if (all) print_all(streams, results);
  print_levels(streams, results);
  print_streams(streams, results);
  print_after_drift(streams, results);
  print_forecasts(results);
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "intervals: {}\n", error.what());
  return 1;
}
