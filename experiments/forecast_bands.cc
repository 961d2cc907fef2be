// Bounds of forecasts beside other methods on the same forecasts: the tables of docs/intervals.md.
//
//     make experiments && build/release/forecast_bands [DATA]
//     build/release/forecast_bands --digits [DATA]
//     build/release/forecast_bands --times [DATA]
//
// DATA is the folder of the real series (../shared/data/series; left out where there is none).
// `auto` forecasts each series 1 to 48 rows ahead after each row. Prints Markdown: coverage and
// interval scores; or by how much the squared error moves when the data change by one part in
// 10¹³; or what a row costs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <numbers>

#include "core/rng.h"
#include "data/source.h"
#include "eval/parallel.h"
#include "forecast/bands.h"
#include "io/results.h"
#include "kalstream/forecaster.h"
#include "view/table.h"

namespace {

using namespace kalstream;

constexpr std::size_t horizon = 48;
constexpr std::size_t most_rows = 8000;
constexpr std::size_t seeds = 6;  // of each made-up series
constexpr double infinity = std::numeric_limits<double>::infinity();

// ---- Series.

struct Series {
  std::string kind;  ///< what it is counted as
  std::string name;
  std::vector<double> y;
};

std::vector<Series> real_series(const std::string& folder) {
  std::vector<Series> all;
  if (!std::filesystem::is_directory(folder)) return all;
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".csv") files.push_back(entry.path());
  std::ranges::sort(files);
  for (const std::string& file : files) {
    const Dataset data = load(file, most_rows);
    const std::string name = std::filesystem::path(file).stem();
    const bool one = data.target_names[0] == "y";  // other columns are known with it
    for (std::size_t k = one ? data.n_inputs() : 0; k <= data.n_inputs(); ++k) {
      Series s{"real", name, {}};
      if (!one) s.name += "-" + (k < data.n_inputs() ? data.input_names[k] : data.target_names[0]);
      for (std::size_t t = 0; t < data.rows(); ++t)
        s.y.push_back(k < data.n_inputs() ? data.x(t)[k] : data.d(t)[0]);
      all.push_back(std::move(s));
    }
  }
  return all;
}

std::vector<Series> made_up_series() {
  std::vector<Series> all;
  for (const std::string kind : {"noise", "autoregression", "season", "walk"})
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      Rng rng(seed);
      Series s{kind, kind, {}};
      double level = 0;
      for (int t = 0; t < 5300; ++t) {
        if (kind == "autoregression") level *= 0.8;
        level = kind == "autoregression" || kind == "walk" ? level + rng.normal() : 0;
        s.y.push_back(kind == "noise" ? rng.normal()
                      : kind == "season"
                          ? 10 * std::sin(2 * std::numbers::pi * t / 24) + rng.normal()
                          : level);
      }
      all.push_back(std::move(s));
    }
  return all;
}

std::unique_ptr<Learner> learner_of_series() {
  return make_scaled_learner({.network = {.inputs = 0, .outputs = 1, .seed = 1}, .rule = Auto{}});
}

/// Forecasts after each row: rows × leads, NaN where there are none.
std::vector<double> forecasts_of(std::span<const double> y, std::size_t leads) {
  const auto learner = learner_of_series();
  Forecaster forecaster(*learner, leads);
  std::vector<double> all;
  for (const double& d : y) {
    learner->predict({});
    learner->learn({}, {&d, 1});
    forecaster.learn(*learner, {&d, 1});
    forecaster.forecast(*learner, {});
    all.insert(all.end(), forecaster.values().begin(), forecaster.values().end());
    all.resize(all.size() / leads * leads + (all.size() % leads == 0 ? 0 : leads),
               Interval::unknown);
  }
  return all;
}

// ---- Methods.

/// Makes bounds around the forecasts of a series, and learns from its values.
class Method {
 public:
  virtual ~Method() = default;
  virtual void learn(double d) = 0;
  virtual void around(std::span<const double> d_hat, std::span<Interval> bounds) = 0;
};

