#include "engine/scores.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kalstream/schema.h"

namespace kalstream {

// With w ← keep·w + 1 and g = 1/w, for every mean m of a quantity v, and for the spread s of d:
//
//     m ← m + g (v − m),   s ← (1 − g)(s + g ‖d − mean d‖²), with the mean before
void RunningScore::Means::add(std::span<const double> d_hat, std::span<const double> d,
                              double keep) {
  weight = keep * weight + 1;
  const double g = 1 / weight;
  double squares = 0;
  double magnitudes = 0;
  double distance = 0;
  for (std::size_t k = 0; k < d.size(); ++k) {
    const double e = d[k] - d_hat[k];
    squares += e * e;
    magnitudes += std::abs(e);
    const double off = d[k] - target[k];
    distance += off * off;
    target[k] += g * off;
  }
  squared_error += g * (squares - squared_error);
  absolute_error += g * (magnitudes - absolute_error);
  target_spread = (1 - g) * (target_spread + g * distance);
}

Errors RunningScore::Means::errors() const {
  if (!(weight > 0)) return {};
  const auto n = static_cast<double>(target.size());
  Errors errors{.rmse = std::sqrt(squared_error / n), .mae = absolute_error / n};
  if (target_spread > 0) errors.nse = squared_error / target_spread;
  return errors;
}

void RunningScore::Means::exchange(Archive& archive) {
  archive.number(weight, Archive::not_negative);
  archive.number(squared_error, Archive::not_negative);
  archive.number(absolute_error, Archive::not_negative);
  archive.numbers(target);
  archive.number(target_spread, Archive::not_negative);
}

bool RunningScore::add(std::span<const double> d_hat, std::span<const double> d) {
  const std::size_t n = all_.target.size();
  if (d.size() != n || d_hat.size() != n || !all_usable(d) || !all_usable(d_hat)) return false;
  ++count_;
  all_.add(d_hat, d, 1);
  recent_.add(d_hat, d, keep_);
  return true;
}

void RunningScore::exchange(Archive& archive) {
  archive.count(count_);
  all_.exchange(archive);
  recent_.exchange(archive);
}

double ClassScores::probability(std::span<const double> p, std::size_t y) const {
  constexpr double least = 1e-15;
  const double given = y < p.size() ? p[y] : 0;
  const double of_new = 1 / (static_cast<double>(count_) + 2);
  return given > 0 ? std::max(given, least) : of_new;
}

void ClassScores::widen(std::size_t classes) {
  if (classes <= classes_) return;
  std::vector<std::uint64_t> wider(classes * classes, 0);
  for (std::size_t j = 0; j < classes_; ++j)
    for (std::size_t k = 0; k < classes_; ++k)
      wider[j * classes + k] = confusion_[j * classes_ + k];
  confusion_ = std::move(wider);
  given_.resize(classes * 2 * levels, 0);
  classes_ = classes;
}

void ClassScores::add(std::span<const double> p, std::size_t y) {
  constexpr double window = 1000;
  widen(std::max(p.size(), y + 1));
  const double loss = -std::log(probability(p, y));
  const auto top = static_cast<std::size_t>(std::max_element(p.begin(), p.end()) - p.begin());
  const bool right = top == y;
  ++count_;
  const double share = 1 / static_cast<double>(count_);
  const double recent = std::max(share, 1 / window);
  log_loss_ += share * (loss - log_loss_);
  recent_log_loss_ += recent * (loss - recent_log_loss_);
  recent_accuracy_ += recent * ((right ? 1 : 0) - recent_accuracy_);
  if (p.empty()) return;
  ++confusion_[y * classes_ + top];
  for (std::size_t k = 0; k < p.size(); ++k) {
    const auto level = static_cast<std::size_t>(std::clamp(p[k], 0.0, 1.0) * (levels - 1) + 0.5);
    ++given_[(k * 2 + (k == y ? 1 : 0)) * levels + level];
  }
  const double confidence = std::clamp(p[top], 0.0, 1.0);
  ReliabilityBin& bin = bins_[std::min(static_cast<std::size_t>(confidence * bins), bins - 1)];
  ++bin.count;
  const double part = 1 / static_cast<double>(bin.count);
  bin.confidence += part * (confidence - bin.confidence);
  bin.accuracy += part * ((right ? 1 : 0) - bin.accuracy);
}

std::array<ReliabilityBin, ClassScores::bins> ClassScores::reliability() const { return bins_; }

// The probability that of two samples, one of the class and one of another, the first was given
// more; the mean over the classes that came, and not always.
double ClassScores::area_under_curve() const {
  double sum = 0;
  std::size_t told = 0;
  for (std::size_t k = 0; k < classes_; ++k) {
    const std::uint64_t* others = &given_[k * 2 * levels];
    const std::uint64_t* own = others + levels;
    double below = 0;
    double area = 0;
    double all_own = 0;
    for (std::size_t level = 0; level < levels; ++level) {
      const auto o = static_cast<double>(others[level]);
      const auto s = static_cast<double>(own[level]);
      area += s * (below + o / 2);
      below += o;
      all_own += s;
    }
    if (!(all_own > 0 && below > 0)) continue;
    sum += area / (all_own * below);
    ++told;
  }
  return told == 0 ? ClassErrors::unknown : sum / static_cast<double>(told);
}

ClassErrors ClassScores::errors() const {
  ClassErrors e;
  if (count_ == 0) return e;
  double right = 0;
  double by_chance = 0;
  double f1 = 0;
  double told = 0;
  double total = 0;
  for (const std::uint64_t n : confusion_) total += static_cast<double>(n);
  for (std::size_t k = 0; k < classes_; ++k) {
    double came = 0;
    double said = 0;
    for (std::size_t j = 0; j < classes_; ++j) {
      came += static_cast<double>(confusion_[k * classes_ + j]);
      said += static_cast<double>(confusion_[j * classes_ + k]);
    }
    const auto both = static_cast<double>(confusion_[k * classes_ + k]);
    right += both;
    by_chance += came * said;
    if (came + said > 0) f1 += 2 * both / (came + said);
    told += came + said > 0 ? 1 : 0;
  }
  e.log_loss = log_loss_;
  e.recent_log_loss = recent_log_loss_;
  e.recent_accuracy = recent_accuracy_;
  if (!(total > 0)) return e;
  e.accuracy = right / total;
  by_chance /= total * total;
  if (by_chance < 1) e.kappa = (e.accuracy - by_chance) / (1 - by_chance);
  e.f1 = f1 / told;
  e.auc = area_under_curve();
  double off = 0;
  for (const ReliabilityBin& bin : bins_)
    off += static_cast<double>(bin.count) * std::abs(bin.confidence - bin.accuracy);
  e.calibration = off / total;
  return e;
}

void ClassScores::exchange(Archive& archive) {
  std::size_t classes = classes_;
  archive.count(classes, Schema::most_classes);
  widen(classes);
  archive.count(count_);
  for (double* v : {&log_loss_, &recent_log_loss_}) archive.number(*v, Archive::not_negative);
  archive.number(recent_accuracy_, Archive::fraction);
  for (std::uint64_t& n : confusion_) archive.count(n, count_);
  for (std::uint64_t& n : given_) archive.count(n, count_);
  for (ReliabilityBin& bin : bins_) {
    archive.count(bin.count, count_);
    archive.number(bin.confidence, Archive::fraction);
    archive.number(bin.accuracy, Archive::fraction);
  }
}

void Scores::add(std::span<const double> d_hat, std::span<const Interval> interval,
                 std::span<const double> d) {
  constexpr double recent = 1000;  // samples
  if (classes_) {
    classes_->add(d_hat, class_in(d));
    return;
  }
  errors_.add(d_hat, d);
  for (std::size_t k = 0; k < interval.size(); ++k) {
    if (std::isnan(interval[k].low)) continue;
    const bool held = interval[k].holds(d[k]);
    ++intervals_;
    held_ += held ? 1 : 0;
    const double share = std::max(1 / recent, 1 / static_cast<double>(intervals_));
    recent_ += share * ((held ? 1 : 0) - recent_);
  }
}

double Scores::coverage() const {
  return intervals_ == 0 ? std::numeric_limits<double>::quiet_NaN()
                         : static_cast<double>(held_) / static_cast<double>(intervals_);
}

void Scores::exchange(Archive& archive) {
  errors_.exchange(archive);
  archive.count(intervals_);
  archive.count(held_, intervals_);
  archive.number(recent_, Archive::fraction);
  if (classes_) classes_->exchange(archive);
}

void Counts::exchange(Archive& archive) {
  for (std::uint64_t* n : {&records, &refused, &samples, &learnt, &missing, &late, &gated,
                           &rejected, &held, &anomalies, &untimely, &repeated, &passed})
    archive.count(*n);
}

}  // namespace kalstream
