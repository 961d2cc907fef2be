#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "classes/class_experts.h"
#include "classes/probabilities.h"
#include "core/rng.h"

namespace kalstream {
namespace {

constexpr std::size_t tree_depth = 4;
constexpr std::size_t tree_leaves = std::size_t{1} << tree_depth;
constexpr std::size_t tree_bins = 16;
constexpr std::size_t inputs_of_a_tree = 10;  // looked at by one tree

// All nodes of a level ask the same question (an oblivious tree): few numbers, hard to overfit, and
// the leaf of a sample is the answers read as a binary number.
class Boosted final : public ClassExpert {
 public:
  Boosted(std::size_t inputs, std::size_t classes, const BoostedPlan& plan)
      : plan_(plan),
        inputs_(inputs),
        questions_(plan.trees * tree_depth),
        codes_(plan.window * std::min(inputs, inputs_of_a_tree)),
        leaf_(plan.window) {
    set_classes(classes);
  }

  void predict(const ClassMoment& now, const ClassPast&, std::span<double> p) override {
    add_up(now.x, score_);
    to_probabilities(score_, p);
  }

  void learn(const ClassMoment& now, const ClassPast& past, std::size_t y) override {
    (void)y;
    add_up(now.x, score_);
    std::copy(score_.begin(), score_.end(), score_of(past.memory.place(1)));
    ++since_;
    const std::size_t size = std::min(past.memory.size(), plan_.window);
    if (inputs_ == 0 || size < smallest) return;
    // A young window grows by as much between two trees as it will later move on.
    if (since_ * plan_.window < plan_.every * size) return;
    since_ = 0;
    replace_oldest(past, size);
  }

  void widen(std::size_t classes) override {
    set_classes(classes);
    forget_trees();
  }
  std::unique_ptr<ClassExpert> clone() const override { return std::make_unique<Boosted>(*this); }
  void reset() override { forget_trees(); }

  void exchange(Archive& archive) override {
    archive.count(fitted_);
    archive.count(since_);
    for (Question& q : questions_) {
      archive.count(q.input, inputs_);
      archive.number(q.threshold, Archive::usable);
    }
    archive.numbers(values_);
    archive.numbers(scores_);
  }

 private:
  static constexpr std::size_t smallest = 20;  // samples for a tree

  struct Question {
    std::size_t input = 0;
    double threshold = 0;
  };

  // The scores of samples start at 0 again, as if no tree had been.
  void forget_trees() {
    std::fill(questions_.begin(), questions_.end(), Question{});
    std::fill(values_.begin(), values_.end(), 0.0);
    std::fill(scores_.begin(), scores_.end(), 0.0);
    fitted_ = 0;
    since_ = 0;
  }

  void set_classes(std::size_t classes) {
    classes_ = classes;
    outputs_ = classes == 2 ? 1 : classes;  // one score tells two classes apart
    values_.assign(plan_.trees * tree_leaves * outputs_, 0.0);
    scores_.assign(ClassMemory::capacity * outputs_, 0.0);
    score_.assign(outputs_, 0.0);
    p_.assign(classes, 0.0);
    slopes_.assign(plan_.window * 2 * outputs_, 0.0);
    sums_.assign(tree_leaves / 2 * tree_bins * 2 * outputs_, 0.0);
    left_.assign(2 * outputs_, 0.0);
    total_.assign(tree_leaves / 2 * 2 * outputs_, 0.0);
    gains_.assign(tree_bins, 0.0);
  }

  std::vector<double>::iterator score_of(std::size_t place) {
    return scores_.begin() + static_cast<std::ptrdiff_t>(place * outputs_);
  }

  std::size_t leaf_of(std::size_t tree, std::span<const double> x) const {
    std::size_t leaf = 0;
    for (std::size_t level = 0; level < tree_depth; ++level) {
      const Question& q = questions_[tree * tree_depth + level];
      leaf = 2 * leaf + (x[q.input] > q.threshold ? 1 : 0);
    }
    return leaf;
  }

