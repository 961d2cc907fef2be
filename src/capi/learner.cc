// Learners: what C calls them by.
#include <algorithm>
#include <cmath>

#include "capi/learner_handle.h"
#include "core/envelope.h"
#include "core/number_in.h"
#include "engine/checkpoint.h"
#include "kalstream/settings.h"
#include "kalstream/snapshot.h"
#include "learner/footprint.h"

namespace kalstream::capi {
namespace {

/// Settings as C gives them, in turn keys and values.
struct Settings {
  CalibrationOptions calibration;
  std::vector<std::pair<std::string, std::string>> of_learner;
};

template <class Number>
Number value_in(const std::string& key, const std::string& value) {
  const auto v = number_in<Number>(value);
  if (!v) throw std::invalid_argument(key + ": '" + value + "' is not a number it can be");
  return *v;
}

bool flag_in(const std::string& key, const std::string& value) {
  if (value != "true" && value != "false")
    throw std::invalid_argument(key + ": write true or false");
  return value == "true";
}

Settings settings_in(const char* const* list) {
  Settings settings;
  CalibrationOptions& with = settings.calibration;
  for (; list != nullptr && *list != nullptr; list += 2) {
    const std::string key = list[0];
    if (list[1] == nullptr) throw std::invalid_argument("settings: '" + key + "' has no value");
    const std::string value = list[1];
    if (key == "interval") {
      with.coverage = value_in<double>(key, value);
      if (!(with.coverage > 0 && with.coverage < 1))
        throw std::invalid_argument("interval: write a number between 0 and 1, e.g. 0.9");
    } else if (key == "surprise") {
      with.surprise = flag_in(key, value);
    } else if (key == "horizon") {
      with.horizon = value_in<std::size_t>(key, value);
      if (with.horizon < 1 || with.horizon > Forecaster::longest_horizon)
        throw std::invalid_argument("horizon: write a whole number from 1 to 1000");
    } else {
      settings.of_learner.emplace_back(key, value);
    }
  }
  return settings;
}

std::unique_ptr<Learner> made(const char* name, std::size_t inputs, std::size_t outputs,
                              const Settings& settings) {
  LearnerOptions options;
  if (name != nullptr) options.rule = rule_named(name);
  options.network.inputs = inputs;
  options.network.outputs = outputs;
  bool scaled = true;
  for (const auto& [key, value] : settings.of_learner) {
    if (key == "seed") {
      const auto seed = number_in<std::uint64_t>(value);
      if (!seed) throw std::invalid_argument("seed: '" + value + "' is not a whole number");
      options.network.seed = *seed;
    } else if (key == "scaled") {
      scaled = flag_in(key, value);
    } else {
      set_option(options, key, value);
    }
  }
  options.validate();
  require_memory(options);
  return make_from({.options = options, .scaled = scaled && !takes_raw_data(options.rule)});
}

std::span<const double> inputs_in(const kalstream_learner& l, const double* x, std::size_t size) {
  return sized(x, size, l.calibrated.learner().inputs(), "x");
}

std::span<const double> targets_in(const kalstream_learner& l, const double* d, std::size_t size) {
  return sized(d, size, l.calibrated.learner().outputs(), "d");
}

void require_known_size(const kalstream_report* report) {
  if (report != nullptr && report->size != sizeof(kalstream_report))
    throw Failure(KALSTREAM_INVALID, "report: size is " + std::to_string(report->size) +
                                         ", this library knows " +
                                         std::to_string(sizeof(kalstream_report)) +
                                         "; set it to sizeof(kalstream_report)");
}

[[noreturn]] void refuse_numbers(const char* which) {
  throw Failure(KALSTREAM_UNUSABLE,
                std::string(which) + ": every number must be finite and within 1e100");
}

// The report is written also where the sample was of no use.
void give(const StepReport& r, kalstream_report* report) {
  if (report != nullptr)
    *report = {.size = sizeof(kalstream_report),
               .status = static_cast<std::int32_t>(r.status),
               .reserved = 0,
               .experts = r.experts,
               .applied = r.applied,
               .rejected = r.rejected,
               .covariance_trace = r.covariance_trace};
  if (r.status == StepStatus::rejected_input) refuse_numbers("x or d");
}

using Step = StepReport (CalibratedLearner::*)(std::span<const double>, std::span<const double>);

// One sample with its target, learnt or only observed.
int step(Step way, kalstream_learner* learner, const double* x, std::size_t inputs, const double* d,
         std::size_t outputs, kalstream_report* report) {
  return guarded_with(learner, [&] {
    const auto in = inputs_in(*learner, x, inputs);
    const auto target = targets_in(*learner, d, outputs);
    require_known_size(report);
    give((learner->calibrated.*way)(in, target), report);
  });
}

// All NaN is what a learner says of inputs it cannot use.
void require_prediction(std::span<const double> d_hat) {
  if (std::ranges::all_of(d_hat, [](double v) { return std::isnan(v); })) refuse_numbers("x");
}

void forecast(kalstream_learner& l, std::size_t horizon, std::span<const double> future,
              std::span<double> d_hat, double* low, double* high) {
  const CalibrationOptions& with = l.calibrated.calibration();
  if (with.horizon == 0) {
    if (low != nullptr || high != nullptr)
      throw std::invalid_argument(
          "low, high: bounds of forecasts need the settings horizon and interval");
    if (!l.learner().forecast(horizon, future, d_hat)) refuse_numbers("future");
    return;
  }
  if (horizon > with.horizon)
    throw std::invalid_argument("horizon: the learner was made for " +
                                std::to_string(with.horizon));
  if ((low != nullptr || high != nullptr) && !(with.coverage > 0))
    throw std::invalid_argument("low, high: bounds need the setting interval");
  // As many leads as rows, but all of them where there are no inputs.
  const std::size_t leads = l.calibrated.forecast(future);
  if (leads < horizon) refuse_numbers("future");
  std::ranges::copy(l.calibrated.forecaster()->values().first(d_hat.size()), d_hat.begin());
  const auto bounds = l.calibrated.forecaster()->bounds();
  for (std::size_t k = 0; k < d_hat.size(); ++k) {
    if (low != nullptr) low[k] = bounds[k].low;
    if (high != nullptr) high[k] = bounds[k].high;
  }
}

// ---- To bytes and back.

// Its format is counted with those of snapshots: what is in it is written as it is there.
constexpr Envelope learner_envelope{
    {0x89, 'K', 'A', 'L', 'L', '\r', '\n', 0x1a}, /*format=*/5, "learner with its companions"};

void exchange(Archive& archive, CalibrationOptions& with) {
  archive.number(with.coverage, Archive::fraction);
  archive.require(with.coverage < 1);
  archive.flag(with.surprise);
  archive.count(with.horizon, Forecaster::longest_horizon);
}

std::vector<std::byte> saved(kalstream_learner& l) {
  const auto snapshot = save(l.learner());
  std::vector<std::byte> bytes;
  const std::size_t begins = begin(learner_envelope, bytes);
  Archive to(bytes);
  std::string_view learnt = as_text(snapshot);
  to.text(learnt);
  CalibrationOptions with = l.calibrated.calibration();
  exchange(to, with);
  l.calibrated.exchange(to);
  close(bytes, begins);
  seal(std::span(bytes).subspan(begins));
  return bytes;
}

std::unique_ptr<kalstream_learner> loaded(std::span<const std::byte> bytes,
                                          CalibrationOptions with) {
  if (!begins_like(learner_envelope, bytes))
    return std::make_unique<kalstream_learner>(CalibratedLearner(learnt_of(bytes).learner, with));
  if (with != CalibrationOptions{})
    throw std::invalid_argument(
        "settings: these bytes have interval, surprise and horizon of their own");
  Archive from = open(learner_envelope, bytes);
  std::string_view learnt;
  from.text(learnt);
  exchange(from, with);
  auto l = std::make_unique<kalstream_learner>(CalibratedLearner(load(as_bytes(learnt)), with));
  l->calibrated.exchange(from);
  from.require(from.left() == 0);
  return l;
}

}  // namespace

std::span<const std::byte> snapshot_in(std::span<const std::byte> bytes) {
  if (!begins_like(learner_envelope, bytes)) return bytes;
  Archive from = open(learner_envelope, bytes);
  std::string_view learnt;
  from.text(learnt);
  return as_bytes(learnt);
}

}  // namespace kalstream::capi

