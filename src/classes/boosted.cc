#include <algorithm>
#include <cmath>
#include <vector>

#include "classes/class_experts.h"
#include "classes/probabilities.h"

namespace kalstream {
namespace {

/// Of two classes one score tells the odds; of more each has one, and p is their softmax.
class Boosted final : public ClassExpert {
 public:
  Boosted(std::size_t inputs, std::size_t classes, const BoostingPlan& plan)
      : boosting_(inputs, classes == 2 ? 1 : classes, plan),
        score_(boosting_.outputs()),
        p_(classes) {}

  void predict(const ClassMoment& now, const ClassPast&, std::span<double> p) override {
    boosting_.score(now.x, score_);
    to_probabilities(score_, p);
  }

  void learn(const ClassMoment& now, const ClassPast& past, std::size_t /*y*/) override {
    boosting_.score(now.x, score_);
    const Window window(*this, past.memory);
    boosting_.learn(window, window.place(0), score_);
  }

  // With more classes the trees begin anew, with the scale they stay.
  bool starts_over() const override { return true; }
  std::unique_ptr<ClassExpert> clone() const override { return std::make_unique<Boosted>(*this); }
  void reset() override { boosting_.reset(); }
  void exchange(Archive& archive) override { boosting_.exchange(archive); }

 private:
  /// The newest samples in memory, and the log loss of their classes.
  class Window final : public Boosting::Rows {
   public:
    Window(Boosted& expert, const ClassMemory& memory)
        : expert_(expert), memory_(memory), most_(expert.boosting_.plan().window) {}

    std::size_t size() const override { return std::min(memory_.size(), most_); }
    // Places of the memory count on while a window is smaller than it.
    std::size_t place(std::size_t s) const override {
      return static_cast<std::size_t>((memory_.count() - 1 - s) % most_);
    }
    std::span<const double> x(std::size_t place) const override {
      return memory_.x(memory_.place(age_of(place)));
    }
    void slopes(std::size_t place, std::span<const double> score, std::span<double> gradient,
                std::span<double> curvature) const override {
      std::vector<double>& p = expert_.p_;
      expert_.to_probabilities(score, p);
      const std::size_t y = memory_.label(memory_.place(age_of(place)));
      for (std::size_t k = 0; k < score.size(); ++k) {
        const std::size_t c = score.size() == 1 ? 1 : k;
        gradient[k] = (y == c ? 1 : 0) - p[c];
        curvature[k] = p[c] * (1 - p[c]);
      }
    }

   private:
    std::size_t age_of(std::size_t place) const {
      const auto newest = static_cast<std::size_t>((memory_.count() - 1) % most_);
      return 1 + (newest + most_ - place) % most_;
    }

    Boosted& expert_;
    const ClassMemory& memory_;
    std::size_t most_;
  };

  void to_probabilities(std::span<const double> score, std::span<double> p) const {
    if (score.size() == 1) {
      p[1] = 1 / (1 + std::exp(-score[0]));
      p[0] = 1 - p[1];
    } else {
      std::ranges::copy(score, p.begin());
      softmax(p);
    }
  }

  Boosting boosting_;
  std::vector<double> score_;
  std::vector<double> p_;
};

}  // namespace

OwnedExpert make_class_expert(const BoostingPlan& plan, std::size_t inputs, std::size_t classes) {
  return std::make_unique<Boosted>(inputs, classes, plan);
}

}  // namespace kalstream
