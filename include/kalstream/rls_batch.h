// Many linear models at once: recursive least squares for hundreds of thousands of small models on
// one machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kalstream/report.h"
#include "kalstream/rules/baselines.h"

namespace kalstream {

/// Independent models of one shape, each a linear model of its inputs and a constant for one
/// target, that predict and learn in one call. Each computes what the learner `rls` does, within
/// rounding: inputs and target standardised by running moments, then recursive least squares
/// (docs/batches.md has the equations, and what `rls` does for its long life that is left out).
///
///     RlsBatch models(100'000, 8);
///     models.learn(X, d, d_hat);   // X: 100,000 × 8, row by row; d_hat: as before d was known
///
/// After construction nothing allocates, and but for wrong sizes nothing throws. A sample that
/// cannot be used leaves its model as it was. One thread at a time.
class RlsBatch {
 public:
  /// Throws std::invalid_argument, naming the field, if they are wrong; process noise has to be
  /// constant.
  RlsBatch(std::size_t models, std::size_t inputs, const Rls& options = {});
  RlsBatch(const RlsBatch& other);
  RlsBatch(RlsBatch&&) noexcept;
  RlsBatch& operator=(RlsBatch other) noexcept;
  ~RlsBatch();

  std::size_t models() const;
  std::size_t inputs() const;
  std::size_t bytes() const;  ///< of memory that all of it takes, about
  /// Samples that the model has seen, with and without a target.
  std::uint64_t samples(std::size_t model) const;
  /// In the units of the data: d̂ = weights · x + constant, which comes last.
  std::vector<double> weights(std::size_t model) const;

  /// d̂ of each model for its row of X (models × inputs); NaN where the row cannot be used: a number
  /// is not finite, or beyond ±1e100. No effect on what any later call returns. Throws
  /// std::invalid_argument for wrong sizes, as do all.
  void predict(std::span<const double> X, std::span<double> d_hat);

  /// How many models have done what.
  struct Report {
    std::size_t applied = 0;
    std::size_t missing = 0;   ///< no target: only the moments of the inputs have moved on
    std::size_t rejected = 0;  ///< the sample could not be used, or the update not be made
  };
  /// Each model predicts its row of X and learns its target. A target that is NaN is missing; a row
  /// of NaN says that there is no sample. `d_hat` is what predict() would have given, `status` what
  /// became of each; both may be empty.
  Report learn(std::span<const double> X, std::span<const double> d, std::span<double> d_hat = {},
               std::span<StepStatus> status = {});

  /// The same for some models: `which` are their numbers, each larger than the one before, and X,
  /// d, d_hat and status have a row for each of these.
  void predict_some(std::span<const std::size_t> which, std::span<const double> X,
                    std::span<double> d_hat);
  Report learn_some(std::span<const std::size_t> which, std::span<const double> X,
                    std::span<const double> d, std::span<double> d_hat = {},
                    std::span<StepStatus> status = {});

  /// As after construction: one model, or all.
  void reset(std::size_t model);
  void reset();

  /// All that was learnt, as bytes, and back: to the bit on the same vector unit. Throws
  /// SnapshotError for all but a sound snapshot, and if it would take more than `most_memory`.
  std::vector<std::byte> save() const;
  static RlsBatch load(std::span<const std::byte> snapshot,
                       std::uint64_t most_memory = std::uint64_t{8} << 30);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kalstream
