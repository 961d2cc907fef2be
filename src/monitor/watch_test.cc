#include "monitor/watch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "support.h"

namespace kalstream {
namespace {

using test::Vector;

/// One number of some stationary noise.
using Noise = std::function<double(Rng&)>;

double student(Rng& rng, int freedom) {
  double squares = 0;
  for (int i = 0; i < freedom; ++i) squares += std::pow(rng.normal(), 2);
  return rng.normal() / std::sqrt(squares / freedom);
}

const std::map<std::string, Noise> noises = {
    {"normal", [](Rng& rng) { return rng.normal(); }},
    {"uniform", [](Rng& rng) { return rng.uniform(); }},
    {"student 3", [](Rng& rng) { return student(rng, 3); }},
    {"student 2", [](Rng& rng) { return student(rng, 2); }},
    {"cauchy", [](Rng& rng) { return student(rng, 1); }},
    {"lognormal", [](Rng& rng) { return std::exp(2 * rng.normal()); }},
    {"mostly zero", [](Rng& rng) { return rng.below(20) == 0 ? rng.normal() : 0; }},
    {"rounded", [](Rng& rng) { return std::round(rng.normal()); }},
};

Watch one_input(const WatchOptions& options = {}) { return Watch({"x"}, options); }

// Feeds errors; the samples at which something was found.
std::vector<std::pair<std::size_t, Warning>> watch_errors(
    Watch& watch, std::size_t n, const std::function<double(std::size_t)>& e) {
  std::vector<std::pair<std::size_t, Warning>> found;
  for (std::size_t t = 0; t < n; ++t)
    for (const Finding& finding : watch.look_at_error(Vector{0}, Vector{e(t)}))
      found.emplace_back(t, finding.kind);
  return found;
}

// 300,000 samples each: a false alarm per 100,000 would be three.
TEST(Watch, SaysNothingAboutStationaryErrorsOfAnyKind) {
  std::size_t total = 0;
  for (const auto& [name, noise] : noises) {
    Rng rng(21);
    Watch watch = one_input();
    const auto found =
        watch_errors(watch, 300000 / test::one_in(10), [&](std::size_t) { return noise(rng); });
    EXPECT_LE(found.size(), 1u) << name;
    total += found.size();
  }
  EXPECT_LE(total, 2u);
}

// Errors that resemble the one before come in bursts, which are the usual there.
TEST(Watch, SaysLittleAboutCorrelatedErrors) {
  std::size_t found = 0;
  for (int seed = 0; seed < 10; ++seed) {
    Rng rng(40 + seed);
    Watch watch = one_input();
    double e = 0;
    found +=
        watch_errors(watch, 20000, [&](std::size_t) { return e = 0.9 * e + rng.normal(); }).size();
  }
  EXPECT_LE(found, 4u);
}

TEST(Watch, FindsDriftSoonAndSaysItOnce) {
  for (const char* name : {"normal", "uniform", "student 3", "student 2", "cauchy"}) {
    Rng rng(22);
    Watch watch = one_input();
    const auto found = watch_errors(
        watch, 30000, [&](std::size_t t) { return noises.at(name)(rng) * (t < 20000 ? 1 : 2.5); });
    ASSERT_GE(found.size(), 1u) << name;
    EXPECT_EQ(found[0].second, Warning::drift) << name;
    EXPECT_GE(found[0].first, 20000u) << name;
    EXPECT_LT(found[0].first, 20300u) << name;
    EXPECT_EQ(found.size(), 1u) << name;
  }
}

TEST(Watch, FindsExplodingErrors) {
  Rng rng(23);
  Watch watch = one_input();
  std::string text;
  const auto found = watch_errors(
      watch, 12000, [&](std::size_t t) { return rng.normal() * (t < 10000 ? 0.1 : 1000); });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].second, Warning::exploding_error);
  EXPECT_LT(found[0].first, 10015u);
}

// One wild target is no news about the process.
TEST(Watch, SingleOutliersAreNoDrift) {
  Rng rng(24);
  Watch watch = one_input();
  EXPECT_TRUE(watch_errors(watch, 50000, [&](std::size_t t) {
                return rng.normal() + (t % 500 == 499 ? 1e9 : 0);
              }).empty());
}

// A night every 1,440 samples: the first mornings may be news, the tenth is not.
TEST(Watch, BecomesPatientWithWhatComesBack) {
  Rng rng(25);
  Watch watch = one_input();
  const auto found = watch_errors(
      watch, 200000, [&](std::size_t t) { return rng.normal() * (t % 1440 < 144 ? 10 : 1); });
  EXPECT_LE(found.size(), 6u);
}

TEST(Watch, AFallingErrorIsNoDrift) {
  Rng rng(26);
  Watch watch = one_input();
  EXPECT_TRUE(watch_errors(watch, 30000, [&](std::size_t t) {
                return rng.normal() / (1 + 0.01 * double(t));
              }).empty());
}

TEST(Watch, TextsNameNumbers) {
  Rng rng(27);
  Watch watch = one_input();
  watch_errors(watch, 5000, [&](std::size_t) { return rng.normal(); });
  std::string text;
  for (int t = 0; t < 500 && text.empty(); ++t)
    for (const Finding& finding : watch.look_at_error(Vector{0}, Vector{3})) text = finding.text;
  EXPECT_NE(text.find("errors have grown: RMSE 3 over the last"), std::string::npos) << text;
}