using namespace kalstream::capi;

kalstream_learner::kalstream_learner(kalstream::CalibratedLearner made)
    : calibrated(std::move(made)), experts(kalstream::expert_names(learner().recipe()->options)) {}

int kalstream_learner_new(const char* name, size_t inputs, size_t outputs,
                          const char* const* settings, kalstream_learner** learner) {
  return guarded([&] {
    require(learner, "learner");
    const Settings read = settings_in(settings);
    *learner = new kalstream_learner({made(name, inputs, outputs, read), read.calibration});
  });
}

void kalstream_learner_free(kalstream_learner* learner) { delete learner; }

int kalstream_learner_clone(kalstream_learner* learner, kalstream_learner** copy) {
  return guarded_with(learner, [&] {
    require(copy, "copy");
    *copy = new kalstream_learner(learner->calibrated);
  });
}

int kalstream_learner_reset(kalstream_learner* learner) {
  return guarded_with(learner, [&] { learner->calibrated.reset(); });
}

int kalstream_learner_size(kalstream_learner* learner, size_t* inputs, size_t* outputs,
                           uint64_t* samples) {
  return guarded_with(learner, [&] {
    if (inputs != nullptr) *inputs = learner->learner().inputs();
    if (outputs != nullptr) *outputs = learner->learner().outputs();
    if (samples != nullptr) *samples = learner->learner().samples();
  });
}