/// The bounds of kalstream.
class Bands final : public Method {
 public:
  explicit Bands(double coverage) : bands_(horizon, {coverage}) {}
  void learn(double d) override { bands_.learn(d); }
  void around(std::span<const double> d_hat, std::span<Interval> bounds) override {
    std::ranges::copy(bands_.around(d_hat), bounds.begin());
  }

 private:
  ForecastBands bands_;
};

/// A method that knows of one lead at a time.
class ByLead : public Method {
 public:
  void learn(double d) final {
    low_ = std::min(low_, d);
    high_ = std::max(high_, d);
    ++samples_;
    for (std::size_t lead = 1; lead <= std::min(horizon, samples_); ++lead) {
      const Said& said = said_[(samples_ - lead) % said_.size()];
      learn(lead - 1, said.bounds[lead - 1], said.d_hat[lead - 1], d);
    }
  }
  void around(std::span<const double> d_hat, std::span<Interval> bounds) final {
    Said& said = said_[samples_ % said_.size()];
    for (std::size_t k = 0; k < horizon; ++k) {
      said.d_hat[k] = d_hat[k];
      bounds[k] = said.bounds[k] = around(k, d_hat[k]);
    }
  }

 protected:
  virtual Interval around(std::size_t lead, double d_hat) = 0;
  virtual void learn(std::size_t lead, const Interval& bounds, double d_hat, double d) = 0;

  /// Bounds at infinity, as some methods have them, end ten ranges beyond what was seen.
  Interval held(double low, double high) const {
    const double most = 10 * (high_ - low_);
    low = std::max(low, low_ - most);
    high = std::min(high, high_ + most);
    Interval bounds;
    bounds.low = std::min(low, high);
    bounds.high = std::max(low, high);
    return bounds;
  }
  std::size_t place(std::size_t ago) const { return (samples_ - ago) % said_.size(); }

 private:
  struct Said {
    std::vector<double> d_hat = std::vector<double>(horizon, Interval::unknown);
    std::vector<Interval> bounds = std::vector<Interval>(horizon);
  };
  std::vector<Said> said_ = std::vector<Said>(horizon + 1);
  std::size_t samples_ = 0;
  double low_ = infinity;
  double high_ = -infinity;
};

/// What kalstream had before: Intervals, for each lead by itself.
class Before final : public ByLead {
 public:
  explicit Before(double coverage) : of_lead_(horizon, Intervals(1, coverage)) {}

 private:
  Interval around(std::size_t lead, double d_hat) override {
    return of_lead_[lead].around({&d_hat, 1})[0];
  }
  void learn(std::size_t lead, const Interval& bounds, double, double d) override {
    of_lead_[lead].learn({&bounds, 1}, {&d, 1});
  }
  std::vector<Intervals> of_lead_;
};

/// The last thousand sizes of errors.
class Sizes {
 public:
  explicit Sizes(std::size_t most = 1000) : most_(most) {}
  void add(double size) {
    if (by_time_.size() == most_) {
      by_size_.erase(std::ranges::lower_bound(by_size_, by_time_.front()));
      by_time_.pop_front();
    }
    by_time_.push_back(size);
    by_size_.insert(std::ranges::upper_bound(by_size_, size), size);
  }
  std::size_t count() const { return by_size_.size(); }
  double largest() const { return by_size_.back(); }
  double quantile(double p) const {
    const double rank = std::ceil(p * static_cast<double>(by_size_.size() + 1));
    if (rank > static_cast<double>(by_size_.size())) return infinity;
    return rank < 1 ? 0 : by_size_[static_cast<std::size_t>(rank) - 1];
  }

 private:
  std::size_t most_;
  std::deque<double> by_time_;
  std::vector<double> by_size_;
};

constexpr std::size_t first_bounds = 10;  // errors before there are bounds, as in kalstream

/// Adaptive conformal inference (Gibbs and Candès 2021): α ← α + γ(1 − coverage − [missed]).
class Aci final : public ByLead {
 public:
  explicit Aci(double coverage)
      : nominal_(coverage), of_lead_(horizon, Lead{Sizes(), 1 - coverage}) {}

