// What this program is.
#include <fmt/format.h>

#include "commands.h"
#include "kalstream/version.h"
#include "kernels/dispatch.h"

namespace kalstream::cli {

std::string about() {
  std::string others;
  for (const kernels::Kernels* k : kernels::available_targets())
    others += (others.empty() ? "" : ", ") + std::string(k->name);
  return fmt::format("kalstream {}\ncommit {}\ncompiler {}\nkernels {} (of {})", version(),
                     KALSTREAM_COMMIT, KALSTREAM_COMPILER, kernels::target_name(), others);
}

}  // namespace kalstream::cli
