#include "io/machine.h"

#include <fmt/format.h>

#include <chrono>
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

std::string today() {
  const auto now = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
  const std::chrono::year_month_day day(now);
  return fmt::format("{}-{:02}-{:02}", static_cast<int>(day.year()),
                     static_cast<unsigned>(day.month()), static_cast<unsigned>(day.day()));
}

}  // namespace kalstream
