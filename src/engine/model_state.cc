// A model in and out of a checkpoint.
#include <cmath>

#include "core/archive.h"
#include "core/envelope.h"
#include "engine/model.h"
#include "kalstream/snapshot.h"
#include "recipes/state.h"

namespace kalstream {
namespace {

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

void exchange(Archive& archive, std::vector<Surprise::Expected>& expected, std::size_t n) {
  bool some = !expected.empty();
  archive.flag(some);
  expected.resize(some ? n : 0);
  for (Surprise::Expected& e : expected) e.exchange(archive);
}

// What is told of every target: each thing is a bit.
void exchange_told(Archive& archive, ModelOptions& options) {
  AlarmOptions& alarms = options.alarms;
  std::uint64_t bits = (options.surprise ? 1 : 0) | (alarms.strangeness ? 2 : 0) |
                       (alarms.above < AlarmOptions::no_limit ? 4 : 0) |
                       (alarms.below > -AlarmOptions::no_limit ? 8 : 0);
  archive.count(bits, 15);
  options.surprise = (bits & 1) != 0;
  alarms.strangeness = (bits & 2) != 0;
  if ((bits & 4) != 0) archive.number(alarms.above);
  if ((bits & 8) != 0) archive.number(alarms.below);
}

}  // namespace

std::vector<std::byte> StreamModel::to_bytes() const {
  const auto learnt = save(learner());
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
      std::make_unique<StreamModel>(load_unsealed(as_bytes(learnt), most_memory), ModelOptions{});
  model->exchange(archive);
  if (options == nullptr) return model;
  const ModelOptions before = model->options_;
  model->options_ = *options;
  model->known_.set_which(options->known_ahead);
  if (before.alarms.strangeness != options->alarms.strangeness ||
      before.alarms.any() != options->alarms.any())
    model->start_alarms();
  else if (model->alarms_)
    model->alarms_->set_limits(options->alarms);
  if (options->periods) model->tell_periods(*options->periods);
  model->forecast_.resize(options->horizon * model->learner().outputs());
  model->calibrated_->recalibrate(model->calibration());
  if (before.coverage != options->coverage || before.inner != options->inner)
    for (Waiting& w : model->pending_) {  // bounds of another kind teach nothing
      w.said.bounds.clear();
      w.said.inner.clear();
    }
  if (before.surprise != options->surprise)
    for (Waiting& w : model->pending_) w.said.expected.clear();
  return model;
}

// Only where targets are classes. They go before the samples that wait, which are as wide.
void StreamModel::exchange_classes(Archive& archive) {
  if (!of_classes()) return;
  archive.count(options_.max_classes, Schema::most_classes);
  classes_.resize(archive.length(classes_.size()));
  archive.require(classes_.size() <= Schema::most_classes);
  archive.require(!options_.learns || classes_.size() <= learner().outputs());
  for (std::string& name : classes_) archive.text(name);
}

void StreamModel::exchange(Archive& archive) {
  archive.require(!owed_);
  const std::size_t n_d = learner().outputs();
  archive.count(samples_);
  archive.count(settled_, samples_);
  archive.flag(target_known_);
  scores_.exchange(archive);
  archive.flag(options_.learns);
  archive.number(options_.coverage, Archive::fraction);
  archive.count(options_.horizon, ModelOptions::longest_horizon);
  archive.count(options_.max_delay, ModelOptions::longest_delay);
  archive.require(options_.coverage < 1);
  options_.inner.resize(archive.length(options_.inner.size()));
  archive.require(options_.inner.size() <= ModelOptions::most_inner);
  double least = 0;
  for (double& narrower : options_.inner) {
    archive.number(narrower, Archive::fraction);
    archive.require(narrower > std::exchange(least, narrower) && narrower < options_.coverage);
  }
  exchange_told(archive, options_);
  archive.number(options_.alarm_rate, Archive::fraction);
  archive.count(passed_, samples_);
  exchange_classes(archive);
  exchange_waiting(archive);
  if (archive.reading()) {
    forecast_.resize(options_.horizon * n_d);
    calibrated_->recalibrate(calibration());
  }
  calibrated_->exchange(archive);
  archive.numbers(last_x_, [](double v) { return std::isnan(v) || Archive::usable(v); });
  exchange_time(archive);
  exchange_alarms(archive);
}

void StreamModel::exchange_alarms(Archive& archive) {
  if (archive.reading()) start_alarms();
  if (alarms_) alarms_->exchange(archive);
}

void StreamModel::exchange_waiting(Archive& archive) {
  const std::size_t n_d = learner().outputs();
  pending_.resize(archive.length(pending_.size()));
  archive.require(pending_.size() == samples_ - settled_);
  if (archive.reading()) {
    waits_.clear();
    id_bytes_ = 0;
  }
  std::uint64_t place = settled_;
  for (Waiting& w : pending_) {
    ++place;
    archive.count(w.number, place);
    archive.text(w.id);
    w.x.resize(learner().inputs());
    archive.numbers(w.x, [](double v) { return std::isnan(v) || Archive::usable(v); });
    w.said.d_hat.resize(n_d);
    archive.numbers(w.said.d_hat);
    bool bounded = !w.said.bounds.empty();
    archive.flag(bounded);
    kalstream::exchange(archive, w.said.bounds, bounded ? n_d : 0);
    kalstream::exchange(archive, w.said.inner, bounded ? n_d * options_.inner.size() : 0);
    kalstream::exchange(archive, w.said.expected, n_d);
    archive.flag(w.said.across);
    kalstream::exchange(archive, w.d, n_d);
    if (archive.reading() && w.d.empty() && !w.id.empty()) wait_for(w.id, place);
  }
}

void StreamModel::exchange_time(Archive& archive) {
  clock_.exchange(archive);
  bool told = told_.has_value();
  archive.flag(told);
  if (told) {
    if (!told_) told_.emplace();
    told_->resize(archive.length(told_->size()));
    archive.numbers(*told_, Archive::positive);
  }
  bool known = known_.any();
  archive.flag(known);
  if (!known) return;
  if (archive.reading()) known_ = KnownInputs(std::vector<bool>(learner().inputs(), true));
  known_.exchange(archive);
}

}  // namespace kalstream