  void add_up(std::span<const double> x, std::span<double> score) const {
    std::fill(score.begin(), score.end(), 0.0);
    const std::size_t trees =
        static_cast<std::size_t>(std::min<std::uint64_t>(fitted_, plan_.trees));
    for (std::size_t t = 0; t < trees; ++t) {
      const double* value = &values_[(t * tree_leaves + leaf_of(t, x)) * outputs_];
      for (std::size_t k = 0; k < outputs_; ++k) score[k] += value[k];
    }
  }

  void to_probabilities(std::span<const double> score, std::span<double> p) const {
    if (outputs_ == 1) {
      p[1] = 1 / (1 + std::exp(-score[0]));
      p[0] = 1 - p[1];
    } else {
      std::copy(score.begin(), score.end(), p.begin());
      softmax(p);
    }
  }

  void replace_oldest(const ClassPast& past, std::size_t size) {
    const std::size_t tree = static_cast<std::size_t>(fitted_ % plan_.trees);
    if (fitted_ >= plan_.trees) add_tree(tree, past, size, -1);
    set_slopes(past, size);
    fit(tree, past, size);
    ++fitted_;
    add_tree(tree, past, size, 1);
  }

  void add_tree(std::size_t tree, const ClassPast& past, std::size_t size, double sign) {
    for (std::size_t s = 0; s < size; ++s) {
      const std::size_t at = past.memory.place(s + 1);
      const double* value =
          &values_[(tree * tree_leaves + leaf_of(tree, past.memory.x(at))) * outputs_];
      const auto score = score_of(at);
      for (std::size_t k = 0; k < outputs_; ++k) score[k] += sign * value[k];
    }
  }

  // Of the log loss by the score: −gradient and curvature, for each sample.
  void set_slopes(const ClassPast& past, std::size_t size) {
    for (std::size_t s = 0; s < size; ++s) {
      const std::size_t at = past.memory.place(s + 1);
      to_probabilities({score_of(at), score_of(at) + outputs_}, p_);
      const std::size_t y = past.memory.label(at);
      double* slope = &slopes_[s * 2 * outputs_];
      for (std::size_t k = 0; k < outputs_; ++k) {
        const std::size_t c = outputs_ == 1 ? 1 : k;
        slope[k] = (y == c ? 1 : 0) - p_[c];
        slope[outputs_ + k] = p_[c] * (1 - p_[c]);
      }
    }
  }

  // Thresholds are inputs of samples drawn at random, so that those of many trees together are
  // everywhere.
  void fit(std::size_t tree, const ClassPast& past, std::size_t size) {
    Rng rng(plan_.seed ^ (fitted_ << 20));
    const std::size_t looked_at = std::min(inputs_, inputs_of_a_tree);
    std::array<std::size_t, inputs_of_a_tree> input{};
    std::array<std::array<double, tree_bins - 1>, inputs_of_a_tree> thresholds{};
    for (std::size_t f = 0; f < looked_at; ++f) {
      input[f] = pick(rng, f, looked_at, {input.data(), f});
      for (double& t : thresholds[f])
        t = past.memory.x(past.memory.place(1 + rng.below(size)))[input[f]];
      std::sort(thresholds[f].begin(), thresholds[f].end());
      for (std::size_t s = 0; s < size; ++s) {
        const double x = past.memory.x(past.memory.place(s + 1))[input[f]];
        codes_[f * plan_.window + s] = static_cast<std::uint8_t>(
            std::lower_bound(thresholds[f].begin(), thresholds[f].end(), x) -
            thresholds[f].begin());
      }
    }
    std::fill(leaf_.begin(), leaf_.end(), 0);
    for (std::size_t level = 0; level < tree_depth; ++level) {
      double best = -1;
      std::size_t best_f = 0;
      std::size_t best_bin = 0;
      for (std::size_t f = 0; f < looked_at; ++f) {
        const auto [gain, bin] = best_question(f, std::size_t{1} << level, size);
        if (!(gain > best)) continue;
        best = gain;
        best_f = f;
        best_bin = bin;
      }
      questions_[tree * tree_depth + level] = {input[best_f], thresholds[best_f][best_bin]};
      for (std::size_t s = 0; s < size; ++s)
        leaf_[s] = static_cast<std::uint8_t>(
            2 * leaf_[s] + (codes_[best_f * plan_.window + s] > best_bin ? 1 : 0));
    }
    set_values(tree, size);
  }

