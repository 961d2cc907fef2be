// What the targets for snapshots share.
#pragma once

#include <cmath>

#include "fuzz.h"
#include "kalstream/snapshot.h"

namespace kalstream::fuzz {

/// Bytes that load must give a learner that works, and can be saved again.
inline void expect_loads_or_refuses(Bytes snapshot) {
  constexpr std::uint64_t most_memory = std::uint64_t{4} << 20;
  std::unique_ptr<Learner> learner;
  try {
    learner = load(snapshot, most_memory);
  } catch (const SnapshotError&) {
    return;
  }
  require(save(*load(save(*learner))) == save(*learner));
  std::vector<double> x(learner->inputs());
  std::vector<double> d(learner->outputs());
  std::vector<double> ahead(2 * d.size());
  for (int t = 0; t < 4; ++t) {
    for (std::size_t k = 0; k < x.size(); ++k)
      x[k] = std::sin(static_cast<double>(3 * t) + static_cast<double>(k));
    for (std::size_t k = 0; k < d.size(); ++k)
      d[k] = std::cos(static_cast<double>(5 * t) + static_cast<double>(k));
    learner->predict(x);
    if (t == 2)
      learner->advance(x);
    else
      learner->learn(x, d);
  }
  learner->forecast(2, std::vector<double>(2 * x.size(), 0.5), ahead);
  learner->reset();
  learner->learn(x, d);
}

}  // namespace kalstream::fuzz