int kalstream_learner_predict(kalstream_learner* learner, const double* x, size_t inputs,
                              double* d_hat, size_t outputs) {
  return guarded_with(learner, [&] {
    const auto in = inputs_in(*learner, x, inputs);
    const auto out = sized(d_hat, outputs, learner->learner().outputs(), "d_hat");
    const auto said = learner->learner().predict(in);
    std::ranges::copy(said, out.begin());
    require_prediction(said);
  });
}

int kalstream_learner_interval(kalstream_learner* learner, const double* x, size_t inputs,
                               double* d_hat, double* low, double* high, size_t outputs) {
  return guarded_with(learner, [&] {
    const auto in = inputs_in(*learner, x, inputs);
    sized(low, outputs, learner->learner().outputs(), "low");
    require(high, "high");
    if (learner->calibrated.intervals() == nullptr)
      throw std::invalid_argument("the learner was made without the setting interval, e.g. 0.9");
    learner->calibrated.predict(in, learner->said);
    require_prediction(learner->said.d_hat);
    if (d_hat != nullptr) std::ranges::copy(learner->said.d_hat, d_hat);
    for (size_t k = 0; k < outputs; ++k) {
      low[k] = learner->said.bounds[k].low;
      high[k] = learner->said.bounds[k].high;
    }
  });
}

int kalstream_learner_surprise(kalstream_learner* learner, const double* x, size_t inputs,
                               const double* d, double* p, size_t outputs) {
  return guarded_with(learner, [&] {
    const auto in = inputs_in(*learner, x, inputs);
    const auto target = targets_in(*learner, d, outputs);
    require(p, "p");
    if (!learner->calibrated.calibration().surprise)
      throw std::invalid_argument("the learner was made without the setting surprise");
    learner->calibrated.predict(in, learner->said);
    require_prediction(learner->said.d_hat);
    std::ranges::copy(learner->calibrated.surprise_of(learner->said, target), p);
  });
}

