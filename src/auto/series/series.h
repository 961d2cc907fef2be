// The experts of `auto` that know time: seasons, trends, long pasts.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <vector>

#include "auto/series/features.h"
#include "auto/series/smoothing.h"
#include "auto/series/smoothing_panel.h"
#include "core/cloned.h"
#include "core/moments.h"
#include "kalstream/learner.h"

namespace kalstream {

/// What one of them is.
struct SeriesPlan {
  enum class Kind : std::uint8_t { last_season, smoothing, panel, model };

  std::string name;
  Kind kind = Kind::model;
  std::size_t period = 0;  ///< of last_season: which
  Pace pace{};             ///< of smoothing
  /// Of a model: what it sees of SeriesFeatures, after the inputs.
  std::vector<std::size_t> sees;
  NetworkOptions network;
  Rule rule;
  bool needs_periods = false;
  bool needs_memory = false;  ///< only where the past tells something of the next value
};

/// The experts of every output. They are the same for all outputs, and have no networks if
/// Auto::experts allows only a few.
std::vector<SeriesPlan> plan_series(const Auto& options, const NetworkOptions& network);

/// Those of one output. They see its own past alone, and the inputs.
class Series {
 public:
  Series(const Auto& options, const NetworkOptions& network, std::size_t output);

  std::size_t size() const { return plans_.size(); }

  void set_periods(const Periods& periods);
  const Periods& periods() const { return periods_; }
  const LongPast& past() const { return past_; }

  /// What each says of the next value, NaN while it is asleep: every `stride`-th place of `said`.
  /// x: the inputs, standardised.
  void predict(std::span<const double> x, std::span<double> said, std::size_t stride);
  /// The value that predict spoke of last, and what could be said of it without the past; NaN: the
  /// mean. Allocates when a model becomes of use for the first time; without the memory for that it
  /// sleeps on.
  void learn(double y, double without_past = std::numeric_limits<double>::quiet_NaN());
  /// It is missing: `guess` stands for it.
  void advance(double guess);

  void start_forecast();
  void forecast_next(std::span<const double> x, std::span<double> said, std::size_t stride);
  void note_forecast(double guess);

  void reset();
  void exchange(Archive& archive);

 private:
  struct Model {
    std::size_t number;       // of its plan
    Cloned<Learner> learner;  // none before it is of use
    std::vector<double> view;
  };

  bool is_of_use(const SeriesPlan& plan) const;
  const SeriesPlan& plan_of(const Model& m) const { return plans_[m.number]; }
  bool is_awake(const Model& m) const { return m.learner && is_of_use(plan_of(m)); }
  void make_models();
  void see(std::span<const double> x);
  void say(std::span<const double> x, std::span<double> said, std::size_t stride, bool is_forecast);

  std::vector<SeriesPlan> plans_;
  std::size_t inputs_;
  std::uint64_t least_learnt_;  // before a model that needs_memory can be of use
  LongPast past_;
  Periods periods_;
  RunningMoments values_;   // of the target …
  RunningMoments changes_;  // … and of its changes
  SeriesUnits units_;
  double linear_error_ = 0;        // squared, running: of the first model …
  double without_past_error_ = 0;  // … and of what is said without the past
  std::uint64_t learnt_ = 0;
  std::vector<Smoothing> smoothings_;
  SmoothingPanel panel_;
  std::vector<Model> models_;
  std::vector<double> seen_;
  double first_model_ = 0;
};

}  // namespace kalstream
