#include "auto/telling_inputs.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "auto/constants.h"
#include "auto/memory.h"
#include "auto/scale.h"
#include "core/archive.h"
#include "kernels/kernels.h"

namespace kalstream {
namespace {

/// Sums over pairs of numbers, and what share of one's variance the other explains.
class Correlation {
 public:
  void add(double a, double b) {
    ++n_;
    a_ += a;
    b_ += b;
    aa_ += a * a;
    bb_ += b * b;
    ab_ += a * b;
  }
  /// r²; 0 where one does not vary.
  double explained() const {
    const double va = n_ * aa_ - a_ * a_;
    const double vb = n_ * bb_ - b_ * b_;
    const double vab = n_ * ab_ - a_ * b_;
    return va > 0 && vb > 0 ? vab / va * vab / vb : 0;
  }

 private:
  double n_ = 0, a_ = 0, b_ = 0, aa_ = 0, bb_ = 0, ab_ = 0;
};

}  // namespace

TellingInputs::TellingInputs(const Sight& sight)
    : sight_(sight),
      chosen_(sight.chosen),
      linear_(sight.is_wide() ? sight.outputs * (sight.inputs + 1) : 0) {
  reset();
}

void TellingInputs::reset() {
  std::iota(chosen_.begin(), chosen_.end(), std::size_t{0});
  std::ranges::fill(linear_, 0.0);
}

void TellingInputs::see(std::span<const double> x, std::span<double> seen) const {
  for (std::size_t k = 0; k < chosen_.size(); ++k) seen[k] = x[chosen_[k]];
  for (std::size_t o = 0; o < sight_.outputs; ++o) {
    const double* row = &linear_[o * (x.size() + 1)];
    const double said = row[0] + kernels::active().dot(x.size(), row + 1, x.data());
    seen[chosen_.size() + o] = std::clamp(said, -constants::usual_reach, constants::usual_reach);
  }
}

bool TellingInputs::choose(const SampleMemory& memory, const Scale& scale) {
  std::vector<double> tells(sight_.inputs);
  for (std::size_t k = 0; k < sight_.inputs; ++k)
    for (std::size_t o = 0; o < sight_.outputs; ++o) {
      Correlation straight;
      Correlation squared;
      for (std::size_t age = 1; age <= memory.size(); ++age) {
        const SampleMemory::Sample sample = memory[age];
        if (!sample.is_whole()) continue;
        const double x = scale.inputs().standardised(k, sample.x[k], constants::usual_reach);
        const double d = scale.targets().standardised(o, sample.d[o], constants::usual_reach);
        straight.add(x, d);
        squared.add(x * x, d);
      }
      tells[k] = std::max(tells[k], straight.explained() + squared.explained());
    }
  std::vector<std::size_t> all(sight_.inputs);
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::ranges::stable_sort(all, std::ranges::greater(), [&](std::size_t k) { return tells[k]; });
  all.resize(chosen_.size());
  std::ranges::sort(all);
  if (all == chosen_) return false;
  chosen_ = std::move(all);
  return true;
}

void TellingInputs::exchange(Archive& archive) {
  for (std::size_t& k : chosen_) archive.count(k, sight_.inputs - 1);
  archive.run(linear_, Archive::usable);
}

}  // namespace kalstream