// The samples at which something was found about one input.
std::vector<std::pair<std::size_t, std::string>> watch_input(
    Watch& watch, std::size_t n, const std::function<double(std::size_t)>& x) {
  std::vector<std::pair<std::size_t, std::string>> found;
  for (std::size_t t = 0; t < n; ++t)
    for (const Finding& finding : watch.look_at_inputs(Vector{x(t)}))
      found.emplace_back(t, finding.text);
  return found;
}

TEST(Watch, FindsAStuckInputOnce) {
  Rng rng(28);
  Watch watch = one_input();
  const auto found =
      watch_input(watch, 2800, [&](std::size_t t) { return t < 2000 ? rng.normal() : 1.5; });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].first, 2499u);
  EXPECT_EQ(found[0].second,
            "input 'x' has been 1.5 for 500 samples and never stayed the same for more than 1 "
            "before; check where it comes from");
  // Again at 1,000, 2,000, 4,000 and 8,000 samples.
  EXPECT_EQ(watch_input(watch, 8000, [](std::size_t) { return 1.5; }).size(), 4u);
}

// A constant, a switch that is seldom used, and a stream that has not varied yet.
TEST(Watch, InputsThatSeldomChangeAreNotStuck) {
  Watch watch = one_input();
  EXPECT_TRUE(watch_input(watch, 5000, [](std::size_t) { return 7; }).empty());
  Watch other = one_input();
  EXPECT_TRUE(
      watch_input(other, 100000, [](std::size_t t) { return double(t / 700 % 2); }).empty());
}

TEST(Watch, FindsInputsFarOutside) {
  Rng rng(29);
  Watch watch = one_input();
  const auto found = watch_input(
      watch, 5000, [&](std::size_t t) { return t == 3000 || t == 4000 ? 1e6 : rng.uniform(); });
  ASSERT_EQ(found.size(), 2u);  // the first did not hide the second
  EXPECT_EQ(found[0].first, 3000u);
  EXPECT_NE(found[0].second.find("input 'x' is 1e+06, far outside what was seen, "),
            std::string::npos);
  EXPECT_EQ(found[1].first, 4000u);
}

TEST(Watch, ANewUnitIsAFewWarnings) {
  Rng rng(30);
  Watch watch = one_input();
  const auto found = watch_input(
      watch, 20000, [&](std::size_t t) { return rng.uniform() * (t < 10000 ? 1 : 1000); });
  EXPECT_GE(found.size(), 3u);
  EXPECT_LE(found.size(), 12u);
}

// Records of heavy tails are far outside now and then, ever more seldom.
TEST(Watch, SaysLittleAboutStationaryInputsOfAnyKind) {
  for (const auto& [name, noise] : noises) {
    Rng rng(31);
    Watch watch = one_input();
    EXPECT_LE(watch_input(watch, 300000 / test::one_in(10), [&](std::size_t) { return noise(rng); })
                  .size(),
              8u)
        << name;
  }
  Watch counter = one_input();
  EXPECT_TRUE(watch_input(counter, 100000, [](std::size_t t) { return double(t); }).empty());
}

TEST(Watch, OneWarningForManyInputs) {
  Rng rng(32);
  Watch watch({"a", "b", "c"});
  for (int t = 0; t < 2000; ++t) watch.look_at_inputs(test::normals(rng, 3));
  const auto found = watch.look_at_inputs(Vector{1e9, std::nan(""), -1e9});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, Warning::unusual_input);
  EXPECT_NE(found[0].text.find("input 'a'"), std::string::npos);
  EXPECT_NE(found[0].text.find("(1 more inputs likewise)"), std::string::npos);
  EXPECT_TRUE(watch.look_at_inputs(Vector{INFINITY, std::nan(""), -INFINITY}).empty());
}

TEST(Watch, ChecksTheCoverageOfIntervals) {
  const auto run = [](double nominal, double real) {
    Rng rng(33);
    Watch watch = one_input({.nominal_coverage = nominal});
    std::size_t found = 0;
    for (int t = 0; t < 100000; ++t) found += watch.look_at_interval(rng.uniform() < real).size();
    return found;
  };
  for (const double nominal : {0.5, 0.8, 0.9, 0.95, 0.99}) {
    EXPECT_EQ(run(nominal, nominal), 0u) << nominal;
    EXPECT_GE(run(nominal, 1 - 4 * (1 - nominal)), 1u) << nominal;
    EXPECT_GE(run(nominal, 1), 1u) << nominal;
  }
  EXPECT_EQ(run(0.9, 0.87), 0u);
  EXPECT_EQ(run(std::nan(""), 0), 0u);
}

TEST(Watch, TakesAnyNumber) {
  Watch watch = one_input({.nominal_coverage = 0.9});
  const Vector odd = {0, -0.0, 1e308, -1e308, INFINITY, -INFINITY, std::nan(""), 5e-324};
  Rng rng(34);
  for (int t = 0; t < 20000; ++t) {
    watch.look_at_inputs(Vector{odd[rng.below(odd.size())]});
    watch.look_at_error(Vector{odd[rng.below(odd.size())]}, Vector{odd[rng.below(odd.size())]});
  }
  EXPECT_TRUE(watch.look_at_error(Vector{1}, Vector{}).empty());
}

}  // namespace
}  // namespace kalstream
