#include "engine/model.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/archive.h"
#include "core/envelope.h"
#include "kalstream/snapshot.h"

namespace kalstream {
namespace {

std::size_t place_of_lead(std::size_t lead) { return 1 + lead; }  // in intervals_; from 1 on

// As many as there are, or none.
void exchange(Archive& archive, std::vector<double>& values, std::size_t n) {
  bool some = !values.empty();
  archive.flag(some);
  values.resize(some ? n : 0);
  if (some) archive.numbers(values);
}

void exchange(Archive& archive, std::vector<Interval>& intervals, std::size_t n) {
  intervals.resize(n);
  for (Interval& i : intervals) i.exchange(archive);
}

}  // namespace

StreamModel::StreamModel(std::unique_ptr<Learner> learner, const ModelOptions& options)
    : learner_(std::move(learner)),
      options_(options),
      scores_(learner_->outputs()),
      last_x_(learner_->inputs(), std::numeric_limits<double>::quiet_NaN()),
      d_hat_(learner_->outputs()),
      forecast_(options.horizon * learner_->outputs()) {
  start_intervals();
}

void StreamModel::start_intervals() {
  intervals_.clear();
  forecasts_.clear();
  if (options_.coverage > 0)
    intervals_.assign(2 + options_.horizon, Intervals(learner_->outputs(), options_.coverage));
}

bool StreamModel::complete(std::span<double> x) {
  if (x.size() == last_x_.size())  // or a checkpoint is forged, and the learner will refuse it
    for (std::size_t k = 0; k < x.size(); ++k) {
      if (!std::isnan(x[k])) last_x_[k] = x[k];
      x[k] = last_x_[k];
    }
  return std::none_of(x.begin(), x.end(), [](double v) { return std::isnan(v); });
}

Answer StreamModel::take(const Sample& sample, ModelListener& listener) {
  learn(listener);
  if (sample.kind == Sample::Kind::label) return take_label(sample);
  // Where samples have no inputs, a label looks like a new one, but for its id.
  if (sample.x.empty() && !sample.d.empty() && waiting_for(sample.id) > 0)
    return take_label(sample);

  const bool has_target = !sample.d.empty();
  const bool may_come = !has_target && !sample.id.empty() && options_.max_delay > 0;
  const bool across = !pending_.empty();
  predict(sample.x);
  ++samples_;
  if (!across && !may_come) {
    now_.x = sample.x;
    now_.d_hat = d_hat_;
    now_.interval = interval_;
    now_.d = sample.d;
  } else {
    if (across) ++ahead_;  // predict() went on to it
    pending_.push_back({may_come ? sample.id : "", sample.x, d_hat_, interval_, across, sample.d});
    if (may_come) wait_for(sample.id, samples_);
  }
  owed_ = true;
  Answer answer{.status = has_target ? Answer::Status::learnt : Answer::Status::predicted,
                .sample = samples_,
                .prediction = d_hat_,
                .interval = interval_};
  if (options_.horizon == 0) return answer;
  learn(listener);
  forecast(sample.x);
  answer.forecast = forecast_;
  answer.forecast_interval = forecast_interval_;
  return answer;
}

// Of sample x, which comes after those that wait: a forecast across them, if there are any.
void StreamModel::predict(std::span<const double> x) {
  std::span<const double> d_hat;
  if (pending_.empty()) {
    d_hat = learner_->predict(x);
  } else {
    if (ahead_ == 0) learner_->start_forecast();
    for (; ahead_ < pending_.size(); ++ahead_) learner_->forecast_next(pending_[ahead_].x);
    d_hat = learner_->forecast_next(x);
  }
  std::copy(d_hat.begin(), d_hat.end(), d_hat_.begin());
  interval_.clear();
  if (intervals_.empty()) return;
  const auto bounds = pending_.empty() ? intervals_[0].around(d_hat_, learner_->spread())
                                       : intervals_[1].around(d_hat_);
  interval_.assign(bounds.begin(), bounds.end());
}

// Of the samples after the last one, whose inputs are taken to stay what they are.
void StreamModel::forecast(std::span<const double> x) {
  learner_->start_forecast();
  for (const Waiting& w : pending_) learner_->forecast_next(w.x);
  ahead_ = 0;
  forecast_interval_.clear();
  const std::size_t n_d = d_hat_.size();
  for (std::size_t lead = 1; lead <= options_.horizon; ++lead) {
    const auto d_hat = learner_->forecast_next(x);
    std::copy(d_hat.begin(), d_hat.end(), forecast_.begin() + (lead - 1) * n_d);
    if (intervals_.empty()) continue;
    const auto bounds = intervals_[place_of_lead(lead)].around(d_hat);
    forecast_interval_.insert(forecast_interval_.end(), bounds.begin(), bounds.end());
  }
  if (!intervals_.empty()) forecasts_.push_back({samples_, forecast_interval_});
}

// ---- Targets that come later.

// The first sample of the id that waits for its target; 0 if there is none.
std::uint64_t StreamModel::waiting_for(const std::string& id) const {
  const auto found = waits_.find(id);
  return found == waits_.end() ? 0 : found->second.front();
}

void StreamModel::wait_for(const std::string& id, std::uint64_t sample) {
  waits_[id].push_back(sample);
  id_bytes_ += id.size();
}

void StreamModel::wait_no_more(const std::string& id) {
  const auto found = waits_.find(id);
  id_bytes_ -= id.size();
  found->second.pop_front();
  if (found->second.empty()) waits_.erase(found);
}

std::uint64_t StreamModel::waiting_bytes() const {
  constexpr std::size_t heap = 16;         // what it needs for an allocation itself
  constexpr std::size_t by_id = 120 + 48;  // in waits_: a node, and one of its list
  const std::size_t n_d = d_hat_.size();
  const std::size_t bounds = options_.coverage > 0 ? n_d * sizeof(Interval) + heap : 0;
  const std::size_t numbers = (last_x_.size() + 2 * n_d) * sizeof(double) + 3 * heap;
  const std::size_t ahead = options_.horizon * n_d * sizeof(Interval) + heap;
  return pending_.size() * (sizeof(Waiting) + numbers + bounds) + waits_.size() * by_id +
         2 * id_bytes_ + forecasts_.size() * (sizeof(Forecast) + ahead);
}

Answer StreamModel::take_label(const Sample& sample) {
  const std::uint64_t number = waiting_for(sample.id);
  if (number == 0) return {.status = Answer::Status::late};
  wait_no_more(sample.id);
  Waiting& w = pending_[static_cast<std::size_t>(number - settled_ - 1)];
  w.d = sample.d;
  d_hat_ = w.d_hat;
  interval_ = w.interval;
  owed_ = true;
  return {.status = Answer::Status::labelled,
          .sample = number,
          .prediction = d_hat_,
          .interval = interval_};
}

// All samples that need not wait any more.
void StreamModel::learn(ModelListener& listener) {
  if (!owed_) return;
  owed_ = false;
  if (pending_.empty()) return step(now_, listener);
  while (!pending_.empty()) {
    const Waiting& first = pending_.front();
    const bool has_target = !first.d.empty();
    if (!has_target && !first.id.empty() && pending_.size() <= options_.max_delay) return;
    if (!has_target && !first.id.empty()) wait_no_more(first.id);
    step(first, listener);
    pending_.pop_front();
  }
}

void StreamModel::step(const Waiting& sample, ModelListener& listener) {
  ahead_ = 0;
  ++settled_;
  StepReport report;
  if (sample.d.empty())
    report = learner_->advance(sample.x);
  else
    report = options_.learns ? learner_->learn(sample.x, sample.d)
                             : learner_->observe(sample.x, sample.d);
  if (!sample.d.empty()) {
    if (!intervals_.empty() && !sample.interval.empty())
      intervals_[sample.across ? 1 : 0].learn(sample.interval, sample.d);
    if (target_known_) {
      scores_.add(sample.d_hat, sample.interval, sample.d);
      listener.scored(sample.d_hat, sample.interval, sample.d);
    }
    target_known_ = true;
  }
  learn_forecasts(sample.d);
  listener.stepped(report);
}

// Sample `settled_` has been settled: what earlier ones had forecast of it.
void StreamModel::learn_forecasts(std::span<const double> d) {
  const std::size_t n_d = d_hat_.size();
  for (const Forecast& f : forecasts_) {
    if (f.made_after >= settled_) break;
    const auto lead = static_cast<std::size_t>(settled_ - f.made_after);
    if (lead > options_.horizon || d.empty()) continue;
    intervals_[place_of_lead(lead)].learn(std::span(f.interval).subspan((lead - 1) * n_d, n_d), d);
  }
  while (!forecasts_.empty() && forecasts_.front().made_after + options_.horizon <= settled_)
    forecasts_.pop_front();
}

std::vector<double> StreamModel::expert_weights() const {
  const auto weights = learner_->state().weights;
  return {weights.begin(), weights.end()};
}

// ---- Checkpoints.

std::vector<std::byte> StreamModel::to_bytes() const {
  const auto learnt = save(*learner_);
  std::string_view text = as_text(learnt);
  std::vector<std::byte> bytes;
  Archive to(bytes);
  to.text(text);
  const auto rest = beside_learner();
  bytes.insert(bytes.end(), rest.begin(), rest.end());
  return bytes;
}

std::vector<std::byte> StreamModel::beside_learner() const {
  std::vector<std::byte> bytes;
  Archive to(bytes);
  const_cast<StreamModel*>(this)->exchange(to);  // NOLINT: writing changes nothing
  return bytes;
}

std::unique_ptr<StreamModel> StreamModel::load(Archive& archive, const ModelOptions* options,
                                               std::uint64_t most_memory) {
  std::string_view learnt;
  archive.text(learnt);
  auto model =
      std::make_unique<StreamModel>(kalstream::load(as_bytes(learnt), most_memory), ModelOptions{});
  model->exchange(archive);
  if (options == nullptr) return model;
  const ModelOptions before = model->options_;
  model->options_ = *options;
  model->forecast_.resize(options->horizon * model->d_hat_.size());
  if (before.coverage != options->coverage || before.horizon != options->horizon)
    model->start_intervals();
  if (before.coverage != options->coverage)  // bounds of another kind teach nothing
    for (Waiting& w : model->pending_) w.interval.clear();
  return model;
}

void StreamModel::exchange(Archive& archive) {
  archive.require(!owed_);
  const std::size_t n_d = learner_->outputs();
  const std::size_t n_in = learner_->inputs();
  const bool old = archive.format() < 3;
  std::uint64_t line = 0;  // the last that it took: now the whole stream has but one place
  if (old) archive.count(line);
  archive.count(samples_);
  archive.count(settled_, samples_);
  archive.flag(target_known_);
  old ? scores_.exchange_errors(archive) : scores_.exchange(archive);
  archive.flag(options_.learns);
  archive.number(options_.coverage, Archive::fraction);
  archive.count(options_.horizon, ModelOptions::longest_horizon);
  archive.count(options_.max_delay, ModelOptions::longest_delay);
  archive.require(options_.coverage < 1);

  pending_.resize(archive.length(pending_.size()));
  archive.require(pending_.size() == samples_ - settled_);
  if (archive.reading()) {
    waits_.clear();
    id_bytes_ = 0;
  }
  std::uint64_t number = settled_;
  for (Waiting& w : pending_) {
    ++number;
    archive.text(w.id);
    w.x.resize(n_in);
    archive.numbers(w.x, Archive::usable);
    w.d_hat.resize(n_d);
    archive.numbers(w.d_hat);
    bool bounded = old ? options_.coverage > 0 : !w.interval.empty();
    if (!old) archive.flag(bounded);
    kalstream::exchange(archive, w.interval, bounded ? n_d : 0);
    archive.flag(w.across);
    kalstream::exchange(archive, w.d, n_d);
    if (archive.reading() && w.d.empty() && !w.id.empty()) wait_for(w.id, number);
  }
  if (archive.reading()) {
    forecast_.resize(options_.horizon * n_d);
    start_intervals();
  }
  for (Intervals& i : intervals_) i.exchange(archive);
  forecasts_.resize(archive.length(forecasts_.size()));
  archive.require(forecasts_.empty() || !intervals_.empty());
  for (Forecast& f : forecasts_) {
    archive.count(f.made_after, samples_);
    kalstream::exchange(archive, f.interval, options_.horizon * n_d);
  }
  if (archive.format() >= 2)
    archive.numbers(last_x_, [](double v) { return std::isnan(v) || Archive::usable(v); });
}

}  // namespace kalstream
