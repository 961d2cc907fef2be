// Experts that count: how often each class was, which follows which, and naive Bayes.
#include <array>
#include <cmath>
#include <vector>

#include "classes/class_experts.h"
#include "classes/probabilities.h"

namespace kalstream {
namespace {

constexpr double half = 0.5;  // of a sample, for each class beforehand (Krichevsky and Trofimov)

// How often each class was: of all samples, or of those after each class.
class Frequencies final : public ClassExpert {
 public:
  Frequencies(std::size_t classes, bool after_each) : after_each_(after_each) { widen(classes); }

  void predict(const ClassMoment& now, const ClassPast&, std::span<double> p) override {
    for (std::size_t k = 0; k < p.size(); ++k) p[k] = (counts(now) ? counts(now)[k] : 0) + half;
    normalise(p);
  }
  void learn(const ClassMoment& now, const ClassPast&, std::size_t y) override {
    if (double* const c = counts(now)) c[y] += 1;
  }
  void widen(std::size_t classes) override {
    std::vector<double> wider((after_each_ ? classes : 1) * classes, 0.0);
    for (std::size_t at = 0; at < counts_.size(); ++at)
      wider[at / classes_ * classes + at % classes_] = counts_[at];
    counts_ = std::move(wider);
    classes_ = classes;
  }
  std::unique_ptr<ClassExpert> clone() const override {
    return std::make_unique<Frequencies>(*this);
  }
  void reset() override { std::fill(counts_.begin(), counts_.end(), 0.0); }
  void exchange(Archive& archive) override { archive.numbers(counts_, Archive::not_negative); }

 private:
  // Those that count at this moment; nullptr if there was no class before it.
  double* counts(const ClassMoment& now) {
    if (!after_each_) return counts_.data();
    return now.last < classes_ ? &counts_[now.last * classes_] : nullptr;
  }

  bool after_each_;
  std::size_t classes_ = 0;
  std::vector<double> counts_;  // [the class before][the class]
};

class NaiveBayes final : public ClassExpert {
 public:
  NaiveBayes(std::size_t inputs, std::size_t classes)
      : inputs_(inputs), values_(inputs * few), value_count_(inputs, 0) {
    widen(classes);
  }

  void predict(const ClassMoment& now, const ClassPast& past, std::span<double> p) override {
    for (std::size_t k = 0; k < classes_; ++k) p[k] = std::log((counts_[k] + half));
    for (std::size_t i = 0; i < inputs_; ++i) {
      const std::size_t v = find(i, now.x[i]);
      for (std::size_t k = 0; k < classes_; ++k)
        p[k] +=
            has_few_values(i) ? log_frequency(i, k, v) : log_density(i, k, now.x[i], past.scale);
    }
    softmax(p);
  }

  void learn(const ClassMoment& now, const ClassPast&, std::size_t y) override {
    counts_[y] += 1;
    for (std::size_t i = 0; i < inputs_; ++i) {
      const double x = now.x[i];
      double& mean = mean_[y * inputs_ + i];
      double& variance = variance_[y * inputs_ + i];
      const double before = x - mean;
      const double step = 1 / counts_[y];
      mean += before * step;
      variance = (1 - step) * (variance + before * before * step);
      if (!has_few_values(i)) continue;
      std::size_t v = find(i, x);
      if (v == value_count_[i]) {
        ++value_count_[i];
        if (v == few) continue;  // too many: from now on a normal distribution
        values_[i * few + v] = x;
      }
      tables_[(y * inputs_ + i) * few + v] += 1;
    }
  }

  void widen(std::size_t classes) override {  // rows of classes: the new ones are at the end
    classes_ = classes;
    counts_.resize(classes, 0.0);
    mean_.resize(classes * inputs_, 0.0);
    variance_.resize(classes * inputs_, 0.0);
    tables_.resize(classes * inputs_ * few, 0.0);
  }
  std::unique_ptr<ClassExpert> clone() const override {
    return std::make_unique<NaiveBayes>(*this);
  }
  void reset() override {
    for (auto* v : {&counts_, &mean_, &variance_, &tables_, &values_})
      std::fill(v->begin(), v->end(), 0.0);
    std::fill(value_count_.begin(), value_count_.end(), 0);
  }
  void exchange(Archive& archive) override {
    archive.numbers(counts_, Archive::not_negative);
    archive.numbers(mean_);
    archive.numbers(variance_, Archive::not_negative);
    archive.numbers(tables_, Archive::not_negative);
    archive.numbers(values_);
    for (std::size_t& n : value_count_) archive.count(n, few + 1);
  }

 private:
  static constexpr std::size_t few = 16;

  bool has_few_values(std::size_t i) const { return value_count_[i] <= few; }
  std::size_t find(std::size_t i, double x) const {
    const auto first = values_.begin() + static_cast<std::ptrdiff_t>(i * few);
    const auto last = first + static_cast<std::ptrdiff_t>(std::min(value_count_[i], few));
    return static_cast<std::size_t>(std::find(first, last, x) - first);
  }
  double log_frequency(std::size_t i, std::size_t k, std::size_t v) const {
    const auto kinds = static_cast<double>(value_count_[i] + 1);
    const double seen = v < value_count_[i] ? tables_[(k * inputs_ + i) * few + v] : 0;
    return std::log((seen + 1 / kinds) / (counts_[k] + 1));
  }
  // The variance of a class with few samples is mixed with that of all; density in units of the
  // deviation of all.
  double log_density(std::size_t i, std::size_t k, double x, const HeldMoments& scale) const {
    constexpr double beforehand = 2;  // samples
    const double unit = scale.deviation(i);
    const double n = counts_[k];
    const double common = scale.mean(i);
    const double mean = (n * mean_[k * inputs_ + i] + beforehand * common) / (n + beforehand);
    const double v =
        std::min((n * variance_[k * inputs_ + i] / unit / unit + beforehand) / (n + beforehand),
                 1e6) +
        1e-4;
    const double off = std::clamp((x - mean) / unit, -10.0, 10.0);
    return -half * (std::log(v) + off * off / v);
  }

  std::size_t inputs_;
  std::size_t classes_ = 0;
  std::vector<double> counts_;
  std::vector<double> mean_;      // class × input
  std::vector<double> variance_;  // the same
  std::vector<double> tables_;    // class × input × value
  std::vector<double> values_;    // input × value
  std::vector<std::size_t> value_count_;
};

}  // namespace

OwnedExpert make_class_expert(const FrequenciesPlan&, std::size_t /*inputs*/, std::size_t classes) {
  return std::make_unique<Frequencies>(classes, /*after_each=*/false);
}
OwnedExpert make_class_expert(const SuccessionPlan&, std::size_t /*inputs*/, std::size_t classes) {
  return std::make_unique<Frequencies>(classes, /*after_each=*/true);
}
OwnedExpert make_class_expert(const BayesPlan&, std::size_t inputs, std::size_t classes) {
  return std::make_unique<NaiveBayes>(inputs, classes);
}

}  // namespace kalstream
