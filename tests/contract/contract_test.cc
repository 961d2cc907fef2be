// What every learner promises its user, checked on every kind of learner there is.
//
// This program counts allocations, so it replaces the global operator new and delete.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <limits>
#include <new>
#include <numeric>
#include <string>
#include <utility>

#include "kalstream/interval.h"
#include "kalstream/learner.h"
#include "kalstream/rls_batch.h"
#include "kalstream/snapshot.h"
#include "kalstream/surprise.h"
#include "learner/mixture.h"
#include "learner/network_learner.h"
#include "learner/parts.h"
#include "recipes/state.h"
#include "rules/rule.h"
#include "support.h"

namespace {

std::size_t allocations = 0;

void* counted(std::size_t size, std::size_t alignment) {
  ++allocations;
  const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
  void* p = alignment > alignof(std::max_align_t) ? std::aligned_alloc(alignment, rounded)
                                                  : std::malloc(size == 0 ? 1 : size);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}

}  // namespace

// NOLINTBEGIN: these signatures are the standard's. The array forms end up here, too.
// Not inlined: the compiler would see free() meet a pointer from new, and warn.
[[gnu::noinline]] void* operator new(std::size_t size) { return counted(size, 1); }
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t a) {
  return counted(size, static_cast<std::size_t>(a));
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return counted(size, 1);
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t, std::align_val_t) noexcept {
  std::free(p);
}
// NOLINTEND

namespace kalstream {
namespace {

using test::copy;
using test::normals;
using test::random_stream;
using test::same_bits;
using test::Stream;
using test::Vector;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

struct Case {
  std::string name;
  LearnerOptions options;
  bool scaled = false;

