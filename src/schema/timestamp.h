// Time stamps as people and programs write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

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

}  // namespace kalstream
