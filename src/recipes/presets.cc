#include "kalstream/presets.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace kalstream {
namespace {

/// One row of the published settings. q: process noise, annealed from the first to the second.
struct Settings {
  Experiment experiment;
  std::string_view name;
  std::size_t hidden;
  double sgd, rmsprop, adam;  // learning rates; addition publishes RMSprop's only
  double kalman_p1;           // EKF and DEKF
  double kalman_r[2], kalman_q[2];
  double alg2_p1, alg2_q[2];
  double alg2_bias;
};

// clang-format off
constexpr std::array<Settings, 7> published{{
    {Experiment::kin8nm,    "kin8nm",    16, .20, .009, .004, 100, {10, 3}, {1e-4, 1e-6}, 10, {1e-7, 1e-8}, .5},
    {Experiment::kin32fm,   "kin32fm",   12, .40, .005, .003,  50, {10, 3}, {1e-4, 1e-6}, .5, {1e-7, 1e-8}, 5},
    {Experiment::elevators, "elevators", 12, .30, .006, .003, 100, {10, 3}, {1e-4, 1e-6}, 10, {1e-4, 1e-8}, 5},
    {Experiment::puma8nm,   "puma8nm",   16, .40, .010, .006, 100, {10, 3}, {1e-4, 1e-6}, 50, {1e-4, 1e-8}, .5},
    {Experiment::puma8nh,   "puma8nh",   16, .20, .008, .004,  25, {10, 3}, {1e-4, 1e-6}, 10, {1e-7, 1e-8}, .5},
    {Experiment::puma32fm,  "puma32fm",  12, .35, .004, .003,  50, {10, 3}, {1e-4, 1e-6}, .5, {1e-7, 1e-8}, 5},
    {Experiment::addition,  "addition",  12, .20, .020, .004, 100, {3, 3},  {1e-3, 1e-6}, 10, {1e-7, 1e-7}, .5},
}};
// clang-format on

const Settings& settings_of(Experiment e) { return published[static_cast<std::size_t>(e)]; }

/// n values from a to b: a·(b/a)^{k/(n−1)}.
std::vector<double> log_spaced(double a, double b, std::size_t n) {
  std::vector<double> v(n);
  for (std::size_t k = 0; k < n; ++k)
    v[k] = a * std::pow(b / a, static_cast<double>(k) / static_cast<double>(n - 1));
  return v;
}

std::vector<double> linear_spaced(double a, double b, std::size_t n) {
  std::vector<double> v(n);
  for (std::size_t k = 0; k < n; ++k)
    v[k] = a + (b - a) * static_cast<double>(k) / static_cast<double>(n - 1);
  return v;
}

/// The rule for one row of the table.
class Fill {
 public:
  Fill(Preset preset, const Settings& s, double run_length)
      : authors_(preset == Preset::authors),
        addition_(s.experiment == Experiment::addition),
        s_(s),
        n_(run_length) {}

  void operator()(Sgd& o) const { o = {.learning_rate = s_.sgd}; }
  void operator()(RmsProp& o) const { o = {.learning_rate = s_.rmsprop}; }
  void operator()(Adam& o) const { o = {.learning_rate = s_.adam}; }
  void operator()(Ekf& o) const { kalman(o); }
  void operator()(ParallelEkf& o) const { kalman(o); }  // not published: as Ekf
  void operator()(Dekf& o) const {
    kalman(o);
    o.partition = Partition::node;
    o.output_apart = authors_ && !addition_;
  }
  void operator()(Iekf& o) const {
    kalman(o);
    o.partition = Partition::node;
  }
  void operator()(Algorithm1& o) const {
    o = {.initial_covariance = s_.alg2_p1,
         .process_noise = annealed(s_.alg2_q),
         .noise_floor = authors_ ? 0.5 : 0,
         .gate = authors_ && addition_ ? Gate::bound : Gate::squared_bound,
         .process_noise_when_gated = authors_ && !addition_,
         .partition = Partition::node};
  }
  void operator()(const auto& /*not in the paper*/) const {}
  void operator()(Algorithm2& o) const {
    o = {};
    (*this)(o.expert);
    if (!authors_) {  // the text's grid and prior are the defaults, its rate is not
      o.mixing_rate.reset();
      return;
    }
    const std::size_t n = addition_ ? 8 : 5;
    o.error_bounds = log_spaced(0.01, addition_ ? 1 : 0.125, n);
    o.prior_weights = linear_spaced(1, addition_ ? 0.005 : 0.5, n);
    o.mixing_rate = 1;
    o.feedback = addition_ ? Feedback::mixture : Feedback::own;
  }

 private:
  void kalman(auto& o) const {
    o.initial_covariance = s_.kalman_p1;
    o.measurement_noise = annealed(s_.kalman_r);
    o.process_noise = annealed(s_.kalman_q);
  }
  Schedule annealed(const double (&v)[2]) const {
    return v[0] == v[1] ? Schedule(v[0]) : Schedule::linear(v[0], v[1], n_);
  }

  bool authors_;
  bool addition_;
  const Settings& s_;
  double n_;
};

}  // namespace

LearnerOptions preset(Preset preset, Experiment experiment, const Rule& rule, double run_length) {
  const Settings& s = settings_of(experiment);
  LearnerOptions options{.network = {}, .rule = rule};
  if (takes_raw_data(rule)) return options;  // nothing was published
  std::visit(Fill(preset, s, run_length), options.rule);

  // The published comparison is uneven here: Algorithm 2's gates start open, its rivals' closed.
  options.network.hidden = s.hidden;
  const bool opens_gates =
      std::holds_alternative<Algorithm1>(rule) || std::holds_alternative<Algorithm2>(rule);
  options.network.gate_bias =
      opens_gates ? GateBias{.input = s.alg2_bias, .forget = s.alg2_bias, .output = {}}
                  : GateBias{.input = -.5, .forget = .5, .output = -.5};
  return options;
}

double published_run_length(Experiment experiment) {
  return experiment == Experiment::addition ? 1e5 : 2541;
}

std::optional<Experiment> experiment_named(std::string_view name) {
  const auto row = std::find_if(published.begin(), published.end(),
                                [&](const Settings& s) { return s.name == name; });
  if (row == published.end()) return std::nullopt;
  return row->experiment;
}

std::string_view to_string(Experiment experiment) { return settings_of(experiment).name; }

}  // namespace kalstream