  std::unique_ptr<Learner> make(std::uint64_t seed = 1) const {
    LearnerOptions o = options;
    o.network.seed = seed;
    return scaled ? make_scaled_learner(o) : make_learner(o);
  }
  /// Numbers from −1 to 1 as targets of its loss: probabilities, counts, or as they are.
  Vector fit(Vector d) const {
    if (!options.loss.has_link()) return d;
    const bool counts = options.loss.kind == Loss::Kind::poisson;
    double sum = 0;
    for (std::size_t k = 0; k < d.size(); ++k) {
      const double one = std::clamp(d[k], -1.0, 1.0);
      if (counts && d[k] <= 1)
        d[k] = 3 * (1 + one);
      else if (!counts && d.size() == 1)
        d[k] = (1 + one) / 2;
      else if (!counts)
        sum += d[k] = std::exp(static_cast<double>(k + 1) * one);
    }
    for (double& v : d) v /= sum > 0 ? sum : 1;
    if (automatic()) {  // takes classes alone
      const double most = d.size() == 1 ? 0.5 : *std::max_element(d.begin(), d.end());
      for (double& v : d) v = v >= most ? 1 : 0;
    }
    return d;
  }
  Stream fit(Stream stream) const {
    for (Vector& d : stream.d) d = fit(d);
    return stream;
  }
  bool level() const {  // a number, whatever the input; a missing target leaves it as it is
    return std::holds_alternative<Naive>(options.rule) ||
           std::holds_alternative<Mean>(options.rule);
  }
  bool has_covariance() const { return footprint(options).covariance_blocks > 0; }
  bool mixture() const { return std::holds_alternative<Algorithm2>(options.rule); }
  bool automatic() const { return std::holds_alternative<Auto>(options.rule); }
  bool takes_gaps() const { return takes_missing_inputs(options.rule); }
  bool kernel() const { return std::holds_alternative<Kernel>(options.rule); }
  bool remembers() const {  // trees do not ask anything of ten samples yet
    return !level() && !std::holds_alternative<Trees>(options.rule) &&
           (scaled || takes_raw_data(options.rule) || options.lags > 0 ||
            options.network.cell != Cell::feedforward);
  }
};

std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }

// A mixture of few experts that differ in what they learn from.
Algorithm2 algorithm2(Feedback feedback = Feedback::own) {
  Algorithm2 rule;
  rule.error_bounds = {0.5, 0.1, 0.01};
  rule.feedback = feedback;
  return rule;
}

std::vector<Case> cases() {
  const std::vector<std::pair<std::string, Rule>> rules = {{"sgd", Sgd{}},
                                                           {"rmsprop", RmsProp{}},
                                                           {"adam", Adam{}},
                                                           {"ekf", Ekf{}},
                                                           {"dekf", Dekf{}},
                                                           {"iekf", Iekf{}},
                                                           {"algorithm1", Algorithm1{}},
                                                           {"algorithm2", algorithm2()},
                                                           {"pekf", ParallelEkf{}}};
  const auto plain = test::small_network(2, 2, 1);
  auto two = test::small_network(2, 2, 2);
  auto rtrl = plain;
  rtrl.derivative = Derivative::rtrl;
  auto two_rtrl = two;
  two_rtrl.derivative = Derivative::rtrl;
  auto identity = plain;
  identity.output_activation = OutputActivation::identity;

  std::vector<Case> all;
  for (const auto& [name, rule] : rules) {
    all.push_back({name, {plain, rule}});
    all.push_back({name + "_scaled", {plain, rule}, true});
  }
  for (const std::size_t n : {0, 3, 4, 6, 7})
    all.push_back({rules[n].first + "_d2", {two, rules[n].second}});
  for (const std::size_t n : {2, 3, 6, 7})
    all.push_back({rules[n].first + "_rtrl", {n == 3 ? two_rtrl : rtrl, rules[n].second}});
  for (const std::size_t n : {0, 1, 3, 7})
    all.push_back({rules[n].first + "_identity", {identity, rules[n].second}});
  all.push_back({"algorithm2_identity_scaled", {identity, algorithm2()}, true});
  all.push_back({"ekf_d2_rtrl_scaled", {two_rtrl, Ekf{}}, true});

  for (const auto& [name, partition] :
       {std::pair("unit", Partition::unit), std::pair("gate", Partition::gate),
        std::pair("full", Partition::full)}) {
    Dekf dekf;
    dekf.partition = partition;
    all.push_back({std::string("dekf_") + name, {two, dekf}});
    Algorithm1 algorithm1;
    algorithm1.partition = partition;
    all.push_back({std::string("algorithm1_") + name, {plain, algorithm1}});
  }
  Algorithm1 published;
  published.gate = Gate::bound;
  published.process_noise_when_gated = true;
  all.push_back({"algorithm1_bound_gated_noise", {plain, published}});
  all.push_back({"algorithm2_mixture_feedback", {plain, algorithm2(Feedback::mixture)}});
  all.push_back({"algorithm2_default", {plain, Algorithm2{}}});
  auto window_1 = plain;
  window_1.window = 1;
  all.push_back({"ekf_window_1", {window_1, Ekf{}}});

  auto simple = plain;
  simple.cell = Cell::simple;
  simple.direct = true;
  auto feedforward = two;
  feedforward.cell = Cell::feedforward;
  feedforward.direct = true;
  auto linear = identity;
  linear.cell = Cell::feedforward;
  linear.direct = true;
  linear.hidden = 0;
  auto direct_rtrl = rtrl;
  direct_rtrl.direct = true;
  auto gru = plain;
  gru.cell = Cell::gru;
  auto gru_rtrl = two_rtrl;
  gru_rtrl.cell = Cell::gru;
  for (const std::size_t n : {2, 3, 4, 6, 7, 8})
    all.push_back({rules[n].first + "_gru", {gru, rules[n].second}});
  all.push_back({"ekf_gru_d2_rtrl_scaled", {gru_rtrl, Ekf{}}, true});
  all.push_back({"adam_gru_d2_rtrl", {gru_rtrl, Adam{}}});
  for (const std::size_t n : {3, 6, 8}) {
    all.push_back({rules[n].first + "_simple", {simple, rules[n].second}});
    all.push_back({rules[n].first + "_feedforward_d2", {feedforward, rules[n].second}});
    all.push_back({rules[n].first + "_linear", {linear, rules[n].second}});
  }
  all.push_back({"adam_simple", {simple, Adam{}}});
  all.push_back({"dekf_linear", {linear, Dekf{}}});
  all.push_back({"algorithm2_simple_scaled", {simple, algorithm2()}, true});
  all.push_back({"algorithm2_linear_scaled", {linear, algorithm2()}, true});
  all.push_back({"ekf_direct_rtrl", {direct_rtrl, Ekf{}}});

  const auto with_loss = [&](const std::string& name, const NetworkOptions& network,
                             const Rule& rule, const Loss& loss, bool scaled = false,
                             std::size_t lags = 0) {
    all.push_back({name, {network, rule, lags, loss}, scaled});
  };
  const Loss classes{Loss::Kind::cross_entropy};
  auto three = two;
  three.outputs = 3;
  auto gru_classes = gru_rtrl;
  gru_classes.outputs = 3;
  for (const auto& [name, rule] : rules) {
    with_loss(name + "_two_classes", plain, rule, classes);
    with_loss(name + "_classes", three, rule, classes);
  }
  with_loss("ekf_gru_classes_rtrl", gru_classes, Ekf{}, classes);
  with_loss("algorithm1_simple_two_classes_lagged", simple, Algorithm1{}, classes, false, 2);
  with_loss("ekf_linear_two_classes_scaled", linear, Ekf{}, classes, true);
  with_loss("algorithm2_classes_mixture_feedback", three, algorithm2(Feedback::mixture), classes);
  with_loss("algorithm2_classes_lagged_scaled", three, algorithm2(), classes, true, 2);
  for (const auto& [name, loss] :
       {std::pair<std::string, Loss>("counts", {Loss::Kind::poisson}),
        std::pair<std::string, Loss>("huber", {Loss::Kind::huber}),
        std::pair<std::string, Loss>("median", {Loss::Kind::quantile, 0.1, 0.5})}) {
    for (const std::size_t n : {2, 3, 4, 6, 7})
      with_loss(rules[n].first + "_" + name, n == 4 ? two : plain, rules[n].second, loss);
    with_loss("ekf_" + name + "_scaled", two_rtrl, Ekf{}, loss, true);
    with_loss("algorithm2_" + name + "_lagged_scaled", identity, algorithm2(), loss, true, 2);
  }

  const std::vector<std::pair<std::string, Rule>> baselines = {
      {"rls", Rls{}}, {"ar", Ar{}}, {"naive", Naive{}}, {"mean", Mean{}}};
  for (const auto& [name, rule] : baselines) {
    all.push_back({name, {plain, rule}});
    all.push_back({name + "_d2", {two, rule}});
  }
  for (const auto& [name, rule] : {std::pair<std::string, Rule>("adam", Adam{}),
                                   std::pair<std::string, Rule>("algorithm1", Algorithm1{}),
                                   std::pair<std::string, Rule>("algorithm2", algorithm2())}) {
    all.push_back({name + "_lagged", {plain, rule, 3}});
    all.push_back({name + "_lagged_d2_scaled", {two, rule, 2}, true});
  }
  all.push_back({"ekf_lagged_identity_scaled", {identity, Ekf{}, 2}, true});
  all.push_back({"rls_lagged", {two, Rls{}, 3}});

  const Kernel small{.centres = 12, .memory = 32, .renewal = 20, .past_inputs = 2};
  all.push_back({"kernel", {plain, small}});
  all.push_back({"kernel_without_past_d2", {two, Kernel{}}});
  all.push_back({"kernel_lagged", {plain, small, 3}});

  all.push_back({"trees", {plain, Trees{.trees = 10, .memory = 40, .every = 3}}});
  all.push_back({"trees_lagged_d2", {two, Trees{}, 3}});

  all.push_back({"auto", {plain, Auto{}}});
  all.push_back({"auto_d2", {two, Auto{.experts = 6}}});
  all.push_back({"auto_no_lags", {plain, Auto{.lags = 0}}});
  all.push_back({"auto_classes", {plain, Auto{}, 0, classes}});
  all.push_back({"auto_classes_d2", {two, Auto{}, 0, classes}});
  all.push_back({"auto_three", {plain, Auto{.experts = 3}}});
  auto four = plain;
  four.hidden = 4;
  all.push_back({"auto_max", {four, Auto{.experts = 3, .lags = 4, .full_ekf = true}}});

  // A rule that nobody has thought of here.
  for_every_rule([&]<class Options>(const RuleInfo<Options>& info) {
    const auto is_there = [](const Case& c) {
      return std::holds_alternative<Options>(c.options.rule);
    };
    if (std::any_of(all.begin(), all.end(), is_there)) return;
    const std::string name(info.stored_as);
    all.push_back({name, {plain, Options{}}});
    all.push_back({name + "_d2_scaled", {two, Options{}}, info.whole_learner == nullptr});
  });
  return all;
}

/// All a user sees of one step.
struct Seen {
  Vector prediction;
  StepStatus status;
  Vector numbers;  // counts, trace, mixture weights
};

Vector numbers(const StepReport& r) {
  Vector all{double(r.experts), double(r.applied), double(r.rejected), r.covariance_trace};
  all.insert(all.end(), r.weights.begin(), r.weights.end());
  return all;
}

testing::AssertionResult same(const Seen& a, const Seen& b) {
  if (a.status != b.status)
    return testing::AssertionFailure() << to_string(a.status) << ", not " << to_string(b.status);
  if (auto bits = same_bits(a.prediction, b.prediction); !bits) return bits << " (prediction)";
  return same_bits(a.numbers, b.numbers) << " (report)";
}

Seen step(Learner& learner, const Vector& x, const Vector& d) {
  Seen seen{copy(learner.predict(x)), {}, {}};
  const StepReport report = learner.learn(x, d);
  seen.status = report.status;
  seen.numbers = numbers(report);
  return seen;
}

std::vector<Seen> run(Learner& learner, const Stream& stream, std::size_t first = 0) {
  std::vector<Seen> all;
  for (std::size_t t = first; t < stream.size(); ++t)
    all.push_back(step(learner, stream.x[t], stream.d[t]));
  return all;
}

testing::AssertionResult same(const std::vector<Seen>& a, const std::vector<Seen>& b) {
  if (a.size() != b.size()) return testing::AssertionFailure() << "lengths differ";
  for (std::size_t t = 0; t < a.size(); ++t)
    if (auto one = same(a[t], b[t]); !one) return one << " at step " << t;
  return testing::AssertionSuccess();
}

// The weights of all networks inside, where they can be reached.
Vector weights_of(Learner& learner) {
  if (auto* one = dynamic_cast<NetworkLearner*>(&learner)) return copy(one->weights());
  Vector all;
  if (auto* mixture = dynamic_cast<Mixture*>(&learner))
    for (std::size_t j = 0; j < mixture->size(); ++j) {
      const Vector theta = weights_of(mixture->expert(j));
      all.insert(all.end(), theta.begin(), theta.end());
    }
  return all;
}

// A random stream in which some inputs come twice in a row: nothing may be mistaken for the last
// one.
Stream with_repeats(Stream stream) {
  for (std::size_t t = 3; t < stream.size(); t += 5) stream.x[t] = stream.x[t - 1];
  return stream;
}

class Contract : public testing::TestWithParam<Case> {
 protected:
  static constexpr std::size_t length = 40;
  const std::size_t n_x = GetParam().options.network.inputs;
  const std::size_t n_d = GetParam().options.network.outputs;
  const std::unique_ptr<Learner> learner = GetParam().make();
  const Stream stream = GetParam().fit(with_repeats(random_stream(21, n_x, n_d, length)));
  const Stream other = GetParam().fit(random_stream(22, n_x, n_d, length));
  Rng rng{23};
  Vector fit(double d) const { return GetParam().fit(Vector(n_d, d)); }
};

TEST_P(Contract, KnowsItsSizes) {
  EXPECT_EQ(learner->inputs(), n_x);
  EXPECT_EQ(learner->outputs(), n_d);
}

TEST_P(Contract, PredictsBeforeItHasLearnt) {
  const Vector d_hat = copy(learner->predict(stream.x[0]));
  ASSERT_EQ(d_hat.size(), n_d);
  for (const double v : d_hat) EXPECT_TRUE(std::isfinite(v));
}

TEST_P(Contract, Learns) {
  if (GetParam().level()) return;
  const Stream longer = GetParam().fit(random_stream(21, n_x, n_d, 1500));
  double early = 0;
  double late = 0;
  for (std::size_t t = 0; t < longer.size(); ++t) {
    const Vector d_hat = step(*learner, longer.x[t], longer.d[t]).prediction;
    for (std::size_t k = 0; k < n_d; ++k) {
      const double e = longer.d[t][k] - d_hat[k];
      if (t < 100) early += e * e / 100;
      if (t >= longer.size() - 500) late += e * e / 500;
    }
  }
  EXPECT_LT(late, early);
}

TEST_P(Contract, PredictAndForecastHaveNoEffect) {
  const auto quiet = learner->clone();
  Vector ahead(3 * n_d);
  for (std::size_t t = 0; t < length; ++t) {
    learner->predict(other.x[t]);
    learner->forecast(3, normals(rng, 3 * n_x), ahead);
    learner->predict(Vector(n_x, infinity));
    learner->predict(Vector(n_x + 1));
    const Vector d_hat = copy(learner->predict(stream.x[t]));
    ASSERT_TRUE(same_bits(d_hat, quiet->predict(stream.x[t]))) << t;
    if (t % 2 == 0) learner->predict(other.x[t]);  // the last prediction is not the one to learn
    if (t % 3 == 0) learner->forecast(3, normals(rng, 3 * n_x), ahead);
    const StepReport noisy = learner->learn(stream.x[t], stream.d[t]);
    const StepReport still = quiet->learn(stream.x[t], stream.d[t]);
    ASSERT_EQ(noisy.status, still.status);
    ASSERT_TRUE(same_bits(numbers(noisy), numbers(still))) << t;
  }
}

// Asked at any moment, of the sample that is learnt next or of another, saved or not in between.
TEST_P(Contract, SpreadHasNoEffect) {
  auto asked = GetParam().make();
  const auto ask = [&] {
    const Vector spread = copy(asked->spread());
    EXPECT_TRUE(spread.empty() || spread.size() == n_d);
    for (const double s : spread) EXPECT_TRUE(s > 0 && std::isfinite(s)) << s;
    EXPECT_TRUE(same_bits(asked->spread(), spread));
    if (rng.below(4) == 0) asked = load(save(*asked));
    if (rng.below(4) == 0) asked = asked->clone();
    return !spread.empty();
  };
  ask();
  Vector ahead(3 * n_d);
  for (std::size_t t = 0; t < length; ++t) {
    if (rng.below(3) == 0) {
      asked->predict(other.x[t]);
      ask();
    }
    if (rng.below(3) > 0) {
      ASSERT_TRUE(same_bits(asked->predict(stream.x[t]), learner->predict(stream.x[t]))) << t;
      const bool knows = ask();
      if (t > 5 && !GetParam().mixture()) {  // whose experts may still say the same; auto has some
        ASSERT_EQ(knows, GetParam().has_covariance());
      }
    }
    if (rng.below(4) == 0) asked->forecast(3, normals(rng, 3 * n_x), ahead);
    if (rng.below(4) == 0) {
      asked->predict(Vector(n_x, infinity));
      ask();
    }
    const Vector d = t == length / 2 ? GetParam().fit(Vector(n_d, 1e90)) : stream.d[t];
    const bool missing = rng.below(5) == 0;
    const StepReport report = missing ? asked->advance(stream.x[t]) : asked->learn(stream.x[t], d);
    const StepReport expected =
        missing ? learner->advance(stream.x[t]) : learner->learn(stream.x[t], d);
    ASSERT_EQ(report.status, expected.status) << t;
    ASSERT_TRUE(same_bits(numbers(report), numbers(expected))) << t;
    if (rng.below(4) == 0) ask();
  }
  EXPECT_TRUE(same_bits(weights_of(*asked), weights_of(*learner)));
  EXPECT_TRUE(same_bits(asked->predict(other.x[0]), learner->predict(other.x[0])));
}

TEST_P(Contract, LearnNeedsNoPredict) {
  const auto silent = learner->clone();
  for (std::size_t t = 0; t < length; ++t) {
    const Seen seen = step(*learner, stream.x[t], stream.d[t]);
    ASSERT_TRUE(same_bits(numbers(silent->learn(stream.x[t], stream.d[t])), seen.numbers)) << t;
  }
  EXPECT_TRUE(same_bits(silent->predict(other.x[0]), learner->predict(other.x[0])));
}

// The caller's buffers are overwritten as soon as each call returns.
TEST_P(Contract, KeepsNoViewOfItsArguments) {
  const auto expected = run(*learner->clone(), stream);
  Vector x(n_x), d(n_d), future(2 * n_x), ahead(2 * n_d);
  const auto spoil = [](Vector& v) { std::fill(v.begin(), v.end(), 1e9); };
  for (std::size_t t = 0; t < length; ++t) {
    x = stream.x[t];
    const auto view = learner->predict(x);
    spoil(x);
    ASSERT_TRUE(same_bits(view, expected[t].prediction));
    future = normals(rng, 2 * n_x);
    learner->forecast(2, future, ahead);
    spoil(future);
    spoil(ahead);
    x = stream.x[t];
    d = stream.d[t];
    const StepReport report = learner->learn(x, d);
    spoil(x);
    spoil(d);
    ASSERT_TRUE(same_bits(numbers(report), expected[t].numbers)) << t;
  }
}

TEST_P(Contract, ClonesAreIndependent) {
  const auto reference = GetParam().make();
  for (std::size_t t = 0; t < length / 2; ++t) {
    step(*learner, stream.x[t], stream.d[t]);
    step(*reference, stream.x[t], stream.d[t]);
  }
  learner->predict(stream.x[length / 2]);  // cloned between predict and learn
  const auto twin = learner->clone();
  const auto stranger = learner->clone();
  run(*stranger, other);
  const auto expected = run(*reference, stream, length / 2);
  EXPECT_TRUE(same(run(*learner, stream, length / 2), expected));
  EXPECT_TRUE(same(run(*twin, stream, length / 2), expected));
  // And the clone does not need the original.
  const auto child = [&] {
    const auto parent = GetParam().make();
    return parent->clone();
  }();
  EXPECT_TRUE(same(run(*child, stream), run(*GetParam().make(), stream)));
}

// A prediction is no part of a snapshot. (spread() may apply a downdate of P that waits.)
TEST_P(Contract, PredictingChangesNoSnapshot) {
  Vector ahead(3 * n_d);
  for (std::size_t t = 0; t < 20; ++t) {
    const auto before = save(*learner);
    learner->predict(stream.x[t]);
    ASSERT_EQ(save(*learner), before) << t;
    learner->forecast(3, Vector(3 * n_x, 0.1), ahead);
    ASSERT_EQ(save(*learner), before) << t;
    learner->learn(stream.x[t], stream.d[t]);
  }
}

// Saved and loaded at any moment, it goes on as if nothing had happened.
TEST_P(Contract, GoesOnFromASnapshot) {
  auto stopped = GetParam().make();
  const auto copy = GetParam().make();
  const auto stop = [&] {
    const auto snapshot = save(*stopped);
    ASSERT_EQ(save(*stopped->clone()), snapshot);
    copy_state(*stopped, *copy);
    ASSERT_EQ(save(*copy), snapshot);
    stopped = load(snapshot);
    ASSERT_EQ(save(*stopped), snapshot);
  };
  Vector ahead(3 * n_d);
  Vector ahead_stopped(3 * n_d);
  for (std::size_t t = 0; t < length; ++t) {
    if (rng.below(3) == 0) stop();
    ASSERT_EQ(stopped->samples(), t);
    ASSERT_TRUE(same_bits(stopped->predict(stream.x[t]), learner->predict(stream.x[t]))) << t;
    if (rng.below(3) == 0) stop();
    const Vector d = t == length / 2 ? GetParam().fit(Vector(n_d, 1e90)) : stream.d[t];
    const bool missing = rng.below(5) == 0;
    const StepReport report =
        missing ? stopped->advance(stream.x[t]) : stopped->learn(stream.x[t], d);
    const StepReport expected =
        missing ? learner->advance(stream.x[t]) : learner->learn(stream.x[t], d);
    ASSERT_EQ(report.status, expected.status) << t;
    ASSERT_TRUE(same_bits(numbers(report), numbers(expected))) << t;
    if (rng.below(3) == 0) stop();
    const Vector future = normals(rng, 3 * n_x);
    ASSERT_TRUE(stopped->forecast(3, future, ahead_stopped));
    ASSERT_TRUE(learner->forecast(3, future, ahead));
    ASSERT_TRUE(same_bits(ahead_stopped, ahead)) << t;
  }
  EXPECT_EQ(save(*stopped), save(*learner));
  stopped->reset();
  EXPECT_TRUE(same(run(*stopped, stream), run(*GetParam().make(), stream)));
}

// Whatever a learner has been through, it can be saved.
TEST_P(Contract, ASnapshotHoldsWhateverHappened) {
  const auto expect_holds = [&](const char* what) {
    const auto snapshot = save(*learner);
    EXPECT_EQ(save(*load(snapshot)), snapshot) << what;
  };
  expect_holds("nothing");
  for (int t = 0; t < 500; ++t) learner->learn(Vector(n_x, 0.5), fit(1));
  expect_holds("constants");
  for (int t = 0; t < 500; ++t)
    learner->learn(normals(rng, n_x, 1e-150), fit(t % 9 == 0 ? 1 : 1e-150));
  expect_holds("tiny");
  for (int t = 0; t < 500; ++t) learner->learn(normals(rng, n_x, 1e6), fit(t % 2 - 0.5));
  expect_holds("huge inputs");
  for (const double absurd : {1e30, 1e100, 1e160, std::numeric_limits<double>::max()})
    for (const double sign : {1.0, -1.0}) {
      learner->learn(stream.x[0], Vector(n_d, sign * absurd));
      learner->learn(Vector(n_x, sign * absurd), stream.d[0]);
      learner->advance(Vector(n_x, -sign * absurd));
      expect_holds("absurd");
    }
  run(*learner, stream);
  expect_holds("all of it");
}

TEST_P(Contract, ResetGoesBackToTheStart) {
  const auto expected = run(*learner, stream);
  learner->advance(other.x[0]);
  learner->predict(other.x[1]);
  learner->reset();
  EXPECT_TRUE(same(run(*learner, stream), expected));
}

TEST_P(Contract, SeedsDecide) {
  const auto expected = run(*learner, stream);
  EXPECT_TRUE(same(run(*GetParam().make(), stream), expected));
  // Nothing is random about them.
  if (is_baseline(GetParam().options.rule) || GetParam().kernel()) return;
  const auto different = run(*GetParam().make(2), stream);
  const bool waits =
      GetParam().automatic() || std::holds_alternative<Trees>(GetParam().options.rule);
  if (!waits) {  // for the first targets
    EXPECT_FALSE(same_bits(different[0].prediction, expected[0].prediction));
  }
  EXPECT_FALSE(same_bits(different.back().prediction, expected.back().prediction));
}

// Unusable samples in between change nothing that follows.
TEST_P(Contract, UnusableSamplesLeaveNoTrace) {
  const auto expected = run(*learner->clone(), stream);
  const auto expect_rejected = [&](const StepReport& report, const char* what) {
    EXPECT_EQ(report.status, StepStatus::rejected_input) << what;
    EXPECT_EQ(report.applied, 0U);
    EXPECT_EQ(report.rejected, report.experts);
  };
  for (std::size_t t = 0; t < length; ++t) {
    for (const double bad : {nan, infinity, -infinity}) {
      Vector x = stream.x[t];
      x.back() = std::isnan(bad) && GetParam().takes_gaps() ? infinity : bad;
      for (const double v : learner->predict(x)) EXPECT_TRUE(std::isnan(v));
      EXPECT_EQ(learner->predict(x).size(), n_d);
      expect_rejected(learner->learn(x, stream.d[t]), "x");
      expect_rejected(learner->advance(x), "advance");
      Vector d = stream.d[t];
      d.back() = bad;
      expect_rejected(learner->learn(stream.x[t], d), "d");
    }
    for (const std::size_t size : {n_x - 1, n_x + 1}) {
      const Vector x(size);
      for (const double v : learner->predict(x)) EXPECT_TRUE(std::isnan(v));
      expect_rejected(learner->learn(x, stream.d[t]), "size of x");
      expect_rejected(learner->advance(x), "size of x");
    }
    for (const std::size_t size : {n_d - 1, n_d + 1})
      expect_rejected(learner->learn(stream.x[t], Vector(size)), "size of d");
    ASSERT_TRUE(same(step(*learner, stream.x[t], stream.d[t]), expected[t])) << t;
  }
}

// Σ Tr P is what it was, also in the report of a sample that was refused.
TEST_P(Contract, RefusingASampleReportsTheSameTrace) {
  const double trace = learner->learn(stream.x[0], stream.d[0]).covariance_trace;
  EXPECT_EQ(learner->learn(Vector(n_x, infinity), stream.d[0]).covariance_trace, trace);
  EXPECT_EQ(learner->learn(stream.x[0], Vector(n_d, nan)).covariance_trace, trace);
  EXPECT_EQ(learner->advance(Vector(n_x, infinity)).covariance_trace, trace);
}

Vector numbers(const LearnerState& s) {
  Vector all{double(s.networks), s.covariance_trace};
  all.insert(all.end(), s.weights.begin(), s.weights.end());
  return all;
}

// Asked at any moment; what it says is what the last step reported.
TEST_P(Contract, StateIsThatOfTheLastReportAndHasNoEffect) {
  auto asked = GetParam().make();
  const Vector at_the_start = numbers(asked->state());
  EXPECT_EQ(asked->state().weights.size(), expert_names(GetParam().options).size());
  for (std::size_t t = 0; t < length; ++t) {
    asked->predict(stream.x[t]);
    asked->state();
    const bool missing = t % 5 == 4;
    const StepReport expected =
        missing ? learner->advance(stream.x[t]) : learner->learn(stream.x[t], stream.d[t]);
    const StepReport report =
        missing ? asked->advance(stream.x[t]) : asked->learn(stream.x[t], stream.d[t]);
    ASSERT_TRUE(same_bits(numbers(report), numbers(expected))) << t;
    const Vector state = numbers(std::as_const(*asked).state());
    const LearnerState of_report{report.experts, report.covariance_trace, report.weights};
    ASSERT_TRUE(same_bits(state, numbers(of_report))) << t;
    ASSERT_TRUE(same_bits(state, numbers(asked->state()))) << t;
    ASSERT_TRUE(same_bits(state, numbers(asked->clone()->state()))) << t;
    if (t % 7 == 3) {
      asked = load(save(*asked));
      ASSERT_TRUE(same_bits(state, numbers(asked->state()))) << t;
    }
    asked->learn(Vector(n_x, infinity), stream.d[t]);  // refused
    ASSERT_TRUE(same_bits(state, numbers(asked->state()))) << t;
  }
  EXPECT_TRUE(same_bits(asked->predict(other.x[0]), learner->predict(other.x[0])));
  asked->reset();
  EXPECT_TRUE(same_bits(numbers(asked->state()), at_the_start));
}

TEST_P(Contract, AdvanceMovesTheStateAndNotTheWeights) {
  for (std::size_t t = 0; t < 10; ++t) step(*learner, stream.x[t], stream.d[t]);
  const auto still = learner->clone();
  const Vector before = weights_of(*learner);
  for (std::size_t t = 10; t < 15; ++t) {
    const StepReport report = learner->advance(stream.x[t]);
    EXPECT_EQ(report.status, StepStatus::missing);
    EXPECT_EQ(report.applied, 0U);
    EXPECT_EQ(report.rejected, 0U);
  }
  EXPECT_TRUE(same_bits(weights_of(*learner), before));
  const auto moved = !same_bits(learner->predict(other.x[0]), still->predict(other.x[0]));
  EXPECT_EQ(static_cast<bool>(moved), GetParam().remembers());
  // Neither a covariance nor a mixture's opinion of its experts changes without a target.
  const auto one = learner->advance(other.x[1]);
  const Vector first = numbers(one);
  EXPECT_TRUE(same_bits(numbers(learner->advance(other.x[2])), first));
}

// forecast is what advancing a copy through the same inputs would predict.
TEST_P(Contract, ForecastIsAdvancingACopy) {
  // There the moments of the inputs stand still during a forecast.
  if (GetParam().scaled || std::holds_alternative<Rls>(GetParam().options.rule)) return;
  if (GetParam().kernel()) return;
  constexpr std::size_t horizon = 6;
  for (std::size_t t = 0; t < length; ++t) {
    step(*learner, stream.x[t], stream.d[t]);
    if (t % 7 != 3) continue;
    Vector future = normals(rng, horizon * n_x);
    std::copy_n(future.begin(), n_x, future.begin() + n_x);  // the first one twice
    Vector d_hat(horizon * n_d);
    ASSERT_TRUE(learner->forecast(horizon, future, d_hat));
    const auto ahead = learner->clone();
    for (std::size_t k = 0; k < horizon; ++k) {
      const auto x = std::span(future).subspan(k * n_x, n_x);
      EXPECT_TRUE(same_bits(ahead->predict(x), std::span(d_hat).subspan(k * n_d, n_d))) << k;
      ahead->advance(x);
    }
  }
}

// Step by step it is the same; an unusable input in between leaves no trace.
TEST_P(Contract, ForecastStepByStep) {
  constexpr std::size_t horizon = 4;
  run(*learner, stream);
  const Vector future = normals(rng, horizon * n_x);
  Vector d_hat(horizon * n_d);
  ASSERT_TRUE(learner->forecast(horizon, future, d_hat));
  const auto expect_all_nan = [&](std::span<const double> ahead) {
    EXPECT_EQ(ahead.size(), n_d);
    for (const double v : ahead) EXPECT_TRUE(std::isnan(v));
  };
  for (int again = 0; again < 2; ++again) {
    learner->start_forecast();
    for (std::size_t k = 0; k < horizon; ++k) {
      expect_all_nan(learner->forecast_next(Vector(n_x, infinity)));
      expect_all_nan(learner->forecast_next(Vector(n_x + 1)));
      const auto ahead = learner->forecast_next(std::span(future).subspan(k * n_x, n_x));
      EXPECT_TRUE(same_bits(ahead, std::span(d_hat).subspan(k * n_d, n_d))) << k;
    }
  }
}

TEST_P(Contract, ForecastRefusesWhatItCannotUse) {
  run(*learner, stream);
  const Vector untouched(2 * n_d, 42.0);
  Vector d_hat = untouched;
  const auto expect_refused = [&](std::size_t horizon, const Vector& future) {
    EXPECT_FALSE(learner->forecast(horizon, future, d_hat));
    EXPECT_TRUE(same_bits(d_hat, untouched));
  };
  expect_refused(2, Vector(2 * n_x + 1));
  expect_refused(2, Vector(n_x));
  expect_refused(3, Vector(3 * n_x));
  expect_refused(1, Vector(n_x));
  for (const double bad : {nan, infinity}) {
    Vector future(2 * n_x);
    future.back() = bad;
    if (std::isinf(bad) || !GetParam().takes_gaps()) expect_refused(2, future);
  }
  EXPECT_TRUE(learner->forecast(2, Vector(2 * n_x), d_hat));
  for (const double v : d_hat) EXPECT_TRUE(std::isfinite(v));
  EXPECT_TRUE(learner->forecast(0, {}, {}));
}

// Inputs that are missing, at times all of them: learnt from, and the same from a snapshot.
TEST_P(Contract, LearnsFromSamplesWithGaps) {
  if (!GetParam().takes_gaps()) return;
  auto stopped = GetParam().make();
  Vector ahead(2 * n_d);
  for (std::size_t t = 0; t < length; ++t) {
    Vector x = stream.x[t];
    for (double& v : x)
      if (rng.below(3) == 0 || t % 11 == 10) v = nan;
    if (t % 9 == 4) stopped = load(save(*stopped));
    const Vector d_hat = copy(learner->predict(x));
    for (const double v : d_hat) ASSERT_TRUE(std::isfinite(v)) << t;
    ASSERT_TRUE(same_bits(stopped->predict(x), d_hat)) << t;
    ASSERT_TRUE(learner->forecast(2, Vector(2 * n_x, nan), ahead));
    for (const double v : ahead) ASSERT_TRUE(std::isfinite(v)) << t;
    const Seen report = step(*learner, x, stream.d[t]);
    ASSERT_FALSE(is_rejected(report.status)) << t;
    step(*stopped, x, stream.d[t]);
  }
}

TEST_P(Contract, ReportsMakeSense) {
  const Case& c = GetParam();
  for (std::size_t t = 0; t < length; ++t) {
    const StepReport r =
        t % 5 == 4 ? learner->advance(stream.x[t]) : learner->learn(stream.x[t], stream.d[t]);
    EXPECT_LE(r.applied + r.rejected, r.experts);
    EXPECT_TRUE(std::isfinite(r.covariance_trace));
    EXPECT_EQ(r.covariance_trace > 0, c.has_covariance());
    EXPECT_GE(r.covariance_trace, 0);
    EXPECT_FALSE(is_rejected(r.status));
    EXPECT_EQ(r.status == StepStatus::missing, t % 5 == 4);
    EXPECT_EQ(r.status == StepStatus::applied, r.applied > 0);
    if (c.mixture()) {
      EXPECT_EQ(r.weights.size(), r.experts);
      EXPECT_NEAR(std::accumulate(r.weights.begin(), r.weights.end(), 0.0), 1, 1e-15 * 8);
      for (const double w : r.weights) EXPECT_GE(w, 0);
    } else if (c.automatic()) {
      EXPECT_EQ(r.weights.size(), expert_names(c.options).size());
      EXPECT_NEAR(std::accumulate(r.weights.begin(), r.weights.end(), 0.0), 1, 1e-12);
    } else {
      EXPECT_EQ(r.experts, 1U);
      EXPECT_TRUE(r.weights.empty());
    }
  }
}

// Predictions up to and including t know nothing of targets from t on, nor of inputs after t.
TEST_P(Contract, NoLookAhead) {
  const auto expected = run(*learner, stream);
  for (const std::size_t t : {std::size_t{0}, std::size_t{1}, std::size_t{2}, length / 2}) {
    Stream changed = stream;
    const Stream raw = random_stream(21, n_x, n_d, length);
    for (std::size_t s = t; s < length; ++s) {
      for (std::size_t k = 0; k < n_d; ++k) changed.d[s][k] = raw.d[s][k] > 0 ? -0.7 : 0.7;
      changed.d[s] = GetParam().fit(changed.d[s]);
    }
    const auto seen = run(*GetParam().make(), changed);
    for (std::size_t s = 0; s <= t; ++s)
      ASSERT_TRUE(same_bits(seen[s].prediction, expected[s].prediction)) << s;
    EXPECT_FALSE(same_bits(seen.back().prediction, expected.back().prediction));

    changed = stream;
    for (std::size_t s = t + 1; s < length; ++s) changed.x[s] = other.x[s];
    const auto seen_x = run(*GetParam().make(), changed);
    for (std::size_t s = 0; s <= t; ++s) ASSERT_TRUE(same(seen_x[s], expected[s])) << s;
    EXPECT_EQ(same_bits(seen_x.back().prediction, expected.back().prediction),
              ignores_inputs(GetParam().options.rule));
  }
}

// Bounded data, as unpleasant as they come.
TEST_P(Contract, StaysFiniteForEver) {
  constexpr std::size_t steps = 2000 / test::one_in(5);
  using Sample = std::function<void(std::size_t t, Vector & x, Vector & d)>;
  const auto fill = [](Vector& v, double a) { std::fill(v.begin(), v.end(), a); };
  const Vector x0 = normals(rng, n_x);
  const std::pair<const char*, Sample> streams[] = {
      {"constant", [&](std::size_t, Vector& x, Vector& d) { fill(x, 0.5), fill(d, 1); }},
      {"zeros", [&](std::size_t, Vector& x, Vector& d) { fill(x, 0), fill(d, 0); }},
      {"huge inputs",
       [&](std::size_t, Vector& x, Vector& d) {
         x = normals(rng, n_x, 1e6);
         fill(d, rng.uniform(-1, 1));
       }},
      {"alternating extremes",
       [&](std::size_t t, Vector& x, Vector& d) {
         fill(x, t % 2 == 0 ? 1e3 : -1e3);
         fill(d, t % 2 == 0 ? -1 : 1);
       }},
      {"one sample, contradicting targets",
       [&](std::size_t t, Vector& x, Vector& d) { x = x0, fill(d, t % 3 == 0 ? 1 : -1); }},
      {"tiny, then huge",
       [&](std::size_t t, Vector& x, Vector& d) {
         x = normals(rng, n_x, t < steps / 2 ? 1e-150 : 1e6);
         fill(d, t % 50 == 0 ? 1 : 1e-150);
       }},
  };
  Vector x(n_x), d(n_d);
  for (const auto& [name, sample] : streams) {
    learner->reset();
    for (std::size_t t = 0; t < steps; ++t) {
      sample(t, x, d);
      d = GetParam().fit(d);
      for (const double v : learner->predict(x)) ASSERT_TRUE(std::isfinite(v)) << name << ", " << t;
      const StepReport r = learner->learn(x, d);
      ASSERT_NE(r.status, StepStatus::rejected_input) << name << ", " << t;
      ASSERT_TRUE(std::isfinite(r.covariance_trace)) << name << ", " << t;
      ASSERT_EQ(r.covariance_trace > 0, GetParam().has_covariance()) << name << ", " << t;
      for (const double w : r.weights)  // one of auto's linear ways to blend may give any number
        ASSERT_TRUE(GetParam().automatic() ? std::isfinite(w) : w >= 0 && w <= 1)
            << name << ", " << t;
    }
  }
}

// Finite, but beyond all reason: may be refused, must not do lasting harm.
TEST_P(Contract, RecoversFromAbsurdSamples) {
  run(*learner, stream);
  for (const double absurd : {1e30, 1e160, 1e300, std::numeric_limits<double>::max()})
    for (const double sign : {1.0, -1.0}) {
      learner->learn(stream.x[0], Vector(n_d, sign * absurd));
      learner->learn(Vector(n_x, sign * absurd), stream.d[0]);
      learner->advance(Vector(n_x, -sign * absurd));
    }
  std::size_t updates = 0;
  for (std::size_t t = 0; t < length; ++t) {
    const Seen seen = step(*learner, stream.x[t], stream.d[t]);
    for (const double v : seen.prediction) ASSERT_TRUE(std::isfinite(v)) << t;
    ASSERT_NE(seen.status, StepStatus::rejected_input) << t;
    for (const double v : seen.numbers) ASSERT_TRUE(std::isfinite(v)) << t;
    updates += seen.status == StepStatus::applied;
  }
  EXPECT_GT(updates, 0U);
}

// `auto` looks for periods now and then, and makes a network for a series when that is of use; a
// kernel gets a new filter.
class WakingSteps {
 public:
  explicit WakingSteps(const Rule& rule)
      : may_be_(std::holds_alternative<Auto>(rule) || std::holds_alternative<Kernel>(rule)) {}

