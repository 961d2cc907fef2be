// Which kernels work: chosen once, by what the processor can do.
#pragma once

#include <span>
#include <string_view>

#include "kernels/kernels.h"

namespace kalstream::kernels {

/// What this processor can run of avx512, avx2 and portable, the best first.
std::span<const Kernels* const> available_targets();

/// Adds kernels, which must live for ever, as the last of the available ones: for tests, before
/// anything else is asked of this header. Returns false if there is no room for more.
bool add_target(const Kernels& kernels);

/// The name of the kernels at work: what the environment variable KALSTREAM_TARGET names, or the
/// best there is if it is unset or names none that can run here.
std::string_view target_name();

/// Makes the kernels of this name work from now on. False, and no change, if none can run here.
/// Not while another thread is in a learner.
bool use_target(std::string_view name);

}  // namespace kalstream::kernels