int kalstream_learner_learn(kalstream_learner* learner, const double* x, size_t inputs,
                            const double* d, size_t outputs, kalstream_report* report) {
  return step(&kalstream::CalibratedLearner::learn, learner, x, inputs, d, outputs, report);
}

int kalstream_learner_advance(kalstream_learner* learner, const double* x, size_t inputs,
                              kalstream_report* report) {
  return guarded_with(learner, [&] {
    const auto in = inputs_in(*learner, x, inputs);
    require_known_size(report);
    give(learner->calibrated.advance(in), report);
  });
}

int kalstream_learner_observe(kalstream_learner* learner, const double* x, size_t inputs,
                              const double* d, size_t outputs, kalstream_report* report) {
  return step(&kalstream::CalibratedLearner::observe, learner, x, inputs, d, outputs, report);
}

int kalstream_learner_forecast(kalstream_learner* learner, size_t horizon, const double* future,
                               size_t future_size, double* d_hat, double* low, double* high,
                               size_t size) {
  return guarded_with(learner, [&] {
    const auto& of = learner->learner();
    constexpr size_t most = size_t{1} << 40;
    if (horizon == 0 || horizon > most / (of.inputs() + of.outputs()))
      throw std::invalid_argument("horizon: write how many samples, 1 or more");
    const auto in = sized(future, future_size, horizon * of.inputs(), "future");
    forecast(*learner, horizon, in, sized(d_hat, size, horizon * of.outputs(), "d_hat"), low, high);
  });
}

int kalstream_learner_expect_periods(kalstream_learner* learner, const double* samples,
                                     size_t count) {
  return guarded_with(learner, [&] {
    const auto periods = sized(samples, count, count, "samples");
    double last = 1;
    for (const double p : periods) {
      if (!(p > last && p <= 1e9))
        throw std::invalid_argument("samples: periods are above 1, and the shortest comes first");
      last = p;
    }
    learner->learner().expect_periods(periods);
  });
}

int kalstream_learner_experts(kalstream_learner* learner, size_t* experts) {
  return guarded_with(learner, [&] {
    require(experts, "experts");
    *experts = learner->experts.size();
  });
}

int kalstream_learner_weights(kalstream_learner* learner, double* weights, size_t experts) {
  return guarded_with(learner, [&] {
    const auto now = learner->learner().state().weights;
    std::ranges::copy(now, sized(weights, experts, now.size(), "weights").begin());
  });
}

int kalstream_learner_expert_name(kalstream_learner* learner, size_t expert, const char** name) {
  return guarded_with(learner, [&] {
    require(name, "name");
    if (expert >= learner->experts.size())
      throw std::invalid_argument("expert: there are " + std::to_string(learner->experts.size()));
    *name = learner->experts[expert].c_str();
  });
}

int kalstream_learner_snapshot(kalstream_learner* learner, unsigned char** bytes, size_t* size) {
  return guarded_with(learner, [&] {
    require(bytes, "bytes");
    require(size, "size");
    const auto snapshot = kalstream::save(learner->learner());
    *bytes = copy_of(snapshot);
    *size = snapshot.size();
  });
}

int kalstream_learner_save(kalstream_learner* learner, unsigned char** bytes, size_t* size) {
  return guarded_with(learner, [&] {
    require(bytes, "bytes");
    require(size, "size");
    const auto all = saved(*learner);
    *bytes = copy_of(all);
    *size = all.size();
  });
}

int kalstream_learner_load(const unsigned char* bytes, size_t size, const char* const* settings,
                           kalstream_learner** learner) {
  return guarded([&] {
    require(learner, "learner");
    const auto in = bytes_in(bytes, size);
    const Settings read = settings_in(settings);
    if (!read.of_learner.empty())
      throw std::invalid_argument("settings: '" + read.of_learner.front().first +
                                  "' is the learner's own, which the bytes have");
    *learner = loaded(in, read.calibration).release();
  });
}
