// What stands in for inputs that are missing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/moments.h"

namespace kalstream {

class Archive;

/// What a missing input probably is: the mean of its values so far; moved towards what the inputs
/// that are there let expect, and towards its last value, as far as these would have foretold it
/// when it was there. Both are linear regressions that learn from every sample. One that hardly
/// explains anything is left out, so that a value that is missing stays recognisable.
class ExpectedInputs {
 public:
  explicit ExpectedInputs(std::size_t inputs);

  /// As many numbers as inputs, each usable or NaN: missing.
  static bool are_usable(std::span<const double> x);
  /// x, with what is expected in the place of what is missing. The view lives until the next call.
  std::span<const double> complete(std::span<const double> x);
  /// The stream has moved on to x.
  void add(std::span<const double> x);
  void reset();
  void exchange(Archive& archive);

 private:
  /// From the inputs that are there (1) and from the last value (2): y ≈ w₁z₁ + w₂z₂.
  struct Regression {
    double z11 = 0, z12 = 0, z22 = 0, z1y = 0, z2y = 0;
    double error = 0;   // squared, of what it expected
    double square = 0;  // … of y itself
    double expect(double z1, double z2) const;
    void learn(double z1, double z2, double y);
  };

  bool knows_correlations() const { return !product_.empty(); }
  double& product(std::size_t i, std::size_t k) { return product_[i * inputs_ + k]; }
  double standardised(std::size_t k, double v) const;
  double last_standardised(std::size_t k) const;
  double from_others(std::size_t k);

  std::size_t inputs_;
  std::vector<double> count_;  // values of each input
  std::vector<Welford> moments_;
  std::vector<double> last_;        // value of each; 0 before the first
  std::vector<Regression> expect_;  // of each
  std::uint64_t samples_ = 0;
  std::size_t next_checked_ = 0;  // input of the regression that learns next
  std::vector<double> product_;   // mean of z_i z_k: inputs × inputs, or none where they are many
  std::vector<double> z_;         // of the sample at hand, standardised; NaN where it is missing
  std::vector<double> completed_;
};

}  // namespace kalstream
