// A long life: every learner over millions of samples, then under attack.
//
//     kalstream_soak [--samples N] [--minutes M] [--learner NAME,…] [--stream NAME,…] [--age N]
//                    [--attack N] [--after N] [--seed N] [--lives N]
//
// prints a line whenever the number of samples has about doubled, and ends with 1 if anything was
// not finite, a covariance no longer positive definite, memory grew, errors got worse with the
// years, or a learner did not recover from an attack. Streams (friedman, drifting, mackey-glass;
// attacks, and wild values in all orders, count as one each) have --samples, or what so many
// --minutes allow; attacks come at an --age of samples and last for --attack samples, and the
// learner has --after samples to recover. --seed is that of the first weights and of the streams'
// noise; of several --lives on a stream each has the next one, and errors are judged over all of
// them. On mackey-glass, where errors swing without any ageing, there are 16, unless --lives or
// --minutes says otherwise. docs/robustness.md tells what was found.
#include <malloc.h>

#include <Eigen/Dense>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "auto/auto_learner.h"
#include "core/rng.h"
#include "kalstream/learner.h"
#include "learner/mixture.h"
#include "learner/network_learner.h"
#include "update/block_kalman.h"

namespace kalstream {
namespace {

using Vector = std::vector<double>;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

// ---- Streams without an end.

struct Sample {
  Vector x;
  Vector d = Vector(1);
};

/// Friedman's function #1 of five of ten inputs; if it drifts, which five moves on by one in the
/// course of 100,000 samples, and begins again after ten times that.
class Friedman {
 public:
  Friedman(std::uint64_t seed, bool drifts) : rng_(seed), drifts_(drifts) { s_.x.resize(10); }

  const Sample& next() {
    std::array<double, 10> u;
    for (std::size_t k = 0; k < u.size(); ++k) {
      u[k] = rng_.uniform();
      s_.x[k] = std::sqrt(12.0) * (u[k] - 0.5);
    }
    constexpr std::uint64_t period = 100'000;
    const std::size_t shift = drifts_ ? t_ / period : 0;
    const double w = drifts_ ? static_cast<double>(t_ % period) / period : 0;
    ++t_;
    const double f = (1 - w) * value(u, shift) + w * value(u, shift + 1) + rng_.normal();
    s_.d[0] = 0.8 * (f - 14.4) / 16;
    return s_;
  }

 private:
  static double value(const std::array<double, 10>& u, std::size_t shift) {
    const auto at = [&](std::size_t k) { return u[(k + shift) % u.size()]; };
    return 10 * std::sin(std::acos(-1.0) * at(0) * at(1)) + 20 * std::pow(at(2) - 0.5, 2) +
           10 * at(3) + 5 * at(4);
  }

  Rng rng_;
  bool drifts_;
  std::uint64_t t_ = 0;
  Sample s_;
};

/// x' = 0.2 x₋₁₇/(1 + x₋₁₇¹⁰) − 0.1 x in steps of one, with some noise; what it is six steps on.
class MackeyGlass {
 public:
  explicit MackeyGlass(std::uint64_t seed) : rng_(seed) {
    s_.x.resize(1);
    past_.fill(1.2);
    for (int t = 0; t < 500; ++t) step();
  }

  const Sample& next() {
    step();
    s_.x[0] = 4 * (at(ahead) - 0.9);
    s_.d[0] = 1.2 * (at(0) - 0.9) + 0.01 * rng_.normal();
    return s_;
  }

 private:
  static constexpr std::size_t ahead = 6;
  double at(std::size_t age) const { return past_[(t_ - age) % past_.size()]; }
  void step() {
    const double delayed = at(17);
    const double now = at(0);
    ++t_;
    past_[t_ % past_.size()] = 0.9 * now + 0.2 * delayed / (1 + std::pow(delayed, 10));
  }

