#include "monitor/notices.h"

#include <fmt/format.h>

#include <utility>

namespace kalstream {
namespace {

std::string line(std::string_view text, std::uint64_t more) {
  return more == 0 ? std::string(text) : fmt::format("{} (and {} more)", text, more);
}

}  // namespace

std::optional<std::string> Notices::add(Warning kind, std::string_view text,
                                        Clock::time_point now) {
  const auto k = static_cast<std::size_t>(kind);
  ++counts_[k];
  Kind& of = kinds_[k];
  if (of.next && now < *of.next) {
    ++of.held;
    of.last = text;
    return std::nullopt;
  }
  of.next = now + interval_;
  return line(text, std::exchange(of.held, 0));
}

std::string Notices::held_back(Clock::time_point now, bool all) {
  std::string lines;
  for (Kind& of : kinds_) {
    if (of.held == 0 || (!all && now < *of.next)) continue;
    lines += line(of.last, std::exchange(of.held, 0) - 1) + '\n';
    of.next = now + interval_;
  }
  return lines;
}

}  // namespace kalstream
