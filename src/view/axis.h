// Internal to the charts: from values to coordinates, and to the numbers written at them.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "view/chart.h"

namespace kalstream::view::internal {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// A value written next to its mark.
std::string value_label(double value, int digits);

/// Where a value lies on a scale; NaN where it has no place there. The limits keep differences
/// and padded ranges finite.
double on_scale(Scale scale, double value);

/// An interval of a scale that grows with the values it has to hold.
struct Range {
  Scale scale = Scale::linear;
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  bool empty() const { return low > high; }
  void include(double value);

  /// The same, but never empty and never without extent; what has extent gains `padding`, a
  /// fraction of it, at both ends.
  Range settled(double padding) const;

  double value_at(double u) const;
  std::vector<Tick> ticks(int wanted) const;
};

/// A range laid out from one coordinate to another.
struct Axis {
  Range range;
  double from = 0;
  double to = 1;

  /// NaN where the value has no place. Far outside is as good as outside, and prints shorter.
  double at(double value) const;

  /// As many ticks as fit side by side with their labels.
  std::vector<Tick> ticks_across() const;
};

/// How many ticks fit on top of each other.
int ticks_upwards(double height);

}  // namespace kalstream::view::internal
