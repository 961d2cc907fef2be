// d̂ and H = ∂d̂/∂θ for the network unrolled over the stream.
#pragma once

#include <memory>
#include <span>

#include "core/layout.h"
#include "kalstream/options.h"

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
  virtual void weights_changed() = 0;

  /// A look ahead, which changes nothing: start_ahead goes back to the last committed sample, ahead
  /// gives d̂ for the one after the last it was asked for.
  virtual void start_ahead(const double* theta) = 0;
  virtual void ahead(const double* theta, std::span<const double> x, std::span<double> d_hat) = 0;

  /// Back to the start of a stream.
  virtual void reset() = 0;

  virtual std::unique_ptr<Differentiator> clone() const = 0;

  /// The stream's past, to or from a snapshot; from one only after construction.
  virtual void exchange(Archive& archive) = 0;

 protected:
  Differentiator() = default;
  Differentiator(const Differentiator&) = default;
  Differentiator& operator=(const Differentiator&) = default;
};

std::unique_ptr<Differentiator> make_differentiator(const NetworkOptions& network);

}  // namespace kalstream
