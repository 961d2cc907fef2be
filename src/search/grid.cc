#include "search/grid.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <ranges>
#include <stdexcept>

#include "contenders/contenders.h"
#include "core/number_in.h"
#include "eval/statistics.h"

namespace kalstream {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (const auto part : std::views::split(text, separator))
    parts.emplace_back(part.begin(), part.end());
  return parts;
}

constexpr std::size_t most_values = 10'000;

// FIRST, FIRST + STEP, … up to LAST, which rounding must not lose.
std::vector<std::string> range(const std::string& text, const std::vector<std::string>& parts) {
  const auto first = number_in<double>(parts[0]);
  const auto step = number_in<double>(parts[1]);
  const auto last = number_in<double>(parts[2]);
  if (!first || !step || !last || !(*step > 0) || *last < *first ||
      (*last - *first) / *step > static_cast<double>(most_values))
    throw std::invalid_argument(fmt::format(
        "--grid {}: a range is FIRST:STEP:LAST with a positive STEP, e.g. 0.001:0.001:0.015",
        text));
  std::vector<std::string> values;
  const auto count = static_cast<std::size_t>(std::floor((*last - *first) / *step + 1e-6));
  for (std::size_t k = 0; k <= count; ++k)
    values.push_back(fmt::format("{:.12g}", *first + *step * static_cast<double>(k)));
  return values;
}

std::size_t combinations(const std::vector<GridAxis>& axes) {
  std::size_t count = 1;
  for (const GridAxis& axis : axes) {
    if (axis.values.size() > 1'000'000 / count)
      throw std::invalid_argument(
          "the grid has more than 1,000,000 combinations; try fewer values");
    count *= axis.values.size();
  }
  return count;
}

// The values of combination `index`; the last axis changes fastest.
std::vector<std::string> combination(const std::vector<GridAxis>& axes, std::size_t index) {
  std::vector<std::string> values(axes.size());
  for (std::size_t a = axes.size(); a-- > 0;) {
    values[a] = axes[a].values[index % axes[a].values.size()];
    index /= axes[a].values.size();
  }
  return values;
}

// "1e-4..1e-8@2541" is read as "1e-4..1e-8" in a picture.
std::string short_value(const std::string& value) { return value.substr(0, value.find('@')); }

}  // namespace

GridAxis parse_axis(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    throw std::invalid_argument(
        fmt::format("--grid {}: write key=v1,v2,... or key=FIRST:STEP:LAST", text));
  GridAxis axis{text.substr(0, equals), {}};
  const std::string values = text.substr(equals + 1);
  if (const auto parts = split(values, ':'); parts.size() == 3)
    axis.values = range(text, parts);
  else
    axis.values = split(values, ',');
  for (const std::string& v : axis.values)
    if (v.empty() || std::count(axis.values.begin(), axis.values.end(), v) > 1)
      throw std::invalid_argument(fmt::format("--grid {}: a value is empty or there twice", text));
  return axis;
}

std::vector<GridAxis> published_grid(const std::string& learner) {
  if (learner == "sgd") return {parse_axis("learning_rate=0.1:0.05:0.5")};
  if (learner == "rmsprop" || learner == "adam")
    return {parse_axis("learning_rate=0.001:0.001:0.015")};
  if (learner == "dekf" || learner == "ekf")
    return {parse_axis("initial_covariance=25,50,100"),
            parse_axis("measurement_noise=10..3@2541,30..3@2541,50..3@2541,100..3@2541"),
            parse_axis("process_noise=1e-2..1e-6@2541,1e-3..1e-6@2541,1e-4..1e-6@2541")};
  if (learner == "alg2")
    return {parse_axis("initial_covariance=0.5,10,50,100"),
            parse_axis("process_noise=1e-3..1e-8@2541,1e-4..1e-8@2541,1e-6..1e-8@2541,"
                       "1e-7..1e-8@2541")};
  return {};
}

