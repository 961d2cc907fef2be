#include "update/first_order.h"

#include <algorithm>
#include <cmath>

#include "core/finite.h"
#include "kernels/kernels.h"

namespace kalstream {

// g = −Hᵀe.
StepStatus FirstOrder::update(std::span<const double> e, std::span<const double> H,
                              std::span<double> theta) {
  const double mu = learning_rate_.at(t_++);
  std::fill(g_.begin(), g_.end(), 0.0);
  for (std::size_t k = 0; k < e.size(); ++k)
    kernels::axpy(g_.size(), -e[k], H.data() + k * g_.size(), g_.data());
  if (!propose(mu, g_, theta, theta_new_) || !all_usable(theta_new_))
    return StepStatus::rejected_non_finite;
  accept();
  std::copy(theta_new_.begin(), theta_new_.end(), theta.begin());
  return StepStatus::applied;
}

void FirstOrder::reset() {
  t_ = 0;
  reset_state();
}

namespace {

class SgdRule final : public FirstOrder {
 public:
  SgdRule(const Sgd& o, std::size_t n) : FirstOrder(o.learning_rate, n) {}
  std::unique_ptr<UpdateRule> clone() const override { return std::make_unique<SgdRule>(*this); }

 private:
  // θ⁺ = θ − μ g.
  bool propose(double mu, std::span<const double> g, std::span<const double> theta,
               std::span<double> theta_new) override {
    for (std::size_t n = 0; n < g.size(); ++n) theta_new[n] = theta[n] - mu * g[n];
    return true;
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
  bool propose(double mu, std::span<const double> g, std::span<const double> theta,
               std::span<double> theta_new) override {
    bool finite = true;
    for (std::size_t n = 0; n < g.size(); ++n) {
      v_new_[n] = o_.decay * v_[n] + (1 - o_.decay) * g[n] * g[n];
      theta_new[n] = theta[n] - mu * g[n] / (std::sqrt(v_new_[n]) + o_.epsilon);
      finite &= std::isfinite(v_new_[n]);
    }
    return finite;
  }
  void accept() override { std::swap(v_, v_new_); }
  void reset_state() override { std::fill(v_.begin(), v_.end(), 0.0); }

  RmsProp o_;
  std::vector<double> v_, v_new_;
};

class AdamRule final : public FirstOrder {
 public:
  AdamRule(const Adam& o, std::size_t n)
      : FirstOrder(o.learning_rate, n), o_(o), m_(n, 0.0), v_(n, 0.0), m_new_(n), v_new_(n) {}
  std::unique_ptr<UpdateRule> clone() const override { return std::make_unique<AdamRule>(*this); }

 private:
  // m⁺ = β₁m + (1−β₁)g;  v⁺ = β₂v + (1−β₂)g²;
  // θ⁺ = θ − μ (m⁺/(1−β₁ᵗ)) / (√(v⁺/(1−β₂ᵗ)) + ε),  t = 1, 2, ….
  bool propose(double mu, std::span<const double> g, std::span<const double> theta,
               std::span<double> theta_new) override {
    const double m_scale = 1 / (1 - first_power_ * o_.first_decay);
    const double v_scale = 1 / (1 - second_power_ * o_.second_decay);
    bool finite = true;
    for (std::size_t n = 0; n < g.size(); ++n) {
      m_new_[n] = o_.first_decay * m_[n] + (1 - o_.first_decay) * g[n];
      v_new_[n] = o_.second_decay * v_[n] + (1 - o_.second_decay) * g[n] * g[n];
      theta_new[n] =
          theta[n] - mu * (m_new_[n] * m_scale) / (std::sqrt(v_new_[n] * v_scale) + o_.epsilon);
      finite &= std::isfinite(v_new_[n]);
    }
    return finite;
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

  Adam o_;
  double first_power_ = 1;  // β₁ᵗ
  double second_power_ = 1;
  std::vector<double> m_, v_, m_new_, v_new_;
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
