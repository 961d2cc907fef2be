#include "classes/calibration.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "classes/probabilities.h"

namespace kalstream {
namespace {

constexpr std::array knots{-9.0, -6.0, -4.0, -2.5, -1.5, -0.8, -0.4, -0.2, -0.08, -0.02, 0.0};

ClassStack make_curve(std::size_t classes) {
  ClassStack::Plan plan{
      .weights = {}, .deviations = {}, .process_noise = constants::calibration_forgetting};
  for (const double knot : knots) {
    plan.weights.push_back(knot);
    plan.deviations.push_back(std::abs(knot) + 0.05);
  }
  return {classes, plan};
}

// v by straight lines between knots: how much each of them counts.
void write_hats(double v, std::size_t stride, double* to) {
  for (std::size_t j = 0; j < knots.size(); ++j) to[j * stride] = 0;
  const auto above =
      static_cast<std::size_t>(std::upper_bound(knots.begin(), knots.end() - 1, v) - knots.begin());
  const std::size_t j = std::max<std::size_t>(above, 1);
  const double part = std::clamp((v - knots[j - 1]) / (knots[j] - knots[j - 1]), 0.0, 1.0);
  to[(j - 1) * stride] = 1 - part;
  to[j * stride] = part;
}

}  // namespace

Calibration::Calibration(std::size_t classes)
    : classes_(classes),
      temperature_(classes, {.weights = {1},
                             .deviations = {constants::calibration_deviation},
                             .process_noise = constants::calibration_forgetting}),
      curve_(make_curve(classes)),
      last_word_(std::vector<double>(3, 1.0 / 3)),
      features_(knots.size() * classes),
      answers_(3 * classes) {}

void Calibration::predict(std::span<double> p) {
  const auto answer = [&](std::size_t j) {
    return std::span(answers_).subspan(j * classes_, classes_);
  };
  std::copy(p.begin(), p.end(), answers_.begin());
  for (std::size_t k = 0; k < classes_; ++k) features_[k] = std::log(p[k]);
  temperature_.predict(std::span(features_).first(classes_), answer(1));
  for (std::size_t k = 0; k < classes_; ++k) write_hats(std::log(p[k]), classes_, &features_[k]);
  curve_.predict(features_, answer(2));
  for (const std::size_t j : {1, 2}) keep_possible(answer(j), constants::least_probability);
  last_word_.predict(answers_, p);
}

void Calibration::learn(std::size_t y) {
  last_word_.learn(answers_, classes_, y);
  temperature_.learn(y);
  curve_.learn(y);
}

void Calibration::widen(std::size_t classes) {
  classes_ = classes;
  temperature_.widen(classes);
  curve_.widen(classes);
  features_.resize(knots.size() * classes);
  answers_.resize(3 * classes);
}

void Calibration::reset() {
  temperature_.reset();
  curve_.reset();
  last_word_.reset();
}

void Calibration::exchange(Archive& archive) {
  temperature_.exchange(archive);
  curve_.exchange(archive);
  last_word_.exchange(archive);
}

}  // namespace kalstream
