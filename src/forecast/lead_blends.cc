#include "forecast/lead_blends.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/archive.h"
#include "core/finite.h"

namespace kalstream {
namespace {

constexpr double nothing_said = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t own_candidates = 3;   // the learner, the last value, the direct model
constexpr std::uint64_t first_direct = 16;  // samples before that says something
constexpr double share = 0.01;
// Of the learner's last opinion, which needs the fewest samples, when a blend begins.
constexpr double weight_of_last_opinion = 0.9;

}  // namespace

LeadBlends::LeadBlends(const Learner& learner, std::size_t horizon)
    : n_d_(learner.outputs()),
      inputs_(learner.inputs() <= most_inputs ? learner.inputs() : 0),
      horizon_(horizon),
      candidates_(learner.opinions().size() / n_d_ + own_candidates),
      stride_((horizon + most_origins - 1) / most_origins),
      origins_((horizon + stride_ - 1) / stride_ + 1),
      past_(n_d_),
      seen_(n_d_),
      level_(n_d_),
      inputs_seen_(inputs_),
      range_(n_d_),
      beyond_(n_d_, LeadRange(horizon)),
      q_(candidates_),
      x_(inputs_),
      next_(n_d_, nothing_said) {
  for (std::size_t lead = 1; lead <= horizon; ++lead) {
    const double apart = 4 + 2 * static_cast<double>(lead);
    for (std::size_t k = 0; k < n_d_; ++k) {
      blends_.emplace_back(
          candidates_, BlendPace{.apart = apart, .average_apart = apart, .share = share / apart},
          Favourite{.expert = candidates_ - own_candidates - 1, .weight = weight_of_last_opinion});
      if (lead <= most_direct) direct_.emplace_back(lead, inputs_);
    }
  }
  for (Origin& o : origins_) {
    o.said.resize(horizon * n_d_ * candidates_);
    o.x.resize(horizon * inputs_);
  }
}

void LeadBlends::learn(const Learner& learner, std::span<const double> d) {
  ++samples_;
  periods_ = {};
  const auto periods = learner.periods();
  std::copy_n(periods.begin(), std::min(periods.size(), Periods::most), periods_.length.begin());
  const bool known = d.size() == n_d_ && all_usable(d);
  if (known) {
    learn_blends(d);
    widen(d);
  }
  for (std::size_t k = 0; k < n_d_; ++k) {
    if (known)
      past_[k].push(d[k]);
    else if (past_[k].count() > 0)
      past_[k].push(std::isfinite(next_[k]) ? next_[k] : past_[k][1]);
  }
  if (known) learn_direct();
  std::fill(next_.begin(), next_.end(), nothing_said);
  now_.reset();
}

void LeadBlends::learn_blends(std::span<const double> d) {
  for (const Origin& o : origins_) {
    const std::size_t lead = lead_of(o);
    if (lead == 0) continue;
    for (std::size_t k = 0; k < n_d_; ++k) {
      Blend& blend = blends_[place(lead, k)];
      blend.predict(said(o, lead, k));
      blend.learn(d[k]);
    }
  }
}

// Where inputs are seen, only from forecasts that were made: their inputs are known.
void LeadBlends::learn_direct() {
  const auto learn_one = [this](std::size_t lead, std::span<const double> x) {
    for (std::size_t k = 0; k < n_d_; ++k)
      direct_[place(lead, k)].learn(past_[k], periods_, units(k), x);
  };
  const std::size_t leads = std::min(horizon_, most_direct);
  if (inputs_ == 0)
    for (std::size_t lead = 1; lead <= leads; ++lead) learn_one(lead, {});
  else
    for (const Origin& o : origins_) {
      const std::size_t lead = lead_of(o);
      if (lead > 0 && lead <= leads)
        learn_one(lead, std::span(o.x).subspan((lead - 1) * inputs_, inputs_));
    }
}

// The range holds what the learner believes, by the same rule: a single wild target is not
// believed, a level that stays is, and from there on distances are those from the new level.
void LeadBlends::widen(std::span<const double> d) {
  const Distance distance =
      level_.count() < Distance::first ? Distance() : Distance(level_, {}, level_, d);
  const bool is_believed = belief_.believes(distance);
  if (is_believed && distance.is_wild()) level_.reset();
  if (is_believed || distance.target < Distance::absurd_target) level_.add(d);
  for (std::size_t k = 0; k < n_d_; ++k)
    if (is_believed) beyond_[k].learn(d[k], range_.lowest(k), range_.highest(k));
  if (seen_.count() == 0)
    range_.begin(d);
  else if (is_believed)
    range_.add(d);
  seen_.add(d);
  for (std::size_t lead = 1; lead <= horizon_; ++lead)
    for (std::size_t k = 0; k < n_d_; ++k)
      blends_[place(lead, k)].widen(range_.low(k) - beyond_[k].below(lead),
                                    range_.high(k) + beyond_[k].above(lead));
}

void LeadBlends::start() {
  now_.reset();
  if (samples_ % stride_ != 0) return;
  now_ = samples_ / stride_ % origins_.size();
  origins_[*now_].sample = samples_;
  origins_[*now_].leads = 0;
}

void LeadBlends::improve(const Learner& learner, std::size_t lead, std::span<const double> x,
                         std::span<double> d_hat) {
  if (seen_.count() == 0) return;
  if (inputs_ > 0) {
    if (lead == 1) inputs_seen_.add(x);
    for (std::size_t i = 0; i < inputs_; ++i) x_[i] = inputs_seen_.standardised(i, x[i]);
  }
  Origin* const note = now_ && lead <= horizon_ ? &origins_[*now_] : nullptr;
  const auto opinions = learner.opinions();
  const std::size_t experts = candidates_ - own_candidates;
  for (std::size_t k = 0; k < n_d_; ++k) {
    for (std::size_t j = 0; j < experts; ++j) q_[j] = opinions[j * n_d_ + k];
    q_[experts] = d_hat[k];
    q_[experts + 1] = past_[k][1];
    const bool speaks = lead <= std::min(horizon_, most_direct) && seen_.count() >= first_direct;
    q_[experts + 2] =
        speaks ? direct_[place(lead, k)].predict(past_[k], periods_, units(k), x_) : nothing_said;
    d_hat[k] = blends_[place(std::min(lead, horizon_), k)].predict(q_);
    if (lead == 1) next_[k] = d_hat[k];
    if (note != nullptr)
      std::ranges::copy(
          q_, note->said.begin() + static_cast<std::ptrdiff_t>(place(lead, k) * candidates_));
  }
  if (note == nullptr) return;
  std::ranges::copy(x_, note->x.begin() + static_cast<std::ptrdiff_t>((lead - 1) * inputs_));
  note->leads = lead;
}

void LeadBlends::reset() {
  for (Blend& b : blends_) b.reset();
  for (DirectModel& m : direct_) m.reset();
  for (Origin& o : origins_) o.sample = o.leads = 0;
  for (LongPast& p : past_) p.reset();
  seen_.reset();
  inputs_seen_.reset();
  range_.reset();
  for (LeadRange& r : beyond_) r.reset();
  belief_.reset();
  level_.reset();
  samples_ = 0;
  periods_ = {};
  now_.reset();
  std::fill(next_.begin(), next_.end(), nothing_said);
}

void LeadBlends::exchange(Archive& archive) {
  archive.count(samples_);
  archive.numbers(periods_.length, Archive::not_negative);
  archive.numbers(next_, Archive::any);
  for (LongPast& p : past_) p.exchange(archive);
  seen_.exchange(archive);
  inputs_seen_.exchange(archive);
  range_.exchange(archive);
  for (LeadRange& r : beyond_) r.exchange(archive);
  belief_.exchange(archive, samples_);
  level_.exchange(archive);
  for (Blend& b : blends_) b.exchange(archive);
  for (DirectModel& m : direct_) m.exchange(archive);
  for (Origin& o : origins_) {
    archive.count(o.sample, samples_);
    archive.count(o.leads, horizon_);
    archive.numbers(std::span(o.said).first(o.leads * n_d_ * candidates_), Archive::any);
    archive.numbers(std::span(o.x).first(o.leads * inputs_));
  }
  now_.reset();
}

}  // namespace kalstream