  void learn(Learner& learner, std::span<const double> x, std::span<const double> d) {
    const std::size_t before = allocations;
    learner.learn(x, d);
    if (!may_be_ || allocations == before) return;
    allocations = before;
    ++count_;
  }
  std::size_t count() const { return count_; }

 private:
  bool may_be_;
  std::size_t count_ = 0;
};

TEST_P(Contract, NothingIsAllocatedAfterConstruction) {
  WakingSteps steps(GetParam().options.rule);
  Vector ahead(3 * n_d);
  const Vector future(3 * n_x, 0.1);
  const Vector bad(n_x, infinity);
  const std::size_t before = allocations;
  for (std::size_t t = 0; t < length; ++t) {
    learner->predict(stream.x[t]);
    learner->spread();
    learner->state();
    learner->predict(bad);
    learner->spread();
    learner->forecast(3, future, ahead);
    if (t % 4 == 3)
      learner->advance(stream.x[t]);
    else
      steps.learn(*learner, stream.x[t], stream.d[t]);
    learner->learn(bad, stream.d[t]);
  }
  const std::size_t before_reset = allocations;
  learner->reset();  // may make anew what it is made of
  allocations = before_reset;
  for (std::size_t n = 0; n < 3 * length; ++n) {  // until auto has taken its scales for good
    const std::size_t t = n % length;
    learner->predict(stream.x[t]);
    steps.learn(*learner, stream.x[t], stream.d[t]);
    learner->advance(other.x[t]);
  }
  EXPECT_EQ(allocations, before);
  EXPECT_LE(steps.count(), 40U);  // experts begin again, periods are looked for, kernels renewed
}

// Inside a step denormal numbers may count as 0; the caller's arithmetic stays as it was.
TEST_P(Contract, LeavesTheCallersArithmeticAlone) {
  const volatile double small = std::numeric_limits<double>::min();
  const auto denormals_work = [&] { return small / 2 > 0; };
  Vector ahead(2 * n_d);
  ASSERT_TRUE(denormals_work());
  for (std::size_t t = 0; t < 10; ++t) {
    learner->predict(stream.x[t]);
    EXPECT_TRUE(denormals_work()) << "predict";
    learner->spread();
    EXPECT_TRUE(denormals_work()) << "spread";
    t % 3 == 2 ? learner->advance(stream.x[t]) : learner->learn(stream.x[t], stream.d[t]);
    EXPECT_TRUE(denormals_work()) << "learn or advance";
    learner->learn(Vector(n_x, infinity), stream.d[t]);
    EXPECT_TRUE(denormals_work()) << "a sample that is refused";
    learner->forecast(2, Vector(2 * n_x), ahead);
    EXPECT_TRUE(denormals_work()) << "forecast";
  }
}

INSTANTIATE_TEST_SUITE_P(Learners, Contract, testing::ValuesIn(cases()),
                         [](const auto& one) { return one.param.name; });

TEST(AllocationCounter, Counts) {
  const std::size_t before = allocations;
  auto number = std::make_unique<double>(1);
  EXPECT_EQ(*number, 1);
  Vector many(100);
  EXPECT_EQ(many.size(), 100U);
  EXPECT_GE(allocations, before + 2);
}

// Nor where a covariance that has grown too large is halved in between.
TEST(Spread, HasNoEffectOnACovarianceThatIsHalved) {
  auto network = test::small_network(2, 0, 1);
  network.cell = Cell::feedforward;
  network.direct = true;
  const Ekf rule{.initial_covariance = 1, .process_noise = 2e-4};
  const auto learner = make_learner({network, rule});
  const auto asked = learner->clone();
  Rng rng(5);
  bool halved = false;
  double trace = 0;
  for (int t = 0; t < 12'000; ++t) {
    const Vector x{rng.normal(), 0};  // of the second there is nothing to learn
    asked->predict(x);
    asked->spread();
    const bool missing = rng.below(3) == 0;
    const Vector d{0.1 * x[0]};
    const StepReport a = missing ? asked->advance(x) : asked->learn(x, d);
    const StepReport b = missing ? learner->advance(x) : learner->learn(x, d);
    ASSERT_TRUE(same_bits(numbers(a), numbers(b))) << t;
    halved |= b.covariance_trace < 0.9 * trace && t > 1000;
    trace = b.covariance_trace;
  }
  EXPECT_TRUE(halved);
}

TEST(Intervals, NothingIsAllocatedAfterConstruction) {
  Intervals intervals(2);
  Rng rng(4);
  Vector d_hat(2), spread(2), d(2);
  std::vector<Interval> late(2);
  const std::size_t before = allocations;
  for (int t = 0; t < 3000; ++t) {
    for (Vector* v : {&d_hat, &spread, &d})
      for (double& number : *v) number = rng.normal();
    const auto bounds = intervals.around(d_hat, spread);
    intervals.learn(t % 2 == 0 ? bounds : late, d);
    std::copy(bounds.begin(), bounds.end(), late.begin());
    d[0] = nan;
    intervals.learn(late, d);
  }
  EXPECT_GT(intervals.coverage(1), 0);
  EXPECT_GT(intervals.recent_coverage(1), 0);
  intervals.reset();
  EXPECT_EQ(allocations, before);
}

TEST(RlsBatch, NothingIsAllocatedAfterConstruction) {
  RlsBatch batch(20, 3, {.process_noise = 0.1});
  Vector x(60), d(20), d_hat(20);
  const std::array<std::size_t, 2> which{3, 17};
  Rng rng(6);
  const std::size_t before = allocations;
  for (int t = 0; t < 300; ++t) {
    for (Vector* v : {&x, &d})
      for (double& number : *v) number = rng.normal();
    if (t % 3 == 0) x[7] = d[5] = nan;
    batch.predict(x, d_hat);
    batch.learn(x, d, d_hat);
    batch.learn_some(which, std::span(x).first(6), std::span(d).first(2));
  }
  batch.reset();
  EXPECT_EQ(allocations, before);
}

TEST(Surprise, NothingIsAllocatedAfterConstruction) {
  Surprise surprise(2);
  const Vector d_hat{0, 1};
  const Vector spread{1, 2};
  const std::size_t before = allocations;
  Rng rng(1);
  for (int t = 0; t < 3000; ++t) {
    const std::array d{rng.normal(), 100 * rng.normal()};
    const auto expected = surprise.expect(d_hat, spread);
    surprise.of(expected, d);
    surprise.learn(expected, d);
  }
  surprise.reset();
  EXPECT_EQ(allocations, before);
}

// A long life costs no memory, also with a disturbance after which auto begins anew.
TEST(BoundedMemory, NoAllocationInAHundredThousandSteps) {
  auto network = test::small_network(1, 1, 1);
  network.window = 2;
  const Auto few{.experts = 1, .lags = 1};
  for (const Rule& rule : {Rule(Adam{}), Rule(Ekf{}), Rule(algorithm2()), Rule(few)})
    for (const bool scaled : {false, true}) {
      if (scaled && takes_raw_data(rule)) continue;
      auto learner = make_learner({network, rule});
      if (scaled) learner = make_scaled(std::move(learner), network.output_activation);
      Rng rng(3);
      Vector x(1), d(1);
      WakingSteps steps(rule);
      const std::size_t before = allocations;
      for (std::size_t t = 0; t < 100'000 / test::one_in(10); ++t) {
        x[0] = rng.uniform(-1, 1);
        d[0] = (t / 100 == 5 ? 1e4 : 0.5) * x[0];
        const double d_hat = learner->predict(x)[0];
        ASSERT_TRUE(std::isfinite(d_hat)) << t;
        steps.learn(*learner, x, d);
      }
      EXPECT_EQ(allocations, before);
      EXPECT_LE(steps.count(), 1000U);  // a kernel is renewed every 200 samples
    }
}

// Every expert refuses a target that would blow up its weights: that is not an unusable sample.
TEST(MixtureReport, ARejectedUpdateIsNotARejectedInput) {
  auto network = test::small_network(2, 2, 1);
  network.output_activation = OutputActivation::identity;
  const auto mixture = make_learner({network, algorithm2()});
  const auto stream = random_stream(5, 2, 1, 3);
  const StepReport report = mixture->learn(stream.x[0], Vector{1e300});
  EXPECT_EQ(report.rejected, report.experts);
  EXPECT_EQ(report.status, StepStatus::rejected_non_finite);
}

// A mixing rate above 1 must not turn the largest loss into an infinite one.
TEST(MixtureReport, WeightsSurviveAnAbsurdLoss) {
  for (const double rate : {0.125, 1.0, 50.0}) {
    Algorithm2 rule = algorithm2();
    rule.mixing_rate = rate;
    const auto mixture = make_learner({test::small_network(2, 2, 1), rule});
    const auto stream = random_stream(5, 2, 1, 3);
    for (const double d : {1e200, -1e300, 0.1}) {
      const StepReport report = mixture->learn(stream.x[0], Vector{d});
      EXPECT_NEAR(std::accumulate(report.weights.begin(), report.weights.end(), 0.0), 1, 1e-15 * 8)
          << "rate " << rate;
      EXPECT_TRUE(std::isfinite(mixture->predict(stream.x[1])[0])) << "rate " << rate;
    }
  }
}

}  // namespace
}  // namespace kalstream
