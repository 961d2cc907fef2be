// What times say to a model: which samples are missing, late, or still to come.
#include <cmath>
#include <limits>

#include "engine/model.h"

namespace kalstream {

void StreamModel::fill_known(Sample& sample) const {
  if (!known_.any() || !sample.tick || sample.missing == 0) return;
  std::vector<double> known(sample.x.size(), std::numeric_limits<double>::quiet_NaN());
  known_.fill(*sample.tick, clock_, known);
  for (std::size_t k = 0; k < known.size(); ++k)
    if (std::isnan(sample.x[k]) && !std::isnan(known[k])) {
      sample.x[k] = known[k];
      --sample.missing;
    }
}

bool StreamModel::is_ahead(const Sample& sample) const {
  if (!known_.any() || !sample.d.empty() || !sample.tick) return false;
  if (clock_.is_off() || (clock_.has_started() && *sample.tick <= clock_.last())) return false;
  bool brings = false;
  bool lacks = false;
  for (std::size_t k = 0; k < sample.x.size(); ++k) {
    const bool known = known_.which()[k];
    brings |= known && !std::isnan(sample.x[k]);
    lacks |= !known && std::isnan(sample.x[k]);
  }
  return brings && (lacks || (known_.all() && sample.id.empty()));
}

Answer StreamModel::keep_ahead(const Sample& sample) {
  known_.add(*sample.tick, sample.x);
  return {.status = Answer::Status::ahead};
}

StreamClock::Verdict StreamModel::arrive(const Sample& sample, StreamListener& listener) {
  learn(listener);
  if (!sample.tick) {
    clock_.take_undated();
    return {};
  }
  const std::int64_t before = clock_.last();
  const StreamClock::Verdict verdict = clock_.take(*sample.tick, sample.has_moment);
  if (verdict.kind != StreamClock::Kind::next) return verdict;
  pass(verdict.missing, before, listener);
  known_.forget_until(*sample.tick);
  if (!options_.periods && clock_.step()) tell_periods(clock_.periods());
  return verdict;
}

void StreamModel::announce(const Sample& sample, std::uint64_t n) {
  if (sample.tick) known_.add(*sample.tick, sample.x);
  announced_.add(static_cast<std::int64_t>(samples_ + n), sample.x);
}

// Samples that are missing count as those without a target.
void StreamModel::pass(std::uint64_t missing, std::int64_t from, StreamListener& listener) {
  if (alarms_) alarms_->pass(missing);
  for (std::uint64_t k = 1; k <= missing; ++k) {
    Waiting one{.x = last_x_};
    if (options_.elapsed) one.x.back() = clock_.elapsed();
    if (known_.any() && clock_.step())
      known_.fill(clock_.step()->after(from, static_cast<std::int64_t>(k)), clock_, one.x);
    ++samples_;
    ++passed_;
    if (pending_.empty()) {
      step(one, listener);
      continue;
    }
    one.said.d_hat.resize(learner().outputs());
    pending_.push_back(std::move(one));
  }
}

void StreamModel::tell_periods(const std::vector<double>& periods) {
  if (told_ == periods) return;
  told_ = periods;
  calibrated_->learner().expect_periods(periods);
}

}  // namespace kalstream
