// How far and how long a value is beyond the usual, comparable between series.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace kalstream {

class Archive;

/// What a value or an alarm is strange by.
enum class AlarmKind : std::uint8_t {
  spike,    ///< a few values far off
  level,    ///< values have jumped, and stay there
  drift,    ///< values have left the usual range slowly
  stuck,    ///< the value does not change any more
  spread,   ///< errors are larger than usual, in both directions
  silence,  ///< no values come
  above,    ///< above the limit that was given
  below,    ///< below the limit that was given
};

const char* to_string(AlarmKind kind);

/// For each output how strange its value is (docs/anomalies.md): 0 for an ordinary one, 1 and more
/// for what is worth an alarm, the more the further and the longer it is beyond the usual. The
/// scale is the same for every series. Surprise tells how rare a value is in its series;
/// strangeness tells how large the deviation is, measured by the range that values, errors and
/// their means had before, and adds up what is modest but lasts.
///
///     Strangeness strangeness(learner->outputs());
///     …
///     auto s = strangeness.take(d_hat, surprise.of(expected, d), d);
///     if (s[0] >= 1) …                  // once for each event, again when it is twice as strange
///
/// Values that lasted long become the usual ones; until then they do not count as such. A value
/// that is not finite, or beyond ±1e100, is not strange and changes nothing. Nothing is told in the
/// first 200 rows. Once constructed nothing allocates, throws or prints.
class Strangeness {
 public:
  /// What is known of the last value of an output.
  struct Look {
    double strangeness = 0;  ///< as told: 0 for what has been told before
    double size = 0;         ///< the same, whether it was told before or not
    AlarmKind kind = AlarmKind::spike;
    bool is_outside = false;  ///< no value was there before
    double error = 0;         ///< d − d̂, in usual sizes of errors
    double usual = 0;         ///< slow mean of the values before
    double jump = 0;          ///< largest change in the last rows, if it is strange
  };

  explicit Strangeness(std::size_t outputs);
  Strangeness(const Strangeness& other);
  Strangeness& operator=(const Strangeness& other);
  ~Strangeness();

  std::size_t outputs() const { return told_.size(); }

  /// The strangeness of each output of the next row, which is learnt. `d_hat` is what had been
  /// predicted and `surprise` is what Surprise::of said of it; where one of them is not known
  /// (NaN), the output is not strange. The view lives until the next call.
  std::span<const double> take(std::span<const double> d_hat, std::span<const double> surprise,
                               std::span<const double> d);

  /// What take() returned last.
  std::span<const double> last() const { return told_; }

  /// The same in detail.
  std::span<const Look> looks() const { return looks_; }

  /// Back to the state after construction.
  void reset();

  /// All that has been learnt, to or from a snapshot; from one only after construction.
  void exchange(Archive& archive);

 private:
  class Output;

  std::vector<Output> of_;
  std::vector<Look> looks_;
  std::vector<double> told_;
};

}  // namespace kalstream
