// Two streams of one partition become one, by their times.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

namespace kalstream::fleet {

/// What waits on both sides is taken the older first, each side in its own order. Where one side
/// has nothing, the other waits only while more may be there already: so a backlog of both is
/// merged by its times, and a live stream as it comes.
template <typename Item>
class TimeMerge {
 public:
  void add(std::size_t side, std::int64_t time, Item item) {
    sides_[side].waiting.emplace_back(time, std::move(item));
    sides_[side].is_at_end = false;
  }
  /// All that there is by now has been added.
  void at_end(std::size_t side) { sides_[side].is_at_end = true; }

  std::size_t waiting(std::size_t side) const { return sides_[side].waiting.size(); }

  /// The next, and its side; nothing before more has come.
  std::optional<std::pair<std::size_t, Item>> next() {
    const bool none[] = {sides_[0].waiting.empty(), sides_[1].waiting.empty()};
    if (none[0] && none[1]) return {};
    std::size_t side = none[0] ? 1 : 0;
    if (none[0] || none[1]) {
      if (!sides_[1 - side].is_at_end) return {};
    } else if (sides_[1].waiting.front().first < sides_[0].waiting.front().first) {
      side = 1;
    }
    auto item = std::move(sides_[side].waiting.front().second);
    sides_[side].waiting.pop_front();
    return std::pair(side, std::move(item));
  }

 private:
  struct Side {
    std::deque<std::pair<std::int64_t, Item>> waiting;
    bool is_at_end = false;
  };
  std::array<Side, 2> sides_;
};

}  // namespace kalstream::fleet
