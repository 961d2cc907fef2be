#include "kafka/log_filter.h"

#include <fmt/format.h>

#include <utility>

namespace kalstream::kafka {

std::optional<std::string> LogFilter::add(int level, std::string_view facility,
                                          std::string_view text, Clock::time_point now) {
  constexpr int debugging = 7;  // somebody has asked for it (debug=…)
  // Consumers and producers share one configuration, and complain of what is the other's.
  if (facility == "CONFWARN" && text.find("will be ignored by this") != text.npos) return {};
  if (facility == "GETPID" && text.find("retrying") != text.npos) return {};  // a new cluster
  if (text.starts_with("[thrd:"))
    if (const auto end = text.find("]: "); end != text.npos) text.remove_prefix(end + 3);
  if (level >= debugging) return fmt::format("Kafka: {}: {}", facility, text);

  auto [at, is_new] = facilities_.try_emplace(std::string(facility));
  Facility& seen = at->second;
  if (!is_new && now < seen.next) {
    ++seen.held;
    return {};
  }
  seen.next = now + interval_;
  const std::uint64_t held = std::exchange(seen.held, 0);
  return held == 0 ? fmt::format("Kafka: {}", text)
                   : fmt::format("Kafka: {} (and {} more like it)", text, held);
}

}  // namespace kalstream::kafka
