// Independent tasks over a few threads.
#pragma once

#include <cstddef>
#include <functional>

namespace kalstream {

/// Calls task(0), …, task(count − 1), at most `jobs` at a time (0: one per core). Tasks are started
/// in order; each writes to its own place, so results do not depend on `jobs`. The first exception
/// stops further tasks and is thrown again here.
void parallel_for(std::size_t count, std::size_t jobs,
                  const std::function<void(std::size_t)>& task);

/// How many `jobs` 0 stands for.
std::size_t default_jobs();

}  // namespace kalstream
