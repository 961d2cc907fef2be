// Moments written as a stream writes its times.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schema/timestamp.h"

namespace kalstream {

/// Takes a time of the stream for an example: 31/01/2024 5:00 PM is followed by 31/01/2024 6:00 PM.
/// A text whose form cannot be followed gives times as iso_text has them.
class TimeText {
 public:
  TimeText() = default;
  /// `moment` is that of the example; of TimeForm::number, tick_of().
  TimeText(std::string_view example, std::int64_t moment, TimeForm form);

  std::string write(std::int64_t moment) const;

 private:
  enum class What : std::uint8_t {
    year,
    month,
    day,
    hour,
    hour_of_half,
    minute,
    second,
    fraction,
    half,  // AM or PM
    month_name,
    weekday_name,
    literal,
  };
  struct Part {
    What what = What::literal;
    std::string text;  // as in the example
  };

  bool split(std::string_view example, TimeForm form, bool year_last);
  bool take_word(std::string_view word);
  bool take_digits(std::string_view digits, std::vector<What>& expected);
  bool has(What what) const;

  TimeForm form_ = TimeForm::none;
  std::vector<Part> parts_;  // empty: as iso_text
  std::int64_t zone_ = 0;    // nanoseconds that the written clock is ahead
  std::size_t decimals_ = 0;
};

/// What a time of TimeForm::number counts, in billionths, to be compared and counted like
/// nanoseconds; nothing if it is no number or a very large one.
std::optional<std::int64_t> tick_of(std::string_view number);

}  // namespace kalstream