  // An input that this tree does not have yet.
  std::size_t pick(Rng& rng, std::size_t f, std::size_t looked_at,
                   std::span<const std::size_t> had) const {
    if (looked_at == inputs_) return f;
    std::size_t i = static_cast<std::size_t>(rng.below(inputs_));
    while (std::find(had.begin(), had.end(), i) != had.end()) i = (i + 1) % inputs_;
    return i;
  }

  // What all leaves gain by asking whether input f is above one of its thresholds.
  std::pair<double, std::size_t> best_question(std::size_t f, std::size_t nodes, std::size_t size) {
    const std::size_t width = 2 * outputs_;
    std::fill_n(sums_.begin(), nodes * tree_bins * width, 0.0);
    const std::uint8_t* code = &codes_[f * plan_.window];
    for (std::size_t s = 0; s < size; ++s) {
      double* sum = &sums_[(leaf_[s] * tree_bins + code[s]) * width];
      const double* slope = &slopes_[s * width];
      for (std::size_t k = 0; k < width; ++k) sum[k] += slope[k];
    }
    std::fill(gains_.begin(), gains_.end(), 0.0);
    for (std::size_t node = 0; node < nodes; ++node) {
      const double* sum = &sums_[node * tree_bins * width];
      std::fill_n(total_.begin(), width, 0.0);
      for (std::size_t b = 0; b < tree_bins; ++b)
        for (std::size_t k = 0; k < width; ++k) total_[k] += sum[b * width + k];
      std::fill(left_.begin(), left_.end(), 0.0);
      for (std::size_t b = 0; b + 1 < tree_bins; ++b) {
        for (std::size_t k = 0; k < width; ++k) left_[k] += sum[b * width + k];
        for (std::size_t k = 0; k < outputs_; ++k) {
          const double g = left_[k];
          const double h = left_[outputs_ + k];
          const double rest = total_[k] - g;
          gains_[b] +=
              g * g / (h + plan_.prior) + rest * rest / (total_[outputs_ + k] - h + plan_.prior);
        }
      }
    }
    const auto best = std::max_element(gains_.begin(), gains_.end() - 1);
    return {*best, static_cast<std::size_t>(best - gains_.begin())};
  }

  void set_values(std::size_t tree, std::size_t size) {
    const std::size_t width = 2 * outputs_;
    std::vector<double>& sums = sums_;
    std::fill_n(sums.begin(), tree_leaves * width, 0.0);
    for (std::size_t s = 0; s < size; ++s)
      for (std::size_t k = 0; k < width; ++k) sums[leaf_[s] * width + k] += slopes_[s * width + k];
    for (std::size_t leaf = 0; leaf < tree_leaves; ++leaf)
      for (std::size_t k = 0; k < outputs_; ++k)
        values_[(tree * tree_leaves + leaf) * outputs_ + k] =
            plan_.rate * sums[leaf * width + k] / (sums[leaf * width + outputs_ + k] + plan_.prior);
  }

  BoostedPlan plan_;
  std::size_t inputs_;
  std::size_t classes_ = 0;
  std::size_t outputs_ = 0;
  std::uint64_t fitted_ = 0;  // trees so far
  std::size_t since_ = 0;     // samples since the last
  std::vector<Question> questions_;
  std::vector<double> values_;  // tree × leaf × output
  std::vector<double> scores_;  // of the samples in memory
  // For a moment:
  std::vector<double> score_;
  std::vector<double> p_;
  std::vector<double> slopes_;  // sample × (gradients, curvatures)
  std::vector<double> sums_;    // node × bin × the same
  std::vector<double> left_;
  std::vector<double> total_;
  std::vector<double> gains_;
  std::vector<std::uint8_t> codes_;  // input × sample: its bin
  std::vector<std::uint8_t> leaf_;
};

}  // namespace

OwnedExpert make_class_expert(const BoostedPlan& plan, std::size_t inputs, std::size_t classes) {
  return std::make_unique<Boosted>(inputs, classes, plan);
}

}  // namespace kalstream
