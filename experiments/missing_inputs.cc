// What inputs that are missing cost: `auto` on tables of which a fifth of the inputs are left out
// at random, as it takes them; with their last values; and with the means of those so far.
//
//     make experiments && build/release/missing_inputs --data DIR [--seeds N] [--share S]
//
// DIR has the tables. NSE after the first 200 rows of 3,000 at most, mean over the seeds, which
// choose what is missing; the last line is the geometric mean.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "contenders/contenders.h"
#include "core/rng.h"
#include "data/source.h"
#include "eval/parallel.h"
#include "kalstream/learner.h"

namespace {

using namespace kalstream;
namespace fs = std::filesystem;

enum class Way { complete, as_they_are, hold, mean };
constexpr std::array ways = {Way::complete, Way::as_they_are, Way::hold, Way::mean};
constexpr std::array names = {"complete", "as they are", "hold", "mean"};

constexpr std::size_t most_rows = 3000;
constexpr std::size_t first = 200;  // row that counts

// Leaves inputs out, and fills the gaps.
class Gaps {
 public:
  Gaps(Way way, std::size_t inputs, double share, std::uint64_t seed)
      : way_(way), share_(share), rng_(seed), last_(inputs), sum_(inputs), count_(inputs) {}

  std::vector<double> in(std::span<const double> x) {
    std::vector<double> seen(x.begin(), x.end());
    if (way_ == Way::complete) return seen;
    for (std::size_t k = 0; k < seen.size(); ++k) {
      if (rng_.uniform() >= share_) {
        last_[k] = x[k];
        sum_[k] += x[k];
        ++count_[k];
      } else {
        seen[k] = way_ == Way::as_they_are ? std::numeric_limits<double>::quiet_NaN()
                  : way_ == Way::hold      ? last_[k]
                                           : sum_[k] / std::max(count_[k], 1.0);
      }
    }
    return seen;
  }

 private:
  Way way_;
  double share_;
  Rng rng_;
  std::vector<double> last_, sum_, count_;
};

double error_of(const std::string& source, Way way, double share, std::uint64_t seed) {
  const Dataset data = load(source, most_rows);
  LearnerOptions options = make_contenders({"auto"}, "", data).front().options;
  options.network.inputs = data.n_inputs();
  options.network.outputs = data.n_targets();
  const auto learner = make_learner(options);
  Gaps gaps(way, data.n_inputs(), share, seed);
  double error = 0;
  double sum = 0;
  double squares = 0;
  double n = 0;
  for (std::size_t t = 0; t < data.rows(); ++t) {
    const std::vector<double> x = gaps.in(data.x(t));
    const double d = data.d(t)[0];
    const double off = d - learner->predict(x)[0];
    if (t >= first) {
      error += off * off;
      sum += d;
      squares += d * d;
      ++n;
    }
    learner->learn(x, data.d(t));
  }
  return error / (squares - sum * sum / n);
}

}  // namespace

int main(int argc, char** argv) {
  std::string folder;
  std::size_t seeds = 1;
  double share = 0.2;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--data") folder = argv[i + 1];
    if (option == "--seeds") seeds = std::stoul(argv[i + 1]);
    if (option == "--share") share = std::stod(argv[i + 1]);
  }
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".csv") files.push_back(entry.path().string());
  std::ranges::sort(files);
  std::vector<double> errors(files.size() * ways.size() * seeds);
  parallel_for(errors.size(), 0, [&](std::size_t i) {
    const std::size_t run = i / seeds;
    errors[i] = error_of(files[run / ways.size()], ways[run % ways.size()], share, 1 + i % seeds);
  });
  fmt::print("{:<20}{:>12}\n", "", fmt::join(names, " "));
  std::vector<double> logs(ways.size());
  for (std::size_t f = 0; f < files.size(); ++f) {
    fmt::print("{:<20}", fs::path(files[f]).stem().string());
    for (std::size_t w = 0; w < ways.size(); ++w) {
      double mean = 0;
      for (std::size_t s = 0; s < seeds; ++s)
        mean += errors[(f * ways.size() + w) * seeds + s] / static_cast<double>(seeds);
      logs[w] += std::log(mean) / static_cast<double>(files.size());
      fmt::print("{:12.4f}", mean);
    }
    fmt::print("\n");
  }
  fmt::print("{:<20}", "geometric mean");
  for (const double log : logs) fmt::print("{:12.4f}", std::exp(log));
  fmt::print("\n");
}
