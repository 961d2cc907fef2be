// d̂ and H = ∂d̂/∂θ for the network unrolled over the stream.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/layout.h"
#include "kalstream/options.h"
#include "model/network.h"

namespace kalstream {

class Archive;

/// Follows the stream with the network. For each sample: forward (any number of times, the last
/// one counts), then jacobian if wanted, then commit. forward alone changes nothing that later
/// calls return.
class Differentiator {
 public:
  virtual ~Differentiator() = default;

  /// d̂ for input x (n_inputs entries) under θ. The view lives until the next call.
  virtual std::span<const double> forward(const double* theta, std::span<const double> x) = 0;

  /// H (n_d × n_θ, row after row) of the last forward, which must have been under the same θ.
  virtual void jacobian(const double* theta, std::span<double> H) = 0;

  /// Makes the input of the last forward part of the stream. θ as in forward.
  virtual void commit(const double* theta) = 0;

  /// θ is no longer the one earlier calls were made with.
  void weights_changed() { stale_ = true; }

  /// A look ahead, which changes nothing: start_ahead goes back to the last committed sample, ahead
  /// gives d̂ for the one after the last it was asked for.
  virtual void start_ahead(const double* theta) = 0;
  void ahead(const double* theta, std::span<const double> x, std::span<double> d_hat) {
    step_on(layout_, activation_, theta, weights_, x, ahead_, ahead_step_[0], d_hat);
  }

  /// Back to the start of a stream.
  virtual void reset() = 0;

  virtual std::unique_ptr<Differentiator> clone() const = 0;

  /// The stream's past, to or from a snapshot; from one only after construction.
  virtual void exchange(Archive& archive) = 0;

 protected:
  explicit Differentiator(const NetworkOptions& network)
      : layout_(network),
        activation_(network.output_activation),
        weights_(layout_),
        d_hat_(layout_.n_d),
        ahead_(layout_.n_s),
        ahead_step_(layout_, 1) {}
  Differentiator(const Differentiator&) = default;
  Differentiator& operator=(const Differentiator&) = default;

  ParameterLayout layout_;
  OutputActivation activation_;
  CellWeights weights_;
  bool stale_ = true;  // θ has changed since weights_, and all that follows of them, were set
  std::vector<double> d_hat_;
  CellState ahead_;  // of the look ahead

 private:
  CellSteps ahead_step_;
};

std::unique_ptr<Differentiator> make_differentiator(const NetworkOptions& network);

}  // namespace kalstream
