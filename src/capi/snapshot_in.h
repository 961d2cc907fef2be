#pragma once

#include <cstddef>
#include <span>

namespace kalstream::capi {

/// Of what kalstream_learner_save gave, the learner's snapshot; other bytes as they are.
std::span<const std::byte> snapshot_in(std::span<const std::byte> bytes);

}  // namespace kalstream::capi