  Rng rng_;
  std::array<double, 32> past_;
  std::size_t t_ = 31;
  Sample s_;
};

// ---- Learners.

struct Contender {
  std::string name;
  Rule rule;
  bool forgets = true;
};

std::vector<Contender> contenders() {
  return {{"naive", Naive{}},
          {"rls", Rls{}, false},
          {"ar", Ar{}, false},
          {"adam", Adam{}},
          {"alg1", Algorithm1{}},
          {"alg2", Algorithm2{}},
          {"dekf", Dekf{}},
          {"iekf", Iekf{}},
          {"pekf", ParallelEkf{}},
          {"ekf", Ekf{}},
          {"auto", Auto{.experts = 6, .lags = 8}}};
}

LearnerOptions options_of(const Contender& c, std::size_t inputs, std::size_t hidden,
                          std::uint64_t seed) {
  return {.network = {.inputs = inputs, .hidden = hidden, .seed = seed}, .rule = c.rule};
}

std::vector<const BlockKalman*> covariances_of(const Learner& learner) {
  std::vector<const BlockKalman*> all;
  const auto add = [&](const Learner& one) {
    const auto* network = dynamic_cast<const NetworkLearner*>(&one);
    const auto* rule =
        network == nullptr ? nullptr : dynamic_cast<const BlockKalman*>(&network->rule());
    if (rule != nullptr) all.push_back(rule);
  };
  add(learner);
  if (const auto* mixture = dynamic_cast<const Mixture*>(&learner); mixture != nullptr)
    for (std::size_t j = 0; j < mixture->size(); ++j) add(mixture->expert(j));
  if (const auto* many = dynamic_cast<const AutoLearner*>(&learner); many != nullptr)
    for (std::size_t j = 0; j < many->better().experts(); ++j)
      if (const Learner* one = many->better().expert(j); one != nullptr) add(*one);
  return all;
}

// ---- What is watched.

struct Health {
  double least_variance = infinity;
  bool positive = true;  // definite, within rounding of the mean variance
};

Health health_of(const Learner& learner) {
  Health health;
  for (const BlockKalman* rule : covariances_of(learner))
    for (std::size_t i = 0; i < rule->block_count(); ++i) {
      const auto n = static_cast<Eigen::Index>(block_size(rule->block(i)));
      const Vector packed = rule->covariance(i);
      Eigen::MatrixXd P(n, n);
      for (Eigen::Index r = 0, k = 0; r < n; ++r)
        for (Eigen::Index c = 0; c <= r; ++c, ++k)
          P(r, c) = P(c, r) = packed[static_cast<std::size_t>(k)];
      health.least_variance = std::min(health.least_variance, P.diagonal().minCoeff());
      P.diagonal().array() += 1e-12 * P.trace();
      health.positive = health.positive && Eigen::LLT<Eigen::MatrixXd>(P).info() == Eigen::Success;
    }
  return health;
}

/// Asked for and not given back: what the process has from the system also depends on what these
/// checks themselves leave behind.
double memory_mib() {
  const auto info = mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd) / (1 << 20);
}

/// Σ(d − d̂)²/Σ(d − mean)².
class Score {
 public:
  void add(double d, double d_hat) {
    ++n_;
    e2_ += (d - d_hat) * (d - d_hat);
    const double before = d - mean_;
    mean_ += before / n_;
    d2_ += before * (d - mean_);
  }
  double nse() const { return e2_ / d2_; }
  double samples() const { return n_; }

 private:
  double n_ = 0;
  double e2_ = 0;
  double mean_ = 0;
  double d2_ = 0;
};

int failures = 0;

void expect(bool holds, const std::string& what) {
  if (holds) return;
  ++failures;
  std::printf("FAILED: %s\n", what.c_str());
}

struct Limits {
  std::uint64_t samples = 10'000'000;
  double minutes = infinity;  // for each learner and stream
  std::size_t age = 20'000;   // samples before an attack …
  std::size_t attack = 200;   // … of it …
  std::size_t after = 5000;   // … and after it
  std::uint64_t seed = 1;
  std::uint64_t lives = 0;  // 0: as many as it takes to tell ageing from chance
};

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// ---- A long life.

/// Errors of stretches of 100,000 samples.
class Stretches {
 public:
  void add(double nse) {
    ++n_;
    sum_ += nse;
    squares_ += nse * nse;
  }
  bool empty() const { return n_ == 0; }
  double mean() const { return sum_ / n_; }
  /// The variance of the mean.
  double uncertainty() const {
    return n_ > 1 ? std::max(squares_ - n_ * mean() * mean(), 0.0) / (n_ - 1) / n_ : 0;
  }
  std::string text() const {
    std::array<char, 64> out;
    std::snprintf(out.data(), out.size(), "%.4g +- %.2g", mean(), std::sqrt(uncertainty()));
    return out.data();
  }

