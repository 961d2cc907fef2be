#include "fleet/progress.h"

#include <fmt/format.h>
#include <gnu/libc-version.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "core/hash.h"
#include "kernels/dispatch.h"
#include "schema/dataset.h"

namespace kalstream::fleet {
namespace {

// To be raised whenever a learner's results change to the bit.
constexpr int numerics_epoch = 1;

template <class Number>
Number number_of(std::string_view text, int base, const char* what) {
  Number n = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), n, base);
  if (error != std::errc() || rest != text.data() + text.size() || text.empty())
    throw DataError(fmt::format("'{}' is not {}", text, what));
  return n;
}

}  // namespace

std::string metadata_of(const Progress& p) {
  return fmt::format(R"({{"replay_from":{},"state_upto":{},"checksum":"{}","engine":{}}})",
                     p.replay_from, p.state_upto, hex_of(p.checksum),
                     nlohmann::json(p.engine).dump());
}

Progress progress_of(const Committed& committed) {
  try {
    const auto json = nlohmann::json::parse(committed.metadata);
    return {.offset = committed.offset,
            .replay_from = json.at("replay_from").get<Offset>(),
            .state_upto = json.at("state_upto").get<Offset>(),
            .checksum = from_hex(json.at("checksum").get<std::string>()),
            .engine = json.at("engine").get<std::string>()};
  } catch (const nlohmann::json::exception&) {
    throw DataError(fmt::format(
        "offset {} was not committed by a fleet: its metadata is '{}'; another program uses the "
        "group, or somebody has set the offset",
        committed.offset, committed.metadata));
  }
}

Chain chained(Chain before, std::string_view answer) {
  return fnv1a(std::as_bytes(std::span(answer)), before ^ 0xcbf29ce484222325);
}

// Spread by a multiplication, so that chains that are swapped between keys do not cancel out.
std::uint64_t part_of_checksum(std::string_view key, Chain chain) {
  std::uint64_t h = fnv1a(key) ^ chain;
  h = (h ^ (h >> 32)) * 0x9e3779b97f4a7c15;
  return h ^ (h >> 29);
}

std::string hex_of(std::uint64_t number) { return fmt::format("{:016x}", number); }

std::uint64_t from_hex(std::string_view text) {
  return number_of<std::uint64_t>(text, 16, "a number of hexadecimal digits");
}

Offset offset_of(std::string_view text) { return number_of<Offset>(text, 10, "an offset"); }

std::string engine_identity() {
  return fmt::format("numerics {}, kernels {}, libm {}", numerics_epoch, kernels::target_name(),
                     gnu_get_libc_version());
}

}  // namespace kalstream::fleet
