#include "core/ablation.h"

#ifdef KALSTREAM_ABLATION

#include <cstdlib>
#include <mutex>

namespace kalstream {
namespace {

/// What comes after `key=` in the n-th such part of the variable; nothing if there is none.
std::string_view said_of(std::string_view key, std::size_t n = 0) {
  const char* const variable = std::getenv("KALSTREAM_ABLATION");
  std::string_view rest = variable ? variable : "";
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(part.size() < rest.size() ? part.size() + 1 : rest.size());
    if (part.size() > key.size() && part.starts_with(key) && part[key.size()] == '=' && n-- == 0)
      return part.substr(key.size() + 1);
  }
  return {};
}

}  // namespace

std::map<std::string, double>& ablation_parts() {
  static std::map<std::string, double> parts;
  return parts;
}

double ablated(std::string_view name, double value) {
  ablation_parts()[std::string(name)] = value;
  const std::string_view said = said_of(name);
  return said.empty() ? value : std::stod(std::string(said));
}

bool is_left_out(std::string_view expert) {
  {
    static std::mutex guard;
    const std::scoped_lock lock(guard);
    ablation_parts()["without=" + std::string(expert)] = 0;
  }
  for (std::size_t n = 0;; ++n) {
    const std::string_view name = said_of("without", n);
    if (name.empty() || name == expert) return !name.empty();
  }
}

}  // namespace kalstream

#endif
