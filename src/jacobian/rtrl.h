// Real-time recurrent learning: the exact derivative over the whole past, carried forward.
#pragma once

#include <vector>

#include "jacobian/differentiator.h"

namespace kalstream {

/// Carries the state and its sensitivities C = ∂c/∂W, Y = ∂y/∂W (n_s × gate weights; a GRU has no
/// c). At frozen weights H equals back-propagation through the whole history; otherwise each past
/// step counts with the weights it was made with. O(n_s² · gate weights) per sample.
class Rtrl final : public Differentiator {
 public:
  explicit Rtrl(const NetworkOptions& network);

  std::span<const double> forward(const double* theta, std::span<const double> x) override;
  void jacobian(const double* theta, std::span<double> H) override;
  void commit(const double* theta) override;
  void start_ahead(const double* theta) override;
  void reset() override;
  std::unique_ptr<Differentiator> clone() const override { return std::make_unique<Rtrl>(*this); }
  void exchange(Archive& archive) override;

 private:
  void refresh(const double* theta);
  void propagate_sensitivities(const double* theta);
  void add_preactivation(const double* theta, std::size_t row, const std::vector<double>& Y,
                         const double* input, double* da) const;
  void propagate_lstm(const double* theta);
  void propagate_gru(const double* theta);

  CellState state_;                    // after the last committed sample
  CellSteps newest_;                   // the last forward
  bool sensitivities_ready_ = false;   // C_new_, Y_new_ belong to newest_
  std::vector<double> C_, Y_;          // n_s × gate weights, after the last committed sample
  std::vector<double> C_new_, Y_new_;  // of a GRU, C_new_ is ∂(r∘y₋)/∂W
  std::vector<double> da_;             // the rows ∂a of one unit's gates
};

}  // namespace kalstream