 private:
  static constexpr double gamma = 0.005;
  struct Lead {
    Sizes sizes;
    double alpha;
  };
  Interval around(std::size_t lead, double d_hat) override {
    const Lead& l = of_lead_[lead];
    if (l.sizes.count() < first_bounds) return {};
    const double q = l.alpha < 0 ? infinity : l.sizes.quantile(1 - l.alpha);
    return held(d_hat - q, d_hat + q);
  }
  void learn(std::size_t lead, const Interval& bounds, double d_hat, double d) override {
    Lead& l = of_lead_[lead];
    if (bounds.low <= bounds.high) l.alpha += gamma * (1 - nominal_ - (bounds.holds(d) ? 0 : 1));
    if (!std::isnan(d_hat)) l.sizes.add(std::abs(d - d_hat));
  }
  double nominal_;
  std::vector<Lead> of_lead_;
};

/// ACI of several γ, aggregated for either bound by Bernstein online aggregation of the pinball
/// loss (Zaffran and others 2022).
class AgAci final : public ByLead {
 public:
  explicit AgAci(double coverage) : nominal_(coverage), of_lead_(horizon, Lead(1 - coverage)) {}

 private:
  static constexpr std::array gammas{0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1};
  static constexpr std::size_t n = gammas.size();
  struct Aggregate {
    std::array<double, n> regret{};
    std::array<double, n> variance{};
    std::array<double, n> largest{};
    std::array<double, n> weight;
    Aggregate() { weight.fill(1.0 / n); }

    double mean(const std::array<double, n>& of) const {
      double sum = 0;
      for (std::size_t i = 0; i < n; ++i) sum += weight[i] * of[i];
      return sum;
    }
    void learn(const std::array<double, n>& loss) {
      const double usual = mean(loss);
      std::array<double, n> log_weight;
      for (std::size_t i = 0; i < n; ++i) {
        const double r = usual - loss[i];
        variance[i] += r * r;
        largest[i] = std::max(largest[i], std::abs(r));
        const double eta = variance[i] > 0 ? std::min(0.5 / largest[i],
                                                      std::sqrt(std::log(double{n}) / variance[i]))
                                           : 0;
        regret[i] += r - eta * r * r;
        log_weight[i] = (eta > 0 ? std::log(eta) : -700) + eta * regret[i];
      }
      const double best = *std::ranges::max_element(log_weight);
      double sum = 0;
      for (std::size_t i = 0; i < n; ++i) sum += weight[i] = std::exp(log_weight[i] - best);
      for (double& w : weight) w /= sum;
    }
  };
  struct Lead {
    explicit Lead(double first) { alpha.fill(first); }
    Sizes sizes;
    std::array<double, n> alpha;
    Aggregate lower;
    Aggregate upper;
    std::map<std::size_t, std::array<Interval, n>> said;  // by place
  };
  Interval around(std::size_t lead, double d_hat) override {
    Lead& l = of_lead_[lead];
    if (l.sizes.count() < first_bounds) return {};
    auto& said = l.said[place(0)];
    std::array<double, n> low;
    std::array<double, n> high;
    for (std::size_t i = 0; i < n; ++i) {
      const double q = l.alpha[i] < 0 ? infinity : l.sizes.quantile(1 - l.alpha[i]);
      said[i] = held(d_hat - q, d_hat + q);
      low[i] = said[i].low;
      high[i] = said[i].high;
    }
    return held(l.lower.mean(low), l.upper.mean(high));
  }
  void learn(std::size_t lead, const Interval& bounds, double d_hat, double d) override {
    Lead& l = of_lead_[lead];
    if (bounds.low <= bounds.high) {
      const double alpha = (1 - nominal_) / 2;
      const auto pinball = [d](double bound, double p) { return (d - bound) * (p - (d < bound)); };
      std::array<double, n> of_lower;
      std::array<double, n> of_upper;
      const auto& said = l.said[place(lead + 1)];
      for (std::size_t i = 0; i < n; ++i) {
        of_lower[i] = pinball(said[i].low, alpha);
        of_upper[i] = pinball(said[i].high, 1 - alpha);
        l.alpha[i] += gammas[i] * (1 - nominal_ - (said[i].holds(d) ? 0 : 1));
      }
      l.lower.learn(of_lower);
      l.upper.learn(of_upper);
    }
    if (!std::isnan(d_hat)) l.sizes.add(std::abs(d - d_hat));
  }
  double nominal_;
  std::vector<Lead> of_lead_;
};

