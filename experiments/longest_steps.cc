// The longest steps of a learner: a table of docs/auto.md.
//
//     make experiments && build/release/longest_steps [LEARNER] [STREAM] [ROWS]
//
// A step is predict and learn; its time is the processor's. The learner passes the same rows three
// times, from the start each time, and of each row the shortest time counts, so that what else the
// machine did at that moment does not.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "contenders/contenders.h"
#include "data/source.h"
#include "kalstream/learner.h"

namespace {

using namespace kalstream;

constexpr int passes = 3;
constexpr std::size_t most_shown = 8;

double processor_us() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return 1e6 * static_cast<double>(t.tv_sec) + 1e-3 * static_cast<double>(t.tv_nsec);
}

std::vector<double> times_of(const std::string& name, const Dataset& data) {
  std::vector<double> us(data.rows(), std::numeric_limits<double>::infinity());
  for (int pass = 0; pass < passes; ++pass) {
    LearnerOptions options = make_contenders({name}, "", data).front().options;
    options.network.inputs = data.n_inputs();
    options.network.outputs = data.n_targets();
    const auto learner =
        takes_raw_data(options.rule) ? make_learner(options) : make_scaled_learner(options);
    for (std::size_t t = 0; t < data.rows(); ++t) {
      const double start = processor_us();
      learner->predict(data.x(t));
      learner->learn(data.x(t), data.d(t));
      us[t] = std::min(us[t], processor_us() - start);
    }
  }
  return us;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "auto";
  const std::string stream = argc > 2 ? argv[2] : "gen:kin-like";
  const std::size_t rows = argc > 3 ? std::stoul(argv[3]) : 20'000;
  const std::vector<double> us = times_of(name, load(stream, rows));
  std::vector<std::size_t> order(us.size());
  for (std::size_t t = 0; t < order.size(); ++t) order[t] = t;
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return us[a] > us[b]; });
  double sum = 0;
  for (const double v : us) sum += v;
  fmt::print("{} on {}, {} rows: {:.1f} µs on average; the longest steps:\n", name, stream,
             us.size(), sum / static_cast<double>(us.size()));
  for (std::size_t k = 0; k < std::min(most_shown, order.size()); ++k)
    fmt::print("  row {:>6}: {:>9.1f} µs\n", order[k] + 1, us[order[k]]);
}
