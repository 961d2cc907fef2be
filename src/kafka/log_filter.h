// Which of a client's log lines people are told.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace kalstream::kafka {

/// A broker that is gone makes a client complain many times a second. Of each kind the first is
/// told at once, then one in a while, with the number of those that were not.
class LogFilter {
 public:
  using Clock = std::chrono::steady_clock;

  explicit LogFilter(Clock::duration interval = std::chrono::seconds(30)) : interval_(interval) {}

  /// The line to tell, or nothing. `level` is that of syslog: 3 errors, 4 warnings, 6 news.
  std::optional<std::string> add(int level, std::string_view facility, std::string_view text,
                                 Clock::time_point now);

 private:
  struct Facility {
    Clock::time_point next;
    std::uint64_t held = 0;
  };

  Clock::duration interval_;
  std::map<std::string, Facility, std::less<>> facilities_;
};

}  // namespace kalstream::kafka