/// Conformal PID control (Angelopoulos, Candès and Tibshirani 2023), of |e|, without a scorecaster:
/// quantile tracking at a tenth of the largest recent error, and their integration of errors.
class Pid final : public ByLead {
 public:
  explicit Pid(double coverage) : nominal_(coverage), of_lead_(horizon) {}

 private:
  static constexpr double rate = 0.1;
  struct Lead {
    Sizes sizes{100};
    double n = 0;
    double q = 0;
    double sum = 0;  // of [missed] − (1 − coverage)
  };
  Interval around(std::size_t lead, double d_hat) override {
    const Lead& l = of_lead_[lead];
    if (l.n < first_bounds) return {};
    constexpr double length = 5000;
    const double saturation =
        2 / std::numbers::pi * (std::ceil(std::log(length) * 0.01) - 1 / std::log(length));
    const double x = l.sum * std::log(l.n + 1) / (saturation * (l.n + 1));
    const double integral = l.sizes.largest() * std::tan(std::clamp(x, -1.5, 1.5));
    const double half = std::max(l.q + integral, 0.0);
    return held(d_hat - half, d_hat + half);
  }
  void learn(std::size_t lead, const Interval& bounds, double d_hat, double d) override {
    if (std::isnan(d_hat)) return;
    Lead& l = of_lead_[lead];
    l.sizes.add(std::abs(d - d_hat));
    if (++l.n <= first_bounds) {
      l.q = l.sizes.largest();
      return;
    }
    const double missed = (bounds.holds(d) ? 0 : 1) - (1 - nominal_);
    l.q += rate * l.sizes.largest() * missed;
    l.sum += missed;
  }
  double nominal_;
  std::vector<Lead> of_lead_;
};

struct Named {
  std::string name;
  std::function<std::unique_ptr<Method>(double coverage)> make;
};
const std::vector<Named> methods{
    {"bands", [](double c) { return std::make_unique<Bands>(c); }},
    {"each lead by itself", [](double c) { return std::make_unique<Before>(c); }},
    {"ACI", [](double c) { return std::make_unique<Aci>(c); }},
    {"AgACI", [](double c) { return std::make_unique<AgAci>(c); }},
    {"conformal PID", [](double c) { return std::make_unique<Pid>(c); }}};
constexpr std::size_t before = 1;  // among them

// ---- What is measured.

struct Stretch {
  std::size_t begin;
  std::size_t end;
};
constexpr std::array stretches{Stretch{100, 300}, Stretch{300, 1000}, Stretch{1000, 5000},
                               Stretch{0, most_rows}};
constexpr std::array<std::size_t, 5> shown_leads{1, 6, 12, 24, 48};

struct Sums {
  double n = 0;
  double held = 0;
  double score = 0;  // Winkler's
};
struct Run {
  std::array<std::array<Sums, stretches.size()>, horizon> of{};  // lead, stretch
  double bounds = 0;                                             // from row 300 on
  double wider = 0;                                              // of them, than all values so far
  double neighbours = 0;                                         // leads between two others
  double ragged = 0;  // of them, a fifth wider or narrower than either
};

