// Truncated back-propagation through time over a window of τ samples.
#pragma once

#include <vector>

#include "jacobian/differentiator.h"
#include "model/lstm.h"

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
  void weights_changed() override { stale_ = true; }
  void forecast(const double* theta, std::span<const double> inputs,
                std::span<double> d_hat) override;
  void reset() override;
  std::unique_ptr<Differentiator> clone() const override { return std::make_unique<Tbptt>(*this); }

 private:
  // The window is a ring: slot k of it holds the sample k after the carried state.
  LstmStep& step(std::size_t k) { return ring_[(first_ + k) % ring_.size()]; }
  const LstmState& state_before(std::size_t k) { return k == 0 ? start_ : step(k - 1).after; }
  void refresh(const double* theta);

  ParameterLayout layout_;
  OutputActivation activation_;
  LstmState start_;             // the state before the first sample of the window
  std::vector<LstmStep> ring_;  // τ steps
  std::size_t first_ = 0;
  std::size_t past_ = 0;  // committed samples in the window, at most τ − 1
  bool stale_ = false;    // θ changed since the past steps were computed
  std::vector<double> d_hat_;
  std::vector<double> da_;
  std::vector<double> dy_;
  std::vector<double> dc_;
  LstmState ahead_;  // scratch of forecast
  LstmStep ahead_step_;
};

}  // namespace kalstream
