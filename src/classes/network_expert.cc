#include <algorithm>
#include <vector>

#include "classes/class_experts.h"
#include "core/cloned.h"
#include "core/rng.h"
#include "kalstream/learner.h"

namespace kalstream {
namespace {

class NetworkExpert final : public ClassExpert {
 public:
  NetworkExpert(std::size_t inputs, std::size_t classes, const ClassNetworkPlan& plan)
      : inputs_(inputs), classes_(classes), plan_(plan), again_(size_of_view()) {
    LearnerOptions options{.network = plan_.network, .rule = plan_.rule};
    options.network.inputs = size_of_view();
    options.network.outputs = classes == 2 ? 1 : classes;
    options.loss = {.kind = Loss::Kind::cross_entropy, .link_scale = plan_.link_scale};
    learner_ = make_learner(options);
    target_.resize(options.network.outputs);
  }

  void predict(const ClassMoment& now, const ClassPast&, std::span<double> p) override {
    to_probabilities(learner_->predict(view(now.seen)), p);
  }
  void learn(const ClassMoment& now, const ClassPast& past, std::size_t y) override {
    learner_->learn(view(now.seen), target_of(y));
    replay(past, now.step, 0);
  }
  void advance(const ClassMoment& now) override { learner_->advance(view(now.seen)); }

  void start_over(const ClassPast& past) override {
    learner_->reset();
    for (std::size_t age = past.memory.size(); age > 0; --age) {
      learn_again(past, age);
      replay(past, past.memory.count(), age);
    }
  }

  LearnerState state() const override { return learner_->state(); }
  void start_forecast() override { learner_->start_forecast(); }
  void forecast_next(const ClassMoment& now, const ClassPast&, std::span<double> p) override {
    to_probabilities(learner_->forecast_next(view(now.seen)), p);
  }

  bool starts_over() const override { return true; }
  std::unique_ptr<ClassExpert> clone() const override {
    return std::make_unique<NetworkExpert>(*this);
  }
  void reset() override { learner_->reset(); }
  void exchange(Archive& archive) override { learner_->exchange(archive); }

 private:
  std::size_t size_of_view() const {
    return (plan_.sees_inputs ? inputs_ : 0) + plan_.lags * LabelCode{classes_}.size();
  }
  std::span<const double> view(std::span<const double> seen) const {
    return seen.subspan(plan_.sees_inputs ? 0 : inputs_, size_of_view());
  }
  std::span<const double> target_of(std::size_t y) {
    if (classes_ == 2) {
      target_[0] = y == 1 ? 1 : 0;
    } else {
      std::fill(target_.begin(), target_.end(), 0.0);
      target_[y] = 1;
    }
    return target_;
  }
  void to_probabilities(std::span<const double> d_hat, std::span<double> p) const {
    if (classes_ == 2) {
      p[1] = d_hat[0];
      p[0] = 1 - d_hat[0];
    } else {
      std::copy(d_hat.begin(), d_hat.end(), p.begin());
    }
  }

  // The generator has no memory, so that one sample less changes little.
  void replay(const ClassPast& past, std::uint64_t step, std::size_t turn) {
    const std::size_t available = past.memory.size();
    if (plan_.replays == 0 || available == 0) return;
    Rng rng(plan_.network.seed ^ (step << 20) ^ (std::uint64_t{turn} << 54));
    for (std::size_t n = 0; n < plan_.replays; ++n) learn_again(past, 1 + rng.below(available));
  }

  void learn_again(const ClassPast& past, std::size_t age) {
    const ClassMemory& memory = past.memory;
    std::size_t at = 0;
    if (plan_.sees_inputs) {
      see_inputs(past.scale, memory.x(memory.place(age)), std::span(again_).first(inputs_));
      at = inputs_;
    }
    const LabelCode code{classes_};
    for (std::size_t lag = 1; lag <= plan_.lags; ++lag, at += code.size())
      code.write(age + lag <= memory.size() ? memory.label(memory.place(age + lag)) : no_class,
                 std::span(again_).subspan(at, code.size()));
    learner_->learn(again_, target_of(memory.label(memory.place(age))));
  }

  std::size_t inputs_;
  std::size_t classes_;
  ClassNetworkPlan plan_;
  Cloned<Learner> learner_;
  std::vector<double> again_;
  std::vector<double> target_;
};

}  // namespace

OwnedExpert make_class_expert(const ClassNetworkPlan& plan, std::size_t inputs,
                              std::size_t classes) {
  return std::make_unique<NetworkExpert>(inputs, classes, plan);
}

}  // namespace kalstream
