// Inputs of rows as trees look at them: by the bin that each value is in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/archive.h"
#include "core/rng.h"

namespace kalstream {

/// Of some of the inputs, thresholds, and the bins between them that the rows' values are in.
class BinnedInputs {
 public:
  static constexpr std::size_t bins = 32;
  static constexpr std::size_t thresholds = bins - 1;  ///< of each input
  static constexpr std::size_t most = 32;              ///< inputs looked at

  /// For so many inputs, and rows at places below `places`.
  BinnedInputs(std::size_t inputs, std::size_t places);

  /// How many inputs are looked at.
  std::size_t size() const { return inputs_.size(); }
  std::size_t input(std::size_t f) const { return inputs_[f]; }
  double threshold(std::size_t f, std::size_t b) const { return thresholds_[f * thresholds + b]; }

  /// Chooses the inputs at random, and their thresholds: value(i) is that of input i in some row.
  /// All rows have to be set again then.
  template <class Value>
  void draw(Rng& rng, const Value& value) {
    choose_inputs(rng);
    for (std::size_t f = 0; f < size(); ++f)
      for (std::size_t b = 0; b < thresholds; ++b)
        thresholds_[f * thresholds + b] = value(inputs_[f]);
    sort_thresholds();
  }
  /// The row at a place has inputs x.
  void set(std::size_t place, std::span<const double> x);
  /// Its bins: the numbers of thresholds below each value.
  const std::uint8_t* codes(std::size_t place) const { return &codes_[place * size()]; }

  void reset();
  void exchange(Archive& archive);

 private:
  void choose_inputs(Rng& rng);
  void sort_thresholds();

  std::size_t all_inputs_;
  std::vector<std::size_t> inputs_;
  std::vector<double> thresholds_;   // input × threshold, ascending
  std::vector<std::uint8_t> codes_;  // place × input
};

}  // namespace kalstream
