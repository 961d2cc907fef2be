#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "classes/class_experts.h"
#include "classes/probabilities.h"

namespace kalstream {
namespace {

/// Nearer ones count more: by a normal distribution as wide as the middle one is far.
class Neighbours final : public ClassExpert {
 public:
  Neighbours(std::size_t inputs, std::size_t classes) : classes_(classes), x_(inputs) {}

  void predict(const ClassMoment& now, const ClassPast& past, std::span<double> p) override {
    const std::size_t found = find(now, past);
    std::fill(p.begin(), p.end(), 0.5 / static_cast<double>(classes_));
    const double width = std::max(distance_[found / 2], 1e-6);
    for (std::size_t k = 0; k < found; ++k) p[label_[k]] += std::exp(-0.5 * distance_[k] / width);
    normalise(p);
  }
  void learn(const ClassMoment&, const ClassPast&, std::size_t) override {}
  void widen(std::size_t classes) override { classes_ = classes; }
  std::unique_ptr<ClassExpert> clone() const override {
    return std::make_unique<Neighbours>(*this);
  }
  void reset() override {}
  void exchange(Archive&) override {}  // all it knows is in the memory

 private:
  static constexpr std::size_t most = 16;

  // The nearest, by squared distance in deviations, sorted by insertion.
  std::size_t find(const ClassMoment& now, const ClassPast& past) {
    const std::size_t n = x_.size();
    for (std::size_t i = 0; i < n; ++i) x_[i] = 1 / past.scale.deviation(i);
    std::size_t found = 0;
    distance_[0] = 0;
    const std::size_t size = std::min(past.memory.size(), constants::memory);
    for (std::size_t age = 1; age <= size; ++age) {
      const std::size_t at = past.memory.place(age);
      const double* x = past.memory.x(at).data();
      double d = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const double off = (x[i] - now.x[i]) * x_[i];
        d += off * off;
      }
      if (found == most && !(d < distance_[most - 1])) continue;
      std::size_t k = found < most ? found++ : most - 1;
      for (; k > 0 && distance_[k - 1] > d; --k) {
        distance_[k] = distance_[k - 1];
        label_[k] = label_[k - 1];
      }
      distance_[k] = d;
      label_[k] = past.memory.label(at);
    }
    return found;
  }

  std::size_t classes_;
  std::vector<double> x_;  // one over the deviations
  std::array<double, most> distance_{};
  std::array<std::size_t, most> label_{};
};

}  // namespace

OwnedExpert make_class_expert(const NeighboursPlan&, std::size_t inputs, std::size_t classes) {
  return std::make_unique<Neighbours>(inputs, classes);
}

}  // namespace kalstream
