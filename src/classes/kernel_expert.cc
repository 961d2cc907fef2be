#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "classes/class_experts.h"
#include "classes/class_stack.h"
#include "learner/kernel_learner.h"

namespace kalstream {
namespace {

/// Least squares on the kernel's features, with one target per class that is 1 for the class of the
/// sample and 0 for the others: what it says estimates the probabilities (docs/kernels.md). A
/// stack of two features of what it says makes probabilities of that.
class KernelExpert final : public ClassExpert {
 public:
  KernelExpert(std::size_t inputs, std::size_t classes, const Kernel& rule)
      : inputs_(inputs),
        classes_(classes),
        learner_(inputs, classes == 2 ? 1 : classes, rule),
        stack_(classes, {.weights = {1, 0},
                         .deviations = {constants::calibration_deviation, 1},
                         .process_noise = constants::calibration_forgetting}),
        target_(learner_.outputs()),
        features_(2 * classes),
        again_(inputs) {}

  void predict(const ClassMoment& now, const ClassPast&, std::span<double> p) override {
    const auto d_hat = learner_.predict(now.seen.first(inputs_));
    const double least = 0.01 / static_cast<double>(classes_);
    for (std::size_t k = 0; k < classes_; ++k) {
      double share = classes_ == 2 ? share_of(d_hat[0]) : share_of(d_hat[k]);
      if (classes_ == 2 && k == 0) share = 1 - share;
      features_[k] = std::log(std::clamp(share, least, 1.0));
      features_[classes_ + k] = std::clamp(share, -0.5, 1.5);
    }
    stack_.predict(features_, p);
  }

  void learn(const ClassMoment& now, const ClassPast&, std::size_t y) override {
    stack_.learn(y);
    learner_.learn(now.seen.first(inputs_), target_of(y));
  }

  // A young one does all that there is to do at once.
  void start_over(const ClassPast& past) override {
    constexpr std::size_t young = 128;
    learner_.reset();
    const bool is_young = past.memory.size() <= young;
    for (std::size_t age = past.memory.size(); age > 0; --age) {
      const std::size_t at = past.memory.place(age);
      see_inputs(past.scale, past.memory.x(at), again_);
      const auto target = target_of(past.memory.label(at));
      if (is_young)
        learner_.learn(again_, target);
      else
        learner_.remember(again_, target);
    }
  }

  bool starts_over() const override { return true; }
  std::unique_ptr<ClassExpert> clone() const override {
    return std::make_unique<KernelExpert>(*this);
  }
  void reset() override {
    learner_.reset();
    stack_.reset();
  }
  void exchange(Archive& archive) override {
    learner_.exchange(archive);
    stack_.exchange(archive);
  }

 private:
  // Targets are standardised as if all classes were equally frequent.
  double mean() const { return 1 / static_cast<double>(classes_); }
  double deviation() const { return std::sqrt(mean() * (1 - mean())); }
  double share_of(double d_hat) const { return mean() + deviation() * d_hat; }
  std::span<const double> target_of(std::size_t y) {
    const double other = -mean() / deviation();
    std::ranges::fill(target_, other);
    const double is_class = (1 - mean()) / deviation();
    if (classes_ > 2)
      target_[y] = is_class;
    else if (y == 1)
      target_[0] = is_class;
    return target_;
  }

  std::size_t inputs_;
  std::size_t classes_;
  KernelLearner learner_;
  ClassStack stack_;
  std::vector<double> target_;
  std::vector<double> features_;
  std::vector<double> again_;
};

}  // namespace

OwnedExpert make_class_expert(const Kernel& rule, std::size_t inputs, std::size_t classes) {
  return std::make_unique<KernelExpert>(inputs, classes, rule);
}

}  // namespace kalstream
