// The blends of all outputs.
#pragma once

#include <span>
#include <vector>

#include "auto/blend.h"
#include "auto/range.h"

namespace kalstream {

/// One Blend for each output; predictions of experts are experts × outputs.
class Blends {
 public:
  Blends(std::size_t experts, std::size_t outputs, const Favourite& favourite = {});

  void predict(std::span<const double> said, std::span<double> d_hat);
  void learn(std::span<const double> d);
  void widen(const TargetRange& range);
  /// Of the last prediction, added up over the outputs: (d̂ without expert j − d̂)², each in units
  /// of the running squared error.
  void without_each(std::span<double> moved);
  void reset();
  void exchange(Archive& archive);

  /// How uncertain the last prediction d̂ is, with the variances of the experts' own relative to the
  /// noise. The view lives until the next call.
  std::span<const double> spread(std::span<const double> d_hat,
                                 std::span<const double> relative_variance);

  /// How much each expert counts, on average over the outputs.
  std::span<const double> weights() const { return weights_; }
  const Blend& operator[](std::size_t k) const { return blends_[k]; }
  auto begin() { return blends_.begin(); }
  auto end() { return blends_.end(); }

 private:
  void gather_weights();

  std::vector<Blend> blends_;
  std::vector<double> q_;  // what the experts say of one output
  std::vector<double> spread_;
  std::vector<double> weights_;
};

}  // namespace kalstream
