// Any text as a time stamp, and any number as one.
#include <cstring>

#include "fuzz.h"
#include "schema/timestamp.h"

KALSTREAM_FUZZ(timestamp) {
  using namespace kalstream;
  using enum TimeForm;
  const std::string text = fuzz::as_text(bytes);
  if (const auto found = form_of(text)) {
    const auto time = parse_time(text, found->form);
    fuzz::require(time.has_value());
    const auto again = parse_time(iso_text(time->nanoseconds), year_first);
    fuzz::require(again && again->nanoseconds == time->nanoseconds && again->zoned);
  }
  for (const TimeForm form : {none, year_first, day_first, month_first, number})
    if (const auto time = parse_time(text, form)) fuzz::require(time->has_date || time->has_clock);

  double value = 0;
  if (text.size() < sizeof value) return;
  std::memcpy(&value, text.data(), sizeof value);
  if (const auto form = epoch_form_of(value)) fuzz::require(time_of(value, *form).has_value());
  for (const TimeForm form : {seconds, milliseconds, microseconds, nanoseconds})
    if (const auto time = time_of(value, form)) iso_text(time->nanoseconds);
}
