#include <algorithm>
#include <cmath>
#include <vector>

#include "classes/class_experts.h"
#include "classes/probabilities.h"
#include "core/finite.h"
#include "core/least_squares.h"

namespace kalstream {
namespace {

/// Logistic regression of many classes, p = softmax(W [1 ; x]), with one covariance P for the
/// weights of every class: a step costs n² + nK of n inputs and K classes, where a covariance for
/// each row of weights costs K²n².
///
///     e_k = [y = k] − p_k,  g = Px,  v = xᵀPx
///     W_k ← W_k + g e_k/(1 + cv),   P ← P − ggᵀ/(v + 1/h) + qI
///
/// h = (1 − Σp²)/K is the curvature p_k(1 − p_k) of the loss, in the mean over the classes, and
/// c = eᵀ(diag p − ppᵀ)e/eᵀe that along the error: larger where the sample contradicts p so much
/// that the step would carry it beyond its own optimum.
class SoftmaxExpert final : public ClassExpert {
 public:
  SoftmaxExpert(std::size_t inputs, std::size_t classes, const SoftmaxPlan& plan)
      : plan_(plan),
        inputs_(inputs),
        classes_(classes),
        x_(inputs + plan.lags * LabelCode{classes}.size() + 1, 1.0),
        weights_(classes * x_.size()),
        P_(x_.size() * x_.size()),
        g_(x_.size()),
        p_(classes) {
    reset();
  }

  void predict(const ClassMoment& now, const ClassPast&, std::span<double> p) override {
    std::ranges::copy(view(now), x_.begin());
    say(p);
  }
  void learn(const ClassMoment& now, const ClassPast&, std::size_t y) override {
    std::ranges::copy(view(now), x_.begin());
    learn(y);
  }
  void start_over(const ClassPast& past) override {
    reset();
    for (std::size_t age = past.memory.size(); age > 0; --age) {
      const std::size_t at = past.memory.place(age);
      see_inputs(past.scale, past.memory.x(at), std::span(x_).first(inputs_));
      const LabelCode code{classes_};
      for (std::size_t lag = 1; lag <= plan_.lags; ++lag) {
        const bool is_known = age + lag <= past.memory.size();
        code.write(is_known ? past.memory.label(past.memory.place(age + lag)) : no_class,
                   std::span(x_).subspan(inputs_ + (lag - 1) * code.size(), code.size()));
      }
      learn(past.memory.label(at));
    }
  }
  bool starts_over() const override { return true; }
  std::unique_ptr<ClassExpert> clone() const override {
    return std::make_unique<SoftmaxExpert>(*this);
  }
  void reset() override {
    std::ranges::fill(weights_, 0.0);
    std::ranges::fill(P_, 0.0);
    for (std::size_t i = 0; i < x_.size(); ++i) P_[i * x_.size() + i] = plan_.variance;
  }
  void exchange(Archive& archive) override {
    archive.numbers(weights_);
    archive.numbers(P_);
  }

 private:
  std::span<const double> view(const ClassMoment& now) const {
    return now.seen.first(x_.size() - 1);
  }
  void say(std::span<double> p) const {
    const std::size_t n = x_.size();
    for (std::size_t k = 0; k < classes_; ++k) {
      double z = 0;
      for (std::size_t i = 0; i < n; ++i) z += weights_[k * n + i] * x_[i];
      p[k] = z;
    }
    softmax(p);
  }
  void learn(std::size_t y) {
    const std::size_t n = x_.size();
    say(p_);
    const double variance = gain(P_, x_, g_) - 1;
    if (!(variance >= 0)) return;
    const double step = 1 / (1 + curvature(y) * variance);
    for (std::size_t k = 0; k < classes_; ++k) {
      const double e = ((k == y ? 1 : 0) - p_[k]) * step;
      for (std::size_t i = 0; i < n; ++i) weights_[k * n + i] += g_[i] * e;
    }
    double h = 1;
    for (const double p : p_) h -= p * p;
    h /= static_cast<double>(classes_);
    if (h > least_curvature) downdate(P_, g_, variance + 1 / h);
    for (std::size_t i = 0; i < n; ++i) P_[i * n + i] += plan_.process_noise;
    if (!all_usable(weights_)) reset();
  }

  // With a = (1 − p_y)/p_y a full step leads to where y has the odds e² : 1, as LossFunction has
  // it.
  double curvature(std::size_t y) const {
    double mean = 0;
    double squares = 0;
    double length = 0;
    for (std::size_t k = 0; k < classes_; ++k) {
      const double e = (k == y ? 1 : 0) - p_[k];
      mean += p_[k] * e;
      squares += p_[k] * e * e;
      length += e * e;
    }
    const double a = (1 - p_[y]) / std::max(p_[y], least_curvature);
    const double growth = std::max(1.0, (1 + a) / (2 + std::log(std::max(a, 1.0))));
    return growth * (squares - mean * mean) / std::max(length, least_curvature);
  }

  static constexpr double least_curvature = 1e-12;

  SoftmaxPlan plan_;
  std::size_t inputs_;
  std::size_t classes_;
  std::vector<double> x_;        // inputs, classes before, 1
  std::vector<double> weights_;  // class × the same
  std::vector<double> P_;
  std::vector<double> g_;
  std::vector<double> p_;
};

}  // namespace

OwnedExpert make_class_expert(const SoftmaxPlan& plan, std::size_t inputs, std::size_t classes) {
  return std::make_unique<SoftmaxExpert>(inputs, classes, plan);
}

}  // namespace kalstream
