#include "io/machine.h"

#include <fmt/chrono.h>

#include <ctime>
#include <fstream>
#include <thread>

namespace kalstream {

std::string machine_name() {
  std::string name = "unknown processor";
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("model name")) continue;
    const auto colon = line.find(": ");
    if (colon != std::string::npos) name = line.substr(colon + 2);
    break;
  }
  const unsigned cores = std::thread::hardware_concurrency();
  return fmt::format("{}, {} core{}", name, cores, cores == 1 ? "" : "s");
}

std::string today() { return fmt::format("{:%F}", fmt::gmtime(std::time(nullptr))); }

}  // namespace kalstream
