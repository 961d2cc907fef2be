// How soon the watch of a stream (monitor/watch.h) says that errors have grown, and how often it is
// wrong: docs/monitoring.md. Half a minute:
//
//     make experiments && build/release/watch_alarms
#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <vector>

#include "core/rng.h"
#include "monitor/watch.h"
#include "view/table.h"

namespace {

using namespace kalstream;

using Noise = std::function<double(Rng&, double before)>;

double student(Rng& rng, int freedom) {
  double squares = 0;
  for (int i = 0; i < freedom; ++i) squares += std::pow(rng.normal(), 2);
  return rng.normal() / std::sqrt(squares / freedom);
}

/// The sample of the first warning at or after `from`, or `end`; counts those before.
std::size_t first_alarm(const Noise& noise, std::uint64_t seed, double factor, std::size_t from,
                        std::size_t end, std::size_t& before) {
  Rng rng(seed);
  Watch watch({});
  double e = 0;
  for (std::size_t t = 0; t < end; ++t) {
    e = noise(rng, e);
    const double d = t < from ? e : factor * e;
    const double d_hat = 0;
    if (watch.look_at_error({&d_hat, 1}, {&d, 1}).empty()) continue;
    if (t >= from) return t;
    ++before;
  }
  return end;
}

}  // namespace

int main() {
  constexpr std::size_t stationary = 5'000'000;
  constexpr std::size_t change = 6'000;
  constexpr std::size_t patience = 5'000;
  constexpr int streams = 100;
  const std::vector<double> factors = {1.5, 2, 3, 10};
  const std::vector<std::pair<std::string, Noise>> noises = {
      {"normal", [](Rng& rng, double) { return rng.normal(); }},
      {"Student, 3 degrees", [](Rng& rng, double) { return student(rng, 3); }},
      {"Student, 2 degrees", [](Rng& rng, double) { return student(rng, 2); }},
      {"Cauchy", [](Rng& rng, double) { return student(rng, 1); }},
      {"normal, correlation 0.9",
       [](Rng& rng, double before) { return 0.9 * before + std::sqrt(0.19) * rng.normal(); }}};

  std::vector<view::Column> columns = {{"errors", view::Align::left}, {"false, in 5 million"}};
  for (const double factor : factors) columns.push_back({fmt::format("×{}", factor)});
  view::Table table(columns);
  for (std::size_t k = 0; k < noises.size(); ++k) {
    std::size_t wrong = 0;
    first_alarm(noises[k].second, 100 + k, 1, stationary, stationary, wrong);
    std::vector<view::Cell> row = {noises[k].first, fmt::format("{}", wrong)};
    for (const double factor : factors) {
      double sum = 0;
      int found = 0;
      std::size_t early = 0;
      for (int s = 0; s < streams; ++s) {
        const std::size_t t =
            first_alarm(noises[k].second, 1000 * k + s, factor, change, change + patience, early);
        if (t == change + patience) continue;
        sum += static_cast<double>(t - change + 1);
        ++found;
      }
      row.emplace_back(fmt::format("{:.0f} ({} %)", sum / found, found));
    }
    table.add_row(row);
  }
  fmt::print("{}", table.to_markdown());
}
