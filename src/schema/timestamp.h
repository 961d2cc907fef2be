// Time stamps as people and programs write them, read and written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kalstream/schema.h"

namespace kalstream {

/// A moment: nanoseconds since 1970, UTC. A text without a zone is taken for UTC.
struct Timestamp {
  std::int64_t nanoseconds = 0;
  bool zoned = false;     ///< the text said in which zone
  bool has_date = true;   ///< false: a time of day alone, since midnight
  bool has_clock = true;  ///< false: a date alone
};

/// A text that is, as a whole, a time stamp of this form; nothing if it is none.
std::optional<Timestamp> parse_time(std::string_view text, TimeForm form);

/// The form a text is written in, and whether that is sure: 01/02/2024 may be two days, and is
/// taken for the second of January. Nothing if it is no time stamp. (A time of day alone, 12:30,
/// has the form year_first.)
struct FoundForm {
  TimeForm form = TimeForm::none;
  bool sure = true;
};
std::optional<FoundForm> form_of(std::string_view text);

/// The unit in which a number counts from 1970 to a moment between 1990 and 2100; nothing if it
/// does not.
std::optional<TimeForm> epoch_form_of(double number);

/// How many nanoseconds one unit of a number of this form is; 0 for forms that do not count.
std::int64_t unit_of(TimeForm form);

/// The moment a number of this form tells; nothing for TimeForm::number and forms of text.
std::optional<Timestamp> time_of(double number, TimeForm form);

/// 2024-01-31T12:30:00Z, with as many digits of a second as it takes.
std::string iso_text(std::int64_t nanoseconds);

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