Run run(const Series& series, std::span<const double> forecasts, Method& method, double coverage) {
  Run result;
  std::vector<std::vector<Interval>> said(horizon + 1, std::vector<Interval>(horizon));
  double low = infinity;
  double high = -infinity;
  for (std::size_t t = 0; t < series.y.size(); ++t) {
    const double d = series.y[t];
    for (std::size_t lead = 1; lead <= std::min(t, horizon); ++lead) {
      const Interval& b = said[(t - lead) % said.size()][lead - 1];
      if (!(b.low <= b.high)) continue;
      for (std::size_t k = 0; k < stretches.size(); ++k) {
        if (t < stretches[k].begin || t >= stretches[k].end) continue;
        Sums& sums = result.of[lead - 1][k];
        ++sums.n;
        sums.held += b.holds(d) ? 1 : 0;
        sums.score += b.high - b.low +
                      2 / (1 - coverage) * (std::max(b.low - d, 0.0) + std::max(d - b.high, 0.0));
      }
    }
    low = std::min(low, d);
    high = std::max(high, d);
    method.learn(d);
    auto& bounds = said[t % said.size()];
    method.around(forecasts.subspan(t * horizon, horizon), bounds);
    const auto width = [&](std::size_t k) { return bounds[k].high - bounds[k].low; };
    for (std::size_t k = 0; t >= 300 && k < horizon; ++k) {
      if (!(width(k) >= 0)) continue;
      ++result.bounds;
      result.wider += width(k) > high - low ? 1 : 0;
      if (k == 0 || k + 1 == horizon || !(width(k - 1) >= 0) || !(width(k + 1) >= 0)) continue;
      ++result.neighbours;
      const double narrow = std::min(width(k - 1), width(k + 1));
      const double wide = std::max(width(k - 1), width(k + 1));
      result.ragged += width(k) > 1.2 * wide || 1.2 * width(k) < narrow ? 1 : 0;
    }
  }
  return result;
}

double mean(const std::vector<double>& of) {
  double sum = 0;
  for (const double v : of) sum += v;
  return sum / static_cast<double>(of.size());
}

void print_comparison(const std::vector<Series>& all) {
  std::vector<std::vector<double>> forecasts(all.size());
  parallel_for(all.size(), 0,
               [&](std::size_t i) { forecasts[i] = forecasts_of(all[i].y, horizon); });
  for (const double coverage : {0.8, 0.9, 0.95}) {
    std::vector<std::vector<Run>> runs(methods.size(), std::vector<Run>(all.size()));
    parallel_for(all.size() * methods.size(), 0, [&](std::size_t k) {
      const std::size_t m = k / all.size();
      const std::size_t i = k % all.size();
      runs[m][i] = run(all[i], forecasts[i], *methods[m].make(coverage), coverage);
    });
    fmt::print("\nCoverage at {:g}, leads 1 · 6 · 12 · 24 · 48, and scores:\n\n", coverage);
    view::Table table({{"series", view::Align::left},
                       {"method", view::Align::left},
                       {"rows 101–300"},
                       {"301–1,000"},
                       {"1,001–5,000"},
                       {"score, of each lead by itself"},
                       {"wider than all seen, after row 300"},
                       {"ragged"}});
    std::vector<std::string> kinds;
    for (const Series& s : all)
      if (kinds.empty() || kinds.back() != s.kind) kinds.push_back(s.kind);
    for (const std::string& kind : kinds)
      for (std::size_t m = 0; m < methods.size(); ++m) {
        std::vector<view::Cell> row{kind, methods[m].name};
        for (std::size_t k = 0; k + 1 < stretches.size(); ++k) {
          std::string text;
          for (const std::size_t lead : shown_leads) {
            std::vector<double> of;
            for (std::size_t i = 0; i < all.size(); ++i) {
              const Sums& sums = runs[m][i].of[lead - 1][k];
              if (all[i].kind == kind && sums.n > 0) of.push_back(sums.held / sums.n);
            }
            text += fmt::format("{}{:.3f}", text.empty() ? "" : " · ", mean(of));
          }
          row.emplace_back(text);
        }
        std::vector<double> scores;
        Run sum;
        for (std::size_t i = 0; i < all.size(); ++i) {
          if (all[i].kind != kind) continue;
          sum.bounds += runs[m][i].bounds;
          sum.wider += runs[m][i].wider;
          sum.neighbours += runs[m][i].neighbours;
          sum.ragged += runs[m][i].ragged;
          for (std::size_t lead = 0; lead < horizon; ++lead) {
            const Sums& one = runs[m][i].of[lead].back();
            const Sums& other = runs[before][i].of[lead].back();
            if (one.n > 0 && one.score > 0 && other.score > 0)
              scores.push_back(std::log(one.score / one.n / (other.score / other.n)));
          }
        }
        row.emplace_back(fmt::format("{:.3f}", std::exp(mean(scores))));
        row.emplace_back(fmt::format("{:.1f} %", 100 * sum.wider / sum.bounds));
        row.emplace_back(fmt::format("{:.1f} %", 100 * sum.ragged / sum.neighbours));
        table.add_row(row);
      }
    fmt::print("{}", table.to_markdown());
  }
}

