// Which field of a stream is what: found once, by one set of rules (docs/data.md), for every format
// and every way into kalstream; part of every snapshot and checkpoint; compared by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace kalstream {

class Archive;

enum class Role : std::uint8_t { left_out, input, target, time, key, id };

const char* to_string(Role role);

/// How the times of a stream are written.
enum class TimeForm : std::uint8_t {
  none,
  year_first,   ///< 2024-01-31T12:30:00Z, 2024/01/31 12:30, 20240131
  day_first,    ///< 31.01.2024, 31/01/2024 12:30, 31-Jan-2024
  month_first,  ///< 01/31/2024 12:30 PM, Jan 31, 2024
  seconds,      ///< since 1970, UTC
  milliseconds,
  microseconds,
  nanoseconds,
  number,  ///< of a clock nothing is known of: 0, 0.1, 0.2, …
};

const char* to_string(TimeForm form);

/// What the user says about fields: names, or places counted from 1. What is left open is found by
/// the rules.
struct FieldChoice {
  std::vector<std::string> targets;     ///< empty: "target", else the last number
  std::vector<std::string> inputs;      ///< empty: all other numbers; {"none"}: none
  std::vector<std::string> categories;  ///< fields whose values are inputs, one for each value
  std::string time;                     ///< empty: found; "none": there is none
  std::string id = "id";                ///< names a sample, if there is a field of this name
  std::string key;                      ///< names a model; empty: there is but one
  bool elapsed = false;                 ///< the time since the sample before is an input
  /// "classify": the target is a class, whatever its values look like; "regress": it is a number;
  /// empty: text is a class.
  std::string task;
  std::uint64_t classes = 256;  ///< that a model may tell apart

  bool has_no_inputs() const { return inputs.size() == 1 && inputs.front() == "none"; }
};

/// The fields of a stream and their roles, in the order they were first written.
struct Schema {
  struct Field {
    std::string name;
    Role role = Role::left_out;
    std::string reason;  ///< why it was left out, or taken for what it is where that is a guess
    /// Was not in the first record: a target or an id that may still come; an input that is the
    /// time since the sample before.
    bool later = false;
    /// Of an input that is a category: the values seen so far, each an input of its own that is 1
    /// for this value and 0 otherwise; the last of `slots` inputs is for all further values. Of a
    /// target that is a class: how many there may be; each model knows its own.
    std::size_t slots = 0;  ///< 0: a number
    std::vector<std::string> values;

    bool operator==(const Field&) const = default;
  };

  static constexpr std::size_t category_slots = 16;  ///< 15 values, and all others
  static constexpr std::size_t most_classes = 1000;

  std::vector<Field> fields;
  TimeForm time_form = TimeForm::none;

  bool empty() const { return fields.empty(); }  ///< nothing is settled yet
  std::size_t inputs() const;                    ///< numbers, those of categories included
  /// Numbers, or two for a class: more are told apart once they have come.
  std::size_t outputs() const;
  bool has_classes() const;                      ///< the target is one
  std::vector<std::string> input_names() const;  ///< one per number: "temp", "weather.1", …
  std::vector<std::string> target_names() const;
  std::vector<std::string> names(Role role) const;
  const Field* find(Role role) const;  ///< the first of the role; nullptr if there is none

  void exchange(Archive& archive);
};

}  // namespace kalstream
