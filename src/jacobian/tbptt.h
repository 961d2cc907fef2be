// Truncated back-propagation through time over a window of τ samples.
#pragma once

#include <vector>

#include "jacobian/differentiator.h"

namespace kalstream {

/// The state τ samples ago is carried; the last τ inputs are propagated again with the current θ.
/// While θ stands still the steps of the previous window are still right, bit for bit, so only
/// the newest is computed.
class Tbptt final : public Differentiator {
 public:
  explicit Tbptt(const NetworkOptions& network);

  std::span<const double> forward(const double* theta, std::span<const double> x) override;
  void jacobian(const double* theta, std::span<double> H) override;
  void commit(const double* theta) override;
  void start_ahead(const double* theta) override;
  void reset() override;
  std::unique_ptr<Differentiator> clone() const override { return std::make_unique<Tbptt>(*this); }
  void exchange(Archive& archive) override;

 private:
  // The window is a ring: place k of it holds the sample k after the carried state. Until it is
  // full it starts at slot 0, so that its steps always are the first slots.
  std::size_t slot(std::size_t k) const { return (first_ + k) % window_; }
  const double* c_before(std::size_t k) { return k == 0 ? start_.c.data() : ring_[slot(k - 1)].c; }
  const double* y_before(std::size_t k) { return k == 0 ? start_.y.data() : ring_[slot(k - 1)].y; }
  void refresh(const double* theta);

  std::size_t window_;  // τ
  CellState start_;     // the state before the first sample of the window
  CellSteps ring_;      // τ steps
  std::size_t first_ = 0;
  std::size_t past_ = 0;  // committed samples in the window, at most τ − 1
  AlignedVector da_;      // ∂d̂_k/∂a of every step of the window
  AlignedVector dy_;
  AlignedVector dc_;
};

}  // namespace kalstream