// ---- How much the last digits count.

double squared_error(const std::vector<double>& y, std::size_t leads) {
  const std::vector<double> said = forecasts_of(y, leads);
  double sum = 0;
  double n = 0;
  for (std::size_t t = 100; t < y.size(); ++t)
    for (std::size_t lead = 1; lead <= leads && t + lead < y.size(); ++lead) {
      const double e = y[t + lead] - said[t * leads + lead - 1];
      sum += e * e;
      ++n;
    }
  return n > 0 ? sum / n : Interval::unknown;
}

void print_digits(const std::vector<Series>& all) {
  constexpr std::size_t tries = 10;
  constexpr std::array<std::size_t, 2> leads{12, 48};
  std::vector<double> errors(all.size() * leads.size() * tries);
  parallel_for(errors.size(), 0, [&](std::size_t k) {
    const std::size_t attempt = k % tries;
    std::vector<double> y = all[k / tries / leads.size()].y;
    Rng rng(attempt);
    for (double& v : y) v *= 1 + 1e-13 * (rng.uniform() < 0.5 ? -1 : 1);
    errors[k] = squared_error(y, leads[k / tries % leads.size()]);
  });
  view::Table table({{"series", view::Align::left}, {"12 leads"}, {"48 leads"}});
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::vector<view::Cell> row{all[i].name};
    for (std::size_t h = 0; h < leads.size(); ++h) {
      const auto of = std::span(errors).subspan((i * leads.size() + h) * tries, tries);
      const auto [least, most] = std::ranges::minmax(of);
      row.emplace_back(fmt::format("{:.2f} %", 100 * (most / least - 1)));
    }
    table.add_row(row);
  }
  fmt::print("\nSpread of the squared error over {} tries:\n\n{}", tries, table.to_markdown());
}

// ---- What it costs.

void print_times(const std::vector<Series>& all) {
  view::Table table(
      {{"series", view::Align::left}, {"1 lead, µs a row"}, {"48 leads"}, {"with bounds of 0.9"}});
  for (const Series& s : all) {
    std::vector<view::Cell> row{s.name};
    for (const auto& [leads, coverage] :
         {std::pair<std::size_t, double>{1, 0}, {48, 0}, {48, 0.9}}) {
      const auto learner = learner_of_series();
      Forecaster forecaster(*learner, leads, coverage);
      const std::clock_t begin = std::clock();
      for (const double& d : s.y) {
        learner->predict({});
        learner->learn({}, {&d, 1});
        forecaster.learn(*learner, {&d, 1});
        forecaster.forecast(*learner, {});
      }
      const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
      row.emplace_back(fmt::format("{:.0f}", 1e6 * seconds / static_cast<double>(s.y.size())));
    }
    table.add_row(row);
  }
  fmt::print("\n{}", table.to_markdown());
}

}  // namespace

int main(int argc, char** argv) try {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const bool digits = std::erase(arguments, "--digits") > 0;
  const bool times = std::erase(arguments, "--times") > 0;
  std::vector<Series> all = real_series(arguments.empty() ? "../shared/data/series" : arguments[0]);
  fmt::print("{} real series, {}\n", all.size(), machine_name());
  if (digits) {
    print_digits(all);
  } else if (times) {
    print_times(all);
  } else {
    for (Series& s : made_up_series()) all.push_back(std::move(s));
    print_comparison(all);
  }
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "forecast_bands: {}\n", error.what());
  return 1;
}
