// What a record is answered with.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "alarms/alarms.h"
#include "kalstream/interval.h"

namespace kalstream {

/// Views live until the engine's next call.
struct Answer {
  enum class Status : std::uint8_t {
    predicted,  ///< the target is missing, or may still come
    learnt,     ///< the target came with the sample (if the model learns)
    labelled,   ///< this is the target of an earlier sample
    late,       ///< no sample of this id waits for a target; or, with a reason, its time has passed
    repeated,   ///< a sample of the last one's time: not learnt a second time
    ahead,      ///< inputs known ahead of their time, kept until then
    judged,     ///< somebody said whether the last alarm was one
    refused,    ///< the record cannot be used: `reason` says why
  };

  Status status = Status::predicted;
  std::uint64_t sample = 0;  ///< of its model, counted from 1; 0 if late or refused
  std::string_view reason;
  std::uint64_t line = 0;  ///< of the source, where it is refused; 0: not known
  bool has_model = false;  ///< there is a model for it

  std::string_view id;  ///< empty: none
  bool id_is_text = false;
  std::string_view key;   ///< empty: none, or it could not be read
  std::string_view time;  ///< as written; empty: none
  bool time_is_text = false;
  std::size_t held = 0;  ///< missing inputs whose last value stands in

  /// Of a stream of classes: the prediction is a probability for each of these, in their order, and
  /// the rest for what has not come yet; the target's name, empty if there is none.
  bool of_classes = false;
  std::span<const std::string> classes;
  std::string_view label;

  std::span<const double> prediction;
  std::span<const Interval> interval;  ///< of the prediction; empty if not asked for
  std::span<const Interval> inner;     ///< narrower ones: inner coverages × outputs
  std::span<const double> target;      ///< empty: none
  /// Of the target; empty if not asked for, or none. Of a class −ln p.
  std::span<const double> surprise;
  bool anomaly = false;                        ///< so surprising that it is to be told
  std::span<const double> strangeness;         ///< of the target; empty if not asked for, or none
  std::optional<AlarmNews> alarm;              ///< that begins with this record, or ends
  std::span<const double> forecast;            ///< horizon × outputs
  std::span<const std::string> forecast_time;  ///< as times are written; empty: not known
  std::span<const Interval> forecast_interval;
  std::span<const Interval> forecast_inner;  ///< horizon × inner coverages × outputs
};

inline const char* to_string(Answer::Status status) {
  constexpr std::array names{"predicted", "learnt", "labelled", "late",
                             "repeated",  "ahead",  "judged",   "refused"};
  return names[static_cast<std::size_t>(status)];
}

}  // namespace kalstream
