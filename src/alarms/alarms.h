// Alarms as events: when something strange begins, what it is, how severe it was, when it is over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kalstream/strangeness.h"

namespace kalstream {

class Archive;

/// What alarms are raised by.
struct AlarmOptions {
  static constexpr double no_limit = std::numeric_limits<double>::infinity();

  bool strangeness = false;  ///< by values of a strangeness of 1 or more, and by silence
  double above = no_limit;   ///< by targets above this limit
  double below = -no_limit;  ///< by targets below this limit

  bool any() const { return strangeness || above < no_limit || below > -no_limit; }
};

/// Where a stream is: the number of the sample and its time.
struct AlarmTime {
  std::uint64_t sample = 0;  ///< counted from 1; 0: not yet
  std::string time = {};     ///< as written; empty: not known
  bool is_text = true;       ///< the time is written with quotes in JSON
};

/// Something strange that lasts for a while.
struct AlarmEvent {
  AlarmKind kind = AlarmKind::spike;
  AlarmTime start;
  AlarmTime end;           ///< the first sample that is ordinary again
  std::size_t output = 0;  ///< the target that was the strangest
  double value = std::numeric_limits<double>::quiet_NaN();  ///< its worst value; NaN: there is none
  double severity = 0;                                      ///< the largest strangeness

  bool is_over() const { return end.sample > 0; }
  void exchange(Archive& archive, std::size_t outputs);
};

/// The alarm of a sample's answer: it has begun, or is over, or both.
struct AlarmNews {
  bool is_new = false;
  AlarmEvent alarm;
};

/// The alarms of one model. At most one lasts at a time; what happens meanwhile belongs to it.
/// Takes targets in the order in which they come. Once constructed only the texts of times
/// allocate.
class Alarms {
 public:
  Alarms(const AlarmOptions& options, std::size_t outputs);

  const AlarmOptions& options() const { return options_; }
  /// Other limits. What is known of strangeness stays.
  void set_limits(const AlarmOptions& options);

  /// A target has come that had been predicted as d_hat and had this surprise. What there is to
  /// tell of alarms; nullptr: nothing. Lives until the next call.
  const AlarmNews* take(const AlarmTime& at, std::span<const double> d_hat,
                        std::span<const double> surprise, std::span<const double> d);
  /// A sample has come whose target is missing and will not come.
  const AlarmNews* take_missing();
  /// So many samples did not come before the next one.
  void pass(std::uint64_t missing) { missing_ += static_cast<double>(missing); }

  /// How strange the values of the last target were; empty if that is not asked for.
  std::span<const double> strangeness() const {
    return options_.strangeness ? measure_.last() : std::span<const double>{};
  }

  /// Somebody says of the last alarm, or of what was missed lately, that there was something to be
  /// told (`real`), or that there was not. Moves the least strangeness that is told, within bounds.
  void judge(bool real);
  double least_severity() const { return least_; }

  /// All of it but the options, to or from a checkpoint.
  void exchange(Archive& archive);

 private:
  /// What is counted while an alarm lasts, to tell its kind.
  struct Signs {
    double rows = 0;                         // since its start
    double calm = 0;                         // rows since the last strange one
    double strange = 0;                      // rows …
    double too_large = 0;                    // … of them with values far above their prediction
    double too_small = 0;                    // … or far below it
    double spread = 0;                       // … of them with large errors in both directions
    double stuck = 0;                        // … of them with the value of the row before
    double outside = 0;                      // rows with values where no values were before
    double jump = 0;                         // the largest around its start
    double usual = 0;                        // value before the alarm
    double farthest = 0;                     // distance of its values from that
    AlarmKind strongest = AlarmKind::spike;  // kind of the strangest row
    bool by_limit = false;                   // a limit alone

    void exchange(Archive& archive);
  };

  struct Finding {
    Strangeness::Look look;
    std::size_t output = 0;
    bool is_beyond_limit = false;
    AlarmKind limit = AlarmKind::above;
  };

  Finding look_at(std::span<const double> d) const;
  const AlarmNews* follow(const AlarmTime& at, const Finding& found, std::span<const double> d);
  void begin(const AlarmTime& at, const Finding& found, double value);
  void go_on(const AlarmTime& at, const Finding& found, double value);
  void keep_worst(bool is_first, const Strangeness::Look& look, double value);
  const AlarmNews* end();
  const AlarmNews* end_silence(const AlarmTime& at);
  double silence() const;
  AlarmKind kind_of_signs() const;

  AlarmOptions options_;
  Strangeness measure_;
  std::size_t outputs_;
  double least_ = 1;          // strangeness that is told
  double last_severity_ = 1;  // of the last alarm
  double targets_ = 0;        // that have come
  double missing_ = 0;        // samples without a target since the last one
  double most_missing_ = 2;   // lately
  bool is_open_ = false;
  Signs signs_;
  AlarmTime calm_since_;
  AlarmTime last_;   // target
  double owed_ = 0;  // strangeness of a row whose answer told of something else
  AlarmNews news_;   // of the alarm that lasts, or of the last one
};

}  // namespace kalstream
