#include "auto/change.h"

#include <algorithm>
#include <cmath>

#include "core/archive.h"

namespace kalstream {
namespace {

constexpr double wildest_target = 20;            // deviations off
constexpr std::size_t patience = 3;              // samples beyond belief in a row that are believed
constexpr std::size_t patience_on_one_side = 2;  // the same, if all are too large, or too small

constexpr double alarm = 4;            // times the usual squared error
constexpr double disturbance = 4;      // usual squared error, in variances, that no stream has
constexpr std::uint64_t quiet = 200;   // samples between two signs
constexpr std::uint64_t grown = 1000;  // samples before a disturbance can be told from a start
constexpr double pace_of_usual = 1.0 / 500;
constexpr double pace_of_present = 1.0 / 16;

constexpr double out_of_scale = 8;      // times that the calm deviation is smaller than that of all
constexpr double returned = 5;          // deviations from before that the calm mean may be off
constexpr std::uint64_t youth = 8192;   // samples; older learners withstand a disturbance
constexpr std::uint64_t interval = 64;  // between two looks

/// On which side of the mean those targets are that are beyond; 0 if some are on either.
int side(double deviations, const RunningMoments& seen, std::span<const double> v) {
  int sum = 0;
  int count = 0;
  for (std::size_t k = 0; k < v.size(); ++k) {
    const double off = v[k] - seen.mean(k);
    if (!(std::abs(off) > deviations * seen.deviation(k))) continue;
    sum += off > 0 ? 1 : -1;
    ++count;
  }
  return std::abs(sum) == count ? (sum > 0) - (sum < 0) : 0;
}

bool is_beyond(double deviations, const RunningMoments& seen, std::span<const double> v) {
  for (std::size_t k = 0; k < v.size(); ++k)
    if (std::abs(v[k] - seen.mean(k)) > deviations * seen.deviation(k)) return true;
  return false;
}

/// Mean and deviation of a number of each of the calm samples; those not believed do not count.
struct CalmMoments {
  template <class NumberOf>
  CalmMoments(const SampleMemory& memory, const NumberOf& number_of) {
    double sum_sq = 0;
    for (std::size_t age = Disturbance::calm; age > 0; --age) {
      const SampleMemory::Sample sample = memory[age];
      if (!sample.is_whole()) continue;
      const double v = number_of(sample);
      const double before = v - mean;
      mean += before / ++count;
      sum_sq += before * (v - mean);
    }
    deviation = std::sqrt(sum_sq / count);
  }

  // Those that stand still tell nothing.
  bool are_next_to_nothing(double deviation_of_all) const {
    return deviation > 0 && out_of_scale * deviation < deviation_of_all;
  }

  double count = 0;
  double mean = 0;
  double deviation = 0;
};

}  // namespace

Belief::Verdict Belief::judge(std::span<const double> x, std::span<const double> d,
                              const Scale& scale, std::uint64_t samples) {
  Verdict v;
  v.wild_target = samples >= first && is_beyond(wildest_target, scale.targets().running(), d);
  v.wild_input = samples >= first && is_beyond(Scale::wildest_input, scale.inputs().running(), x);
  const int where = side(wildest_target, scale.targets().running(), d);
  const bool stays = targets_ > 0 && where != 0 && where == side_;
  side_ = where;
  targets_ = v.wild_target ? targets_ + 1 : 0;
  inputs_ = v.wild_input ? inputs_ + 1 : 0;
  enough_ = stays ? patience_on_one_side : patience;
  v.believed = !(v.wild_target && targets_ < enough_) && !(v.wild_input && inputs_ < patience);
  return v;
}

bool Belief::is_sure(std::uint64_t samples) const { return samples < first || targets_ >= enough_; }

void Belief::exchange(Archive& archive, std::uint64_t steps) {
  archive.count(targets_, steps);
  archive.count(inputs_, steps);
  std::uint64_t side = static_cast<std::uint64_t>(side_ + 1);
  archive.count(side, 2);
  side_ = static_cast<int>(side) - 1;
}

Alarm::Sign Alarm::look_at(double squared_error, std::uint64_t samples) {
  ++since_;
  const double n = static_cast<double>(since_);
  usual_ += std::max(1 / n, pace_of_usual) * (squared_error - usual_);
  present_ += std::max(1 / n, pace_of_present) * (squared_error - present_);
  const bool changed = present_ > alarm * usual_;
  const bool over = samples >= grown && usual_ > disturbance && alarm * alarm * present_ < usual_;
  if (since_ < quiet || !(changed || over)) return Sign::none;
  since_ = 0;
  return over ? Sign::over : Sign::changed;
}

void Alarm::exchange(Archive& archive, std::uint64_t samples) {
  archive.count(since_, samples);
  archive.number(usual_, Archive::not_negative);
  archive.number(present_, Archive::not_negative);
}

void Disturbance::note(bool is_wild, const Scale& scale) {
  if (is_wild && (since_ == 0 || since_ > calm))
    for (std::size_t k = 0; k < mean_before_.size(); ++k) {
      mean_before_[k] = scale.targets().running().mean(k);
      deviation_before_[k] = scale.targets().running().deviation(k);
    }
  if (is_wild)
    since_ = 1;
  else if (since_ > 0)
    ++since_;
}

bool Disturbance::asks_to_begin_anew(const SampleMemory& memory, const Scale& scale,
                                     std::uint64_t samples) const {
  return since_ >= calm && since_ <= 2 * calm && samples <= youth && samples % interval == 0 &&
         !begun_anew_ && memory.size() >= calm && left_its_scale(memory, scale);
}

// Whether an input or a target of the calm samples is next to nothing on the scale of all, and
// targets are where they were before.
bool Disturbance::left_its_scale(const SampleMemory& memory, const Scale& scale) const {
  using Sample = SampleMemory::Sample;
  bool found = false;
  for (std::size_t k = 0; k < memory[1].x.size(); ++k) {
    const CalmMoments input(memory, [k](const Sample& s) { return s.x[k]; });
    if (input.count == 0) return false;
    found = found || input.are_next_to_nothing(scale.inputs().running().deviation(k));
  }
  for (std::size_t k = 0; k < mean_before_.size(); ++k) {
    const CalmMoments target(memory, [k](const Sample& s) { return s.d[k]; });
    if (target.count == 0) return false;
    if (std::abs(target.mean - mean_before_[k]) > returned * deviation_before_[k]) return false;
    found = found || target.are_next_to_nothing(scale.targets().running().deviation(k));
  }
  return found;
}

void Disturbance::reset() {
  since_ = 0;
  begun_anew_ = false;
  for (auto* v : {&mean_before_, &deviation_before_}) std::fill(v->begin(), v->end(), 0.0);
}

void Disturbance::exchange(Archive& archive, std::uint64_t steps) {
  archive.count(since_, steps);
  archive.numbers(mean_before_);
  archive.numbers(deviation_before_, Archive::not_negative);
  archive.flag(begun_anew_);
}

}  // namespace kalstream
