#include "core/memory_limit.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace kalstream {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

// A number, or something else, or nothing at all: no limit.
std::uint64_t limit_in(const fs::path& file) {
  std::ifstream in(file);
  std::uint64_t bytes = 0;
  return in >> bytes ? bytes : unlimited;
}

// Of the group and of all that it is in. In a container its path may be that of another world; the
// root of what can be seen is then its own.
std::uint64_t limit_around(const fs::path& hierarchy, std::string_view group, const char* name) {
  std::uint64_t least = limit_in(hierarchy / name);
  fs::path folder = hierarchy;
  for (const fs::path& part : fs::path(group).relative_path())
    if (part != "..") least = std::min(least, limit_in((folder /= part) / name));
  return least;
}

std::uint64_t machine_memory(const fs::path& root) {
  std::ifstream in(root / "proc/meminfo");
  std::string line;
  while (std::getline(in, line)) {
    std::istringstream words(line);
    std::string name;
    std::uint64_t kibibytes = 0;
    if (words >> name >> kibibytes && name == "MemTotal:") return kibibytes << 10;
  }
  return unlimited;
}

}  // namespace

std::uint64_t bytes_of(const std::string& text) {
  double n = 0;
  const char* const end = text.data() + text.size();
  const auto [unit, error] = std::from_chars(text.data(), end, n);
  std::string_view rest(unit, static_cast<std::size_t>(end - unit));
  if (rest.size() == 3 && rest.ends_with("iB")) rest.remove_suffix(2);
  constexpr std::string_view units = "KMGT";
  const std::size_t power = rest.size() == 1 ? units.find(rest[0]) + 1 : 0;
  const bool known = rest.empty() || (rest.size() == 1 && power > 0);
  const double bytes = std::ldexp(n, static_cast<int>(10 * power));
  if (error != std::errc() || !known || !(bytes >= 1) || bytes > 0x1p60)
    throw std::invalid_argument("--memory " + text +
                                ": write a size (2GiB, 512MiB) or a number of bytes");
  return static_cast<std::uint64_t>(bytes);
}

// Lines of /proc/self/cgroup: "0::/path" (v2), "4:memory:/path" or "3:cpu,memory:/path" (v1).
std::uint64_t memory_allowed(const fs::path& root) {
  std::uint64_t least = machine_memory(root);
  std::ifstream in(root / "proc/self/cgroup");
  std::string line;
  while (std::getline(in, line)) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = ',' + line.substr(first + 1, second - first - 1) + ',';
    const std::string_view group = std::string_view(line).substr(second + 1);
    if (controllers == ",,")
      for (const char* mounted : {"sys/fs/cgroup", "sys/fs/cgroup/unified"})
        least = std::min(least, limit_around(root / mounted, group, "memory.max"));
    else if (controllers.find(",memory,") != std::string::npos)
      least = std::min(least,
                       limit_around(root / "sys/fs/cgroup/memory", group, "memory.limit_in_bytes"));
  }
  return least == unlimited ? std::uint64_t{1} << 30 : least;
}

void require_memory(double bytes, const std::string& what, const std::string& advice) {
  static const auto allowed = static_cast<double>(memory_allowed());
  if (bytes <= 0.9 * allowed) return;
  constexpr double gib = 1 << 30;
  std::array<char, 64> sizes;
  std::snprintf(sizes.data(), sizes.size(), " needs %.1f GiB, this process may use %.1f; ",
                bytes / gib, allowed / gib);
  throw NotEnoughMemory("the " + what + sizes.data() + advice);
}

}  // namespace kalstream
