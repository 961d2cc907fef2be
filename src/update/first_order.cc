#include "update/first_order.h"

#include <algorithm>

#include "core/archive.h"
#include "core/finite.h"
#include "kernels/kernels.h"

namespace kalstream {

using kernels::active;

// The gradient is −Hᵀe; that of a single output need not be written down.
StepStatus FirstOrder::update(std::span<const double> e, std::span<const double> H,
                              AlignedVector& theta) {
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
  if (!propose(mu, scale, g, theta, theta_new_.data())) return StepStatus::rejected_non_finite;
  accept();
  std::swap(theta, theta_new_);
  return StepStatus::applied;
}

void FirstOrder::reset() {
  t_ = 0;
  reset_state();
}

void FirstOrder::exchange(Archive& archive) {
  archive.count(t_);
  exchange_state(archive);
}

namespace {

class SgdRule final : public FirstOrder {
 public:
  SgdRule(const Sgd& o, std::size_t n) : FirstOrder(o.learning_rate, n) {}
  std::unique_ptr<UpdateRule> clone() const override { return std::make_unique<SgdRule>(*this); }

 private:
  // θ⁺ = θ − μ g.
  bool propose(double mu, double scale, const double* g, std::span<const double> theta,
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

 private:
  // v⁺ = βv + (1−β)g²;  θ⁺ = θ − μ g / (√v⁺ + ε).
  bool propose(double mu, double scale, const double* g, std::span<const double> theta,
               double* theta_new) override {
    const kernels::RmsPropStep step{mu, o_.decay, o_.epsilon, scale, pull()};
    return active().rmsprop(theta.size(), step, g, theta.data(), v_.data(), largest_magnitude,
                            theta_new, v_new_.data());
  }
  void accept() override { std::swap(v_, v_new_); }
  void reset_state() override { std::fill(v_.begin(), v_.end(), 0.0); }
  void exchange_state(Archive& archive) override { archive.numbers(v_, Archive::not_negative); }

  RmsProp o_;
  AlignedVector v_, v_new_;
};

class AdamRule final : public FirstOrder {
 public:
  AdamRule(const Adam& o, std::size_t n)
      : FirstOrder(o.learning_rate, n), o_(o), m_(n, 0.0), v_(n, 0.0), m_new_(n), v_new_(n) {}
  std::unique_ptr<UpdateRule> clone() const override { return std::make_unique<AdamRule>(*this); }

 private:
  // m⁺ = β₁m + (1−β₁)g;  v⁺ = β₂v + (1−β₂)g²;
  // θ⁺ = θ − μ (m⁺/(1−β₁ᵗ)) / (√(v⁺/(1−β₂ᵗ)) + ε),  t = 1, 2, ….
  bool propose(double mu, double scale, const double* g, std::span<const double> theta,
               double* theta_new) override {
    const kernels::AdamStep step{.learning_rate = mu,
                                 .first_decay = o_.first_decay,
                                 .second_decay = o_.second_decay,
                                 .epsilon = o_.epsilon,
                                 .first_scale = 1 / (1 - first_power_ * o_.first_decay),
                                 .second_scale = 1 / (1 - second_power_ * o_.second_decay),
                                 .gradient_scale = scale,
                                 .pull = pull()};
    return active().adam(theta.size(), step, g, theta.data(), m_.data(), v_.data(),
                         largest_magnitude, theta_new, m_new_.data(), v_new_.data());
  }
  void accept() override {
    std::swap(m_, m_new_);
    std::swap(v_, v_new_);
    first_power_ *= o_.first_decay;
    second_power_ *= o_.second_decay;
  }
  void reset_state() override {
    std::fill(m_.begin(), m_.end(), 0.0);
    std::fill(v_.begin(), v_.end(), 0.0);
    first_power_ = second_power_ = 1;
  }
  void exchange_state(Archive& archive) override {
    archive.numbers(m_);
    archive.numbers(v_, Archive::not_negative);
    archive.number(first_power_, Archive::fraction);
    archive.number(second_power_, Archive::fraction);
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