std::vector<Job> jobs_of(const GridSearch& search) {
  std::vector<Job> jobs;
  for (std::size_t p = 0; p < combinations(search.axes); ++p) {
    std::vector<Contender> one{search.contender};
    const auto values = combination(search.axes, p);
    for (std::size_t a = 0; a < values.size(); ++a)
      apply_setting(one, search.axes[a].key + "=" + values[a], search.evaluation.steps);
    for (const std::uint64_t seed : search.seeds)
      jobs.push_back({.name = fmt::format("{}-{}-{}", search.name, p + 1, seed),
                      .data = search.data,
                      .contender = one.front(),
                      .seed = seed,
                      .evaluation = search.evaluation,
                      .keep_errors = false});
  }
  return jobs;
}

const char* measure_of(const GridSearch& search) { return search.of_classes ? "log loss" : "NSE"; }

std::vector<GridPoint> surface_of(const GridSearch& search, std::span<const RunResult> runs) {
  std::vector<GridPoint> surface;
  const std::size_t seeds = search.seeds.size();
  for (std::size_t p = 0; p < combinations(search.axes); ++p) {
    std::vector<double> errors;
    for (const RunResult& run : runs.subspan(p * seeds, seeds))
      errors.push_back(search.of_classes ? run.log_loss : run.nse);
    surface.push_back({combination(search.axes, p), mean(errors), std::sqrt(variance(errors))});
  }
  return surface;
}

std::size_t best_point(const std::vector<GridPoint>& surface) {
  if (surface.empty()) throw std::invalid_argument("an empty grid has no best point");
  const auto key = [](const GridPoint& p) { return std::isnan(p.mean) ? INFINITY : p.mean; };
  const auto best = std::min_element(surface.begin(), surface.end(),
                                     [&](const auto& a, const auto& b) { return key(a) < key(b); });
  return static_cast<std::size_t>(best - surface.begin());
}

std::optional<view::Panel> surface_line(const GridSearch& search,
                                        const std::vector<GridPoint>& surface) {
  if (search.axes.size() != 1 || surface.size() < 2) return {};
  view::Series line{.name = search.contender.name};
  for (const GridPoint& p : surface) {
    const auto x = number_in<double>(p.values.front());
    if (!x) return {};
    line.x.push_back(*x);
    line.y.push_back(p.mean);
    line.low.push_back(p.mean - p.deviation);
    line.high.push_back(p.mean + p.deviation);
  }
  return view::Panel{.x_label = search.axes.front().key,
                     .y_label = fmt::format("mean {} ± deviation over seeds", measure_of(search)),
                     .series = {std::move(line)}};
}

std::string surface_picture(const GridSearch& search, const std::vector<GridPoint>& surface,
                            const std::string& title) {
  const auto best = best_point(surface);
  std::vector<std::string> at;
  for (std::size_t a = 0; a < search.axes.size(); ++a)
    at.push_back(fmt::format("{} {}", search.axes[a].key, short_value(surface[best].values[a])));
  const view::ChartStyle style{
      .title = title,
      .subtitle = fmt::format("mean {} over {} seeds; lowest {:.4f} at {}", measure_of(search),
                              search.seeds.size(), surface[best].mean, fmt::join(at, ", "))};
  const GridAxis& last = search.axes.back();

  if (const auto line = surface_line(search, surface)) return view::line_chart({*line}, style);

  view::HeatMap map{.x_label = last.key, .value_label = fmt::format("mean {}", measure_of(search))};
  for (const std::string& v : last.values) map.x_ticks.push_back(short_value(v));
  std::vector<std::string> keys;
  for (std::size_t a = 0; a + 1 < search.axes.size(); ++a) keys.push_back(search.axes[a].key);
  map.y_label = fmt::format("{}", fmt::join(keys, ", "));
  for (std::size_t p = 0; p < surface.size(); ++p) {
    map.values.push_back(std::isfinite(surface[p].mean) ? surface[p].mean : NAN);
    if (p % last.values.size() != 0) continue;
    std::vector<std::string> row;
    for (std::size_t a = 0; a + 1 < search.axes.size(); ++a)
      row.push_back(short_value(surface[p].values[a]));
    map.y_ticks.push_back(fmt::format("{}", fmt::join(row, ", ")));
  }
  return view::heat_map(map, style);
}

}  // namespace kalstream