 private:
  double n_ = 0;
  double sum_ = 0;
  double squares_ = 0;
};

/// The million around the first, and the last tenth of a life of at least two.
struct Ages {
  Stretches then;
  Stretches now;
};

void live(const Contender& c, const std::string& stream, std::size_t inputs,
          const std::function<const Sample&()>& next, const Limits& limits, std::uint64_t seed,
          Ages& ages) {
  const std::string what = c.name + " on " + stream;
  const auto learner = make_learner(options_of(c, inputs, 8, seed));
  const auto start = Clock::now();
  Score part;
  std::vector<Score> tenths;  // of a million
  double memory = 0;
  std::uint64_t rejected = 0;
  std::uint64_t checkpoint = 1000;
  for (std::uint64_t t = 1; t <= limits.samples; ++t) {
    const Sample& s = next();
    const double d_hat = learner->predict(s.x)[0];
    const StepReport report = learner->learn(s.x, s.d);
    rejected += report.rejected;
    if (!std::isfinite(d_hat) || !std::isfinite(report.covariance_trace))
      return expect(false, what + ": not finite at " + std::to_string(t));
    part.add(s.d[0], d_hat);
    if ((t - 1) % 100'000 == 0) tenths.emplace_back();
    tenths.back().add(s.d[0], d_hat);
    const bool out_of_time = t % 1000 == 0 && seconds_since(start) > 60 * limits.minutes;
    if (t != checkpoint && t != limits.samples && !out_of_time) continue;
    const Health health = health_of(*learner);
    std::printf(
        "%-6s %-12s %10llu  NSE %-10.4g trace %-10.4g least variance %-10.3g %s"
        "  rejected %-6llu %7.1f MiB %8.0f s\n",
        c.name.c_str(), stream.c_str(), static_cast<unsigned long long>(t), part.nse(),
        report.covariance_trace, health.least_variance, health.positive ? "definite" : "INDEFINITE",
        static_cast<unsigned long long>(rejected), memory_mib(), seconds_since(start));
    std::fflush(stdout);
    expect(health.positive, what + ": a covariance is not positive definite");
    if (memory == 0) memory = memory_mib();
    expect(memory_mib() < memory + 0.1, what + ": memory grew");
    part = {};
    checkpoint = std::to_string(checkpoint)[0] == '2' ? checkpoint / 2 * 5 : checkpoint * 2;
    if (out_of_time) break;
  }
  if (tenths.size() < 20) return;
  for (std::size_t k = 5; k < 15; ++k) ages.then.add(tenths[k].nse());
  for (std::size_t k = tenths.size() * 9 / 10; k < tenths.size(); ++k)
    ages.now.add(tenths[k].nse());
}

/// Within 5 %, over all lives.
void compare(const std::string& what, const Ages& ages) {
  if (ages.now.empty()) return;
  const std::string text = what + ": NSE " + ages.then.text() + " around a million samples, " +
                           ages.now.text() + " in the end";
  std::printf("%s\n", text.c_str());
  expect(ages.now.mean() <= 1.05 * ages.then.mean(), text);
}

// ---- Attacks.

struct Attack {
  std::string name;
  /// Makes an ordinary sample into a hostile one, given what is predicted for it.
  std::function<void(std::size_t t, double d_hat, Sample& s)> spoil;
};

std::vector<Attack> attacks() {
  const auto fill = [](Vector& v, double a) { std::fill(v.begin(), v.end(), a); };
  return {
      {"constant", [=](std::size_t, double, Sample& s) { fill(s.x, 3), fill(s.d, 7); }},
      {"zero", [=](std::size_t, double, Sample& s) { fill(s.x, 0), fill(s.d, 0); }},
      {"huge", [=](std::size_t t, double, Sample& s) { fill(t % 2 == 0 ? s.x : s.d, 1e90); }},
      {"too huge", [=](std::size_t t, double, Sample& s) { fill(t % 2 == 0 ? s.x : s.d, 1e150); }},
      {"tiny",
       [=](std::size_t, double, Sample& s) {
         for (double& x : s.x) x *= 1e-300;
         s.d[0] *= 1e-300;
       }},
      {"alternating scales",
       [=](std::size_t t, double, Sample& s) {
         for (double& x : s.x) x *= t % 2 == 0 ? 1e6 : 1e-6;
         s.d[0] *= t % 3 == 0 ? 1e6 : 1e-6;
       }},
      {"not numbers",
       [=](std::size_t t, double, Sample& s) {
         s.x[t % s.x.size()] = t % 2 == 0 ? nan : t % 3 == 0 ? infinity : s.x[0];
         if (t % 5 == 1) s.d[0] = -infinity;
       }},
      {"one row for ever",
       [=, row = Sample{}](std::size_t t, double, Sample& s) mutable {
         if (t == 0) row = s;
         s = row;
       }},
      {"steps",
       [=](std::size_t t, double, Sample& s) {
         fill(s.x, t % 2 == 0 ? 1e3 : -1e3);
         fill(s.d, t % 2 == 0 ? -1e3 : 1e3);
       }},
      {"opposite", [=](std::size_t, double d_hat, Sample& s) { s.d[0] = d_hat > 0 ? -1 : 1; }},
      {"far opposite",
       [=](std::size_t, double d_hat, Sample& s) { s.d[0] = d_hat > 0 ? -1e4 : 1e4; }},
      {"stuck inputs", [=](std::size_t, double, Sample& s) { fill(s.x, s.x[0]); }},
  };
}

std::string text_of(double v) {
  std::array<char, 32> out;
  std::snprintf(out.data(), out.size(), "%.10g", v);
  return out.data();
}

/// A number that looks random.
std::uint64_t mixed(std::uint64_t t) { return Rng(t).below(1 << 20); }

/// Values as they come from broken sensors and files, in every order: `auto` promises to forget
/// them.
std::vector<Attack> wild_values() {
  struct Spoiler {
    std::string name;
    std::function<void(double& v, double sign)> spoil;
  };
  std::vector<Spoiler> spoilers;
  for (const double v : {15.0, 30.0, 1e3, 1e7, 2147483647.0, 1e50})
    spoilers.push_back({"+-" + text_of(v), [=](double& to, double sign) { to = sign * v; }});
  spoilers.push_back({"-9999", [](double& to, double) { to = -9999; }});
  for (const double v : {10.0, 1e3, 1e6}) {
    spoilers.push_back(
        {"shifted by " + text_of(v), [=](double& to, double sign) { to += sign * v; }});
    spoilers.push_back({"times " + text_of(v), [=](double& to, double sign) { to *= sign * v; }});
  }
  struct Order {
    std::string name;
    std::function<double(std::size_t t)> sign;  // 0: an ordinary sample
  };
  const auto sign_of = [](bool positive) { return positive ? 1.0 : -1.0; };
  const std::vector<Order> orders = {
      {"two", [](std::size_t t) { return t < 2 ? 1 : 0; }},
      {"all", [](std::size_t) { return 1; }},
      {"all, alternating", [=](std::size_t t) { return sign_of(t % 2 == 0); }},
      {"every other", [](std::size_t t) { return t % 2 == 0 ? 1 : 0; }},
      {"three of six", [=](std::size_t t) { return t % 6 < 3 ? sign_of(t % 2 == 0) : 0; }},
      {"one of twenty", [](std::size_t t) { return t % 20 == 0 ? 1 : 0; }},
      {"some", [=](std::size_t t) { return mixed(t) % 3 > 0 ? 0 : sign_of(mixed(~t) % 2 == 0); }}};
  std::vector<Attack> all;
  for (const Spoiler& spoiler : spoilers)
    for (const Order& order : orders) {
      const auto add = [&](const char* what, bool inputs, bool targets) {
        all.push_back({std::string(what) + " " + spoiler.name + ", " + order.name,
                       [=](std::size_t t, double, Sample& s) {
                         const double sign = order.sign(t);
                         if (sign == 0) return;
                         if (inputs) spoiler.spoil(s.x[t % 2], sign);
                         if (targets) spoiler.spoil(s.d[0], sign);
                       }});
      };
      add("target", false, true);
      add("inputs", true, false);
    }
  return all;
}

std::unique_ptr<Learner> raw_learner(const Contender& c, std::uint64_t seed) {
  const LearnerOptions o = options_of(c, 10, 4, seed);
  return takes_raw_data(c.rule) ? make_learner(o) : make_scaled_learner(o);
}

/// Learns `samples`, and returns the score of the last fifth.
double learn(Learner& learner, Friedman& stream, std::size_t samples, const std::string& what) {
  Score score;
  bool finite = true;
  for (std::size_t t = 0; t < samples; ++t) {
    const Sample& s = stream.next();
    const double d_hat = learner.predict(s.x)[0];
    finite = finite && std::isfinite(d_hat);
    if (5 * t >= 4 * samples) score.add(s.d[0], d_hat);
    learner.learn(s.x, s.d);
  }
  expect(finite, what + ": a prediction was not finite");
  return score.nse();
}

/// The error after the attack must be within `limit` of that of a learner that was spared.
void recover(const Contender& c, const Limits& limits, const std::vector<Attack>& attacks,
             double limit) {
  Friedman stream_before(limits.seed + 2, false);
  const auto learner_before = raw_learner(c, limits.seed);
  learn(*learner_before, stream_before, limits.age, c.name);
  Friedman spared_stream = stream_before;
  const auto spared = learner_before->clone();
  learn(*spared, spared_stream, limits.attack, c.name);
  const double usual = learn(*spared, spared_stream, limits.after, c.name);
  for (const Attack& attack : attacks) {
    const std::string what = c.name + " after '" + attack.name + "'";
    Friedman stream = stream_before;
    const auto learner = learner_before->clone();
    bool finite = true;
    for (std::size_t t = 0; t < limits.attack; ++t) {
      Sample s = stream.next();
      const double d_hat = learner->predict(s.x)[0];
      attack.spoil(t, d_hat, s);
      const double after_all = learner->predict(s.x)[0];
      const bool usable =
          std::all_of(s.x.begin(), s.x.end(), [](double x) { return std::abs(x) <= 1e100; });
      finite = finite && std::isfinite(usable ? after_all : 0);
      const StepReport report = learner->learn(s.x, s.d);
      finite = finite && std::isfinite(report.covariance_trace);
    }
    expect(finite, what + ": something was not finite");
    const double now = learn(*learner, stream, limits.after, what);
    std::printf("%-6s %-40s NSE %-10.4g %.3f of one that was spared\n", c.name.c_str(),
                attack.name.c_str(), now, now / usual);
    std::fflush(stdout);
    expect(now <= limit * usual || !c.forgets, what + ": it has not recovered");
  }
}

/// Whether a list NAME,… has this one; an empty list has all.
bool has(const std::string& list, const std::string& name) {
  return list.empty() || ("," + list + ",").find("," + name + ",") != std::string::npos;
}

int run(const std::vector<std::string>& arguments) {
  Limits limits;
  std::string learners;
  std::string streams;
  for (std::size_t k = 0; k < arguments.size(); k += 2) {
    const std::string& name = arguments[k];
    const std::string value = k + 1 < arguments.size() ? arguments[k + 1] : "";
    const double number = std::atof(value.c_str());
    if (name == "--samples" && number >= 1) {
      limits.samples = static_cast<std::uint64_t>(number);
    } else if (name == "--minutes" && number > 0) {
      limits.minutes = number;
    } else if (name == "--age" && number >= 1) {
      limits.age = static_cast<std::size_t>(number);
    } else if (name == "--attack" && number >= 1) {
      limits.attack = static_cast<std::size_t>(number);
    } else if (name == "--after" && number >= 1) {
      limits.after = static_cast<std::size_t>(number);
    } else if (name == "--seed" && number >= 1) {
      limits.seed = static_cast<std::uint64_t>(number);
    } else if (name == "--lives" && number >= 1) {
      limits.lives = static_cast<std::uint64_t>(number);
    } else if (name == "--learner") {
      learners = value;
    } else if (name == "--stream") {
      streams = value;
    } else {
      std::printf(
          "kalstream_soak [--samples N] [--minutes M] [--learner NAME,…] [--stream "
          "friedman,drifting,mackey-glass,attacks,wild] [--age N] [--attack N] [--after N] [--seed "
          "N] "
          "[--lives N]\n");
      return 2;
    }
  }
  for (const Contender& c : contenders()) {
    if (!has(learners, c.name)) continue;
    if (has(streams, "attacks")) recover(c, limits, attacks(), 2);
    if (has(streams, "wild") && c.name == "auto") recover(c, limits, wild_values(), 1.2);
    const auto live_on = [&](const char* stream, std::size_t inputs, std::uint64_t usual_lives,
                             auto source_of) {
      if (!has(streams, stream)) return;
      Ages ages;
      const std::uint64_t lives = limits.lives > 0             ? limits.lives
                                  : std::isinf(limits.minutes) ? usual_lives
                                                               : 1;
      for (std::uint64_t seed = limits.seed; seed < limits.seed + lives; ++seed) {
        auto source = source_of(seed);
        live(
            c, stream, inputs, [&]() -> const Sample& { return source.next(); }, limits, seed,
            ages);
      }
      compare(c.name + " on " + stream, ages);
    };
    live_on("friedman", 10, 1, [](std::uint64_t seed) { return Friedman(seed, false); });
    live_on("drifting", 10, 1, [](std::uint64_t seed) { return Friedman(seed + 1, true); });
    live_on("mackey-glass", 1, 16, [](std::uint64_t seed) { return MackeyGlass(seed); });
  }
  if (failures == 0)
    std::printf("all is well\n");
  else
    std::printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace kalstream

int main(int argc, char** argv) { return kalstream::run({argv + 1, argv + argc}); }
