// Cost against the number of units, beside the theory: a figure and a table of docs/performance.md.
//
//     build/release/kalstream_scaling OUT.svg [ROUNDS]
//
// 8 inputs and the constant, window 10, one output, one core; every rule with the paper's blocks,
// one per node. Sizes and rules are measured in turns, and the median over rounds is shown. Prints
// Markdown.
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <span>

#include "core/layout.h"
#include "core/rng.h"
#include "eval/statistics.h"
#include "io/atomic_file.h"
#include "io/results.h"
#include "kalstream/learner.h"
#include "kalstream/version.h"
#include "kernels/dispatch.h"
#include "learner/footprint.h"
#include "view/chart.h"
#include "view/table.h"

namespace {

using namespace kalstream;
using Clock = std::chrono::steady_clock;

struct Subject {
  std::string name;
  Rule rule;
  std::vector<std::size_t> units;
  std::string theory;
};

/// Gates that always open: what a step costs when everything is learnt from.
Algorithm2 eight_experts() {
  Algorithm2 rule;
  rule.expert.partition = Partition::node;
  rule.error_bounds.assign(8, 1e-9);
  return rule;
}

std::vector<Subject> subjects() {
  Iekf iekf;
  iekf.partition = Partition::node;
  Dekf dekf;
  dekf.partition = Partition::node;
  return {
      {"Adam", Adam{}, {8, 16, 32, 64, 128}, "τ n_θ"},
      {"DEKF, node", dekf, {8, 16, 32, 64, 128}, "n_s (n_s + n_x)²"},
      {"IEKF, node", iekf, {8, 16, 32, 64, 128}, "n_s (n_s + n_x)²"},
      {"Algorithm 2, 8 of 8 updating", eight_experts(), {8, 16, 32, 64, 128}, "8 n_s (n_s + n_x)²"},
      {"EKF", Ekf{}, {8, 16, 32, 64}, "n_θ²"}};
}

/// One rule at one size.
struct Point {
  std::size_t units;
  double operations;  ///< what theory says grows with the cost: numbers touched per step
  double bytes;
  std::unique_ptr<Learner> learner;
  std::vector<double> us = {};
};

Point make_point(const Subject& s, std::size_t units) {
  LearnerOptions options;
  options.network.inputs = 8;
  options.network.hidden = units;
  options.rule = s.rule;
  const Footprint f = footprint(options);
  const auto n_theta = static_cast<double>(f.weights);
  const auto n_s = static_cast<double>(units);
  const double window = static_cast<double>(options.network.window);
  double operations = window * n_theta;
  if (std::holds_alternative<Ekf>(s.rule))
    operations = n_theta * n_theta;
  else if (!std::holds_alternative<Adam>(s.rule))
    operations = n_s * std::pow(n_s + 9, 2);
  return {units, operations, f.bytes, make_learner(options)};
}

class Stream {
 public:
  Stream() : inputs_(8 * length), targets_(length) {
    Rng rng(7);
    for (double& v : inputs_) v = rng.normal();
    for (std::size_t t = 0; t < length; ++t)
      targets_[t] = 0.5 * std::tanh(inputs_[8 * t] * inputs_[8 * t + 1] + 0.3 * rng.normal());
  }

  // Microseconds per step over at least `seconds` and three steps.
  double measure(Learner& learner, double seconds) {
    const auto start = Clock::now();
    double elapsed = 0;
    int steps = 0;
    do {
      const std::size_t t = next_++ % length;
      const auto x = std::span(inputs_).subspan(8 * t, 8);
      learner.predict(x);
      learner.learn(x, std::span(targets_).subspan(t, 1));
      ++steps;
      elapsed = std::chrono::duration<double>(Clock::now() - start).count();
    } while (elapsed < seconds || steps < 3);
    return elapsed * 1e6 / steps;
  }

 private:
  static constexpr std::size_t length = 4096;
  std::vector<double> inputs_, targets_;
  std::size_t next_ = 0;
};

/// Slope of the least-squares line through (log x, log y).
double exponent(const std::vector<double>& x, const std::vector<double>& y) {
  std::vector<double> log_x;
  std::vector<double> log_y;
  for (std::size_t k = 0; k < x.size(); ++k) {
    log_x.push_back(std::log(x[k]));
    log_y.push_back(std::log(y[k]));
  }
  const double mean_x = mean(log_x);
  const double mean_y = mean(log_y);
  double xy = 0;
  double xx = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    xy += (log_x[k] - mean_x) * (log_y[k] - mean_y);
    xx += (log_x[k] - mean_x) * (log_x[k] - mean_x);
  }
  return xy / xx;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2) {
    fmt::print(stderr, "usage: kalstream_scaling OUT.svg [ROUNDS]\n");
    return 2;
  }
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 9;
  require_writable(argv[1]);
  const auto all = subjects();
  std::vector<std::vector<Point>> points;
  for (const Subject& s : all) {
    auto& row = points.emplace_back();
    for (const std::size_t units : s.units) row.push_back(make_point(s, units));
  }
  Stream stream;
  for (int round = 0; round <= rounds; ++round)  // the first one fills windows and caches
    for (auto& row : points)
      for (Point& p : row) {
        const double us = stream.measure(*p.learner, round == 0 ? 0.01 : 0.03);
        if (round > 0) p.us.push_back(us);
      }

  view::Table table({{"rule", view::Align::left},
                     {"8"},
                     {"16"},
                     {"32"},
                     {"64"},
                     {"128"},
                     {"exponent"},
                     {"in theory"},
                     {"cost", view::Align::left}});
  view::Table memory({{"rule", view::Align::left}, {"8"}, {"16"}, {"32"}, {"64"}, {"128"}});
  view::Panel panel{.x_label = "units",
                    .y_label = "µs per sample",
                    .x_scale = view::Scale::log,
                    .y_scale = view::Scale::log};
  for (std::size_t s = 0; s < all.size(); ++s) {
    std::vector<double> units;
    std::vector<double> us;
    std::vector<double> operations;
    std::vector<view::Cell> cells{all[s].name};
    std::vector<view::Cell> sizes{all[s].name};
    for (const Point& p : points[s]) {
      units.push_back(static_cast<double>(p.units));
      us.push_back(median(p.us));
      operations.push_back(p.operations);
      cells.emplace_back(view::format_number(us.back(), 3));
      sizes.emplace_back(fmt::format("{:.3g} MiB", p.bytes / (1 << 20)));
    }
    while (cells.size() < 6) cells.emplace_back("–");
    cells.emplace_back(fmt::format("{:.2f}", exponent(units, us)));
    cells.emplace_back(fmt::format("{:.2f}", exponent(units, operations)));
    cells.emplace_back(all[s].theory);
    table.add_row(std::move(cells));
    memory.add_row(std::move(sizes));
    panel.series.push_back({.name = all[s].name, .x = units, .y = us});
  }
  fmt::print(
      "µs per sample, kalstream {}, {} kernels, one core of {}, {}, median of {} rounds.\n\n{}\n",
      version(), kernels::target_name(), machine_name(), today(), rounds, table.to_markdown());
  fmt::print("Memory of a learner:\n\n{}", memory.to_markdown());
  write_file(argv[1],
             view::line_chart({panel}, {.title = "Cost against size",
                                        .subtitle = fmt::format(
                                            "8 inputs, window 10, one core of {}, {} kernels",
                                            machine_name(), kernels::target_name())}));
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "kalstream_scaling: {}\n", error.what());
  return 1;
}
