#include "update/first_order.h"

#include <algorithm>

#include "core/archive.h"
#include "core/finite.h"
#include "kernels/kernels.h"
#include "update/longevity.h"

namespace kalstream {
namespace {

using kernels::active;

// What the first-order rules share: the gradient, and an update that happens whole or not at all.
class FirstOrder : public UpdateRule {
 public:
  FirstOrder(Schedule learning_rate, std::size_t n_theta)
      : learning_rate_(learning_rate), g_(n_theta), theta_new_(n_theta) {}

  // The gradient is −Hᵀe; that of a single output need not be written down.
  StepStatus update(std::span<const double> e, std::span<const double> H,
                    AlignedVector& theta) final {
    const double mu = learning_rate_.at(t_++);
    double scale = -e[0];
    const double* g = H.data();
    if (e.size() > 1) {
      std::fill(g_.begin(), g_.end(), 0.0);
      for (std::size_t k = 0; k < e.size(); ++k)
        active().axpy(g_.size(), -e[k], H.data() + k * g_.size(), g_.data());
      scale = 1;
      g = g_.data();
    }
    if (!step(mu, scale, g, theta, theta_new_.data())) return StepStatus::rejected_non_finite;
    std::swap(theta, theta_new_);
    return StepStatus::applied;
  }
  void reset() override { t_ = 0; }
  void exchange(Archive& archive) override { archive.count(t_); }

 protected:
  // θ⁺ from θ and the gradient, which is scale·g, and the rule's own state after it. False, and the
  // state stays as it was, if a weight would be beyond use or the state non-finite.
  virtual bool step(double mu, double scale, const double* g, std::span<const double> theta,
                    double* theta_new) = 0;
  // How strongly weights are pulled towards 0 in the update under way.
  double pull() const { return Longevity::pull(t_); }

 private:
  Schedule learning_rate_;
  std::uint64_t t_ = 0;
  AlignedVector g_;
  AlignedVector theta_new_;
};

class SgdRule final : public FirstOrder {
 public:
  SgdRule(const Sgd& o, std::size_t n) : FirstOrder(o.learning_rate, n) {}
  std::unique_ptr<UpdateRule> clone() const override { return std::make_unique<SgdRule>(*this); }

 private:
  // θ⁺ = θ − μ g.
  bool step(double mu, double scale, const double* g, std::span<const double> theta,
            double* theta_new) override {
    return active().move_within(theta.size(), -mu * scale, g, theta.data(), largest_magnitude,
                                theta_new);
  }
};

class RmsPropRule final : public FirstOrder {
 public:
  RmsPropRule(const RmsProp& o, std::size_t n)
      : FirstOrder(o.learning_rate, n), o_(o), v_(n, 0.0), v_new_(n) {}
  std::unique_ptr<UpdateRule> clone() const override {
    return std::make_unique<RmsPropRule>(*this);
  }
  void reset() override {
    FirstOrder::reset();
    std::fill(v_.begin(), v_.end(), 0.0);
  }
  void exchange(Archive& archive) override {
    FirstOrder::exchange(archive);
    archive.numbers(v_, Archive::not_negative);
  }

 private:
  // v⁺ = βv + (1−β)g²;  θ⁺ = θ − μ g / (√v⁺ + ε).
  bool step(double mu, double scale, const double* g, std::span<const double> theta,
            double* theta_new) override {
    const kernels::RmsPropStep by{mu, o_.decay, o_.epsilon, scale, pull()};
    if (!active().rmsprop(theta.size(), by, g, theta.data(), v_.data(), largest_magnitude,
                          theta_new, v_new_.data()))
      return false;
    std::swap(v_, v_new_);
    return true;
  }

  RmsProp o_;
  AlignedVector v_, v_new_;
};

class AdamRule final : public FirstOrder {
 public:
  AdamRule(const Adam& o, std::size_t n)
      : FirstOrder(o.learning_rate, n), o_(o), m_(n, 0.0), v_(n, 0.0), m_new_(n), v_new_(n) {}
  std::unique_ptr<UpdateRule> clone() const override { return std::make_unique<AdamRule>(*this); }
  void reset() override {
    FirstOrder::reset();
    std::fill(m_.begin(), m_.end(), 0.0);
    std::fill(v_.begin(), v_.end(), 0.0);
    first_power_ = second_power_ = 1;
  }
  void exchange(Archive& archive) override {
    FirstOrder::exchange(archive);
    archive.numbers(m_);
    archive.numbers(v_, Archive::not_negative);
    archive.number(first_power_, Archive::fraction);
    archive.number(second_power_, Archive::fraction);
  }

 private:
  // m⁺ = β₁m + (1−β₁)g;  v⁺ = β₂v + (1−β₂)g²;
  // θ⁺ = θ − μ (m⁺/(1−β₁ᵗ)) / (√(v⁺/(1−β₂ᵗ)) + ε),  t = 1, 2, ….
  bool step(double mu, double scale, const double* g, std::span<const double> theta,
            double* theta_new) override {
    const kernels::AdamStep by{.learning_rate = mu,
                               .first_decay = o_.first_decay,
                               .second_decay = o_.second_decay,
                               .epsilon = o_.epsilon,
                               .first_scale = 1 / (1 - first_power_ * o_.first_decay),
                               .second_scale = 1 / (1 - second_power_ * o_.second_decay),
                               .gradient_scale = scale,
                               .pull = pull()};
    if (!active().adam(theta.size(), by, g, theta.data(), m_.data(), v_.data(), largest_magnitude,
                       theta_new, m_new_.data(), v_new_.data()))
      return false;
    std::swap(m_, m_new_);
    std::swap(v_, v_new_);
    first_power_ *= o_.first_decay;
    second_power_ *= o_.second_decay;
    return true;
  }

  Adam o_;
  double first_power_ = 1;  // β₁ᵗ
  double second_power_ = 1;
  AlignedVector m_, v_, m_new_, v_new_;
};

}  // namespace

std::unique_ptr<UpdateRule> make_rule(const Sgd& options, const ParameterLayout& layout) {
  return std::make_unique<SgdRule>(options, layout.size());
}
std::unique_ptr<UpdateRule> make_rule(const RmsProp& options, const ParameterLayout& layout) {
  return std::make_unique<RmsPropRule>(options, layout.size());
}
std::unique_ptr<UpdateRule> make_rule(const Adam& options, const ParameterLayout& layout) {
  return std::make_unique<AdamRule>(options, layout.size());
}

}  // namespace kalstream
