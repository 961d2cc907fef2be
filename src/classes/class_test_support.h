// What the tests of a classifier's parts share: what experts are shown of a stream, and state as
// bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "classes/class_expert.h"
#include "core/archive.h"
#include "support.h"

namespace kalstream::test {

/// The samples before a moment, and the moment itself, as AutoClassifier shows them to experts.
class ClassHistory {
 public:
  static constexpr std::size_t lags = 4;  // classes before that a moment shows

  ClassHistory(std::size_t inputs, std::size_t classes)
      : inputs_(inputs),
        code_{classes},
        scale_(inputs),
        memory_(inputs),
        last_(lags, no_class),
        seen_(inputs + lags * code_.size()) {}

  ClassPast past() const { return {memory_, scale_}; }
  const ClassMemory& memory() const { return memory_; }
  HeldMoments& scale() { return scale_; }

  /// A sample whose class is not known. The views are valid until the next call.
  ClassMoment moment(const Vector& x) {
    x_ = x;
    see_inputs(scale_, x_, std::span(seen_).first(x_.size()));
    for (std::size_t lag = 0; lag < lags; ++lag)
      code_.write(last_[lag],
                  std::span(seen_).subspan(x_.size() + lag * code_.size(), code_.size()));
    return {.x = x_, .seen = seen_, .last = last_[0], .step = step_};
  }

  Vector predict(ClassExpert& expert, const Vector& x) {
    Vector p(code_.classes);
    expert.predict(moment(x), past(), p);
    return p;
  }

  /// The sample x is of class y: the memory takes it, then the experts learn it.
  void learn(std::span<ClassExpert* const> experts, const Vector& x, std::size_t y) {
    const ClassMoment now = moment(x);
    memory_.push(x, y);
    for (ClassExpert* expert : experts) expert->learn(now, past(), y);
    std::shift_right(last_.begin(), last_.end(), 1);
    last_[0] = y;
    scale_.add(x);
    ++step_;
  }
  void learn(ClassExpert& expert, const Vector& x, std::size_t y) {
    ClassExpert* const one = &expert;
    learn(std::span(&one, 1), x, y);
  }
  /// The same, for an expert that has to predict a sample before it learns it.
  Vector predict_and_learn(ClassExpert& expert, const Vector& x, std::size_t y) {
    const Vector p = predict(expert, x);
    learn(expert, x, y);
    return p;
  }

  /// There are more classes from now on.
  void widen(std::size_t classes) {
    code_.classes = classes;
    seen_.assign(inputs_ + lags * code_.size(), 0.0);
  }

 private:
  std::size_t inputs_;
  LabelCode code_;
  HeldMoments scale_;
  ClassMemory memory_;
  std::vector<std::size_t> last_;  // classes before, the newest first
  std::uint64_t step_ = 0;
  Vector x_;
  Vector seen_;
};

/// The state of anything that has exchange(Archive&).
template <class T>
std::vector<std::byte> state_bytes(T& of) {
  std::vector<std::byte> bytes;
  Archive to(bytes);
  of.exchange(to);
  return bytes;
}

/// Gives that state to another one, made alike.
template <class T>
void restore_from(std::span<const std::byte> bytes, T& to) {
  Archive from(bytes);
  to.exchange(from);
  EXPECT_EQ(from.left(), 0U);
}

/// Each at least 0, together 1.
inline testing::AssertionResult are_probabilities(std::span<const double> p) {
  double sum = 0;
  for (const double v : p) {
    if (!(v >= 0 && v <= 1)) return testing::AssertionFailure() << v << " is no probability";
    sum += v;
  }
  if (std::abs(sum - 1) > 1e-9) return testing::AssertionFailure() << "their sum is " << sum;
  return testing::AssertionSuccess();
}

}  // namespace kalstream::test
