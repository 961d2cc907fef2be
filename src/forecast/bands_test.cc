// Bounds around forecasts of all leads: how much they hold, how they look, and what is guaranteed.
#include "forecast/bands.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "core/rng.h"
#include "support.h"

namespace kalstream {
namespace {

using test::Vector;

constexpr double missing = std::numeric_limits<double>::quiet_NaN();

/// A stream and its forecasts k samples ahead.
struct Series {
  std::string name;
  std::function<double(std::size_t t, Rng& rng)> next;
  std::function<double(const Vector& past, std::size_t lead)> forecast;
};

std::ostream& operator<<(std::ostream& out, const Series& s) { return out << s.name; }

double wave(std::size_t t) {
  return 10 * std::sin(2 * std::numbers::pi * static_cast<double>(t) / 24);
}

std::vector<Series> all_series() {
  return {
      {"noise", [](std::size_t, Rng& rng) { return rng.normal(); },
       [](const Vector&, std::size_t) { return 0.0; }},
      {"autoregression",
       [level = 0.0](std::size_t, Rng& rng) mutable { return level = 0.8 * level + rng.normal(); },
       [](const Vector& past, std::size_t lead) {
         return past.back() * std::pow(0.8, static_cast<double>(lead));
       }},
      {"season", [](std::size_t t, Rng& rng) { return wave(t) + rng.normal(); },
       [](const Vector& past, std::size_t lead) { return wave(past.size() - 1 + lead); }},
      {"walk", [level = 0.0](std::size_t, Rng& rng) mutable { return level += rng.normal(); },
       [](const Vector& past, std::size_t) { return past.back(); }},
  };
}

/// Takes a series sample by sample; `lost` of its targets are not known.
class Life {
 public:
  Life(Series series, std::size_t horizon, std::vector<double> coverages, std::uint64_t seed,
       double lost = 0)
      : series_(std::move(series)),
        bands_(horizon, coverages),
        levels_(coverages.size()),
        said_(horizon + 1),
        rng_(seed),
        lost_(lost) {}

  /// The next sample. Calls `look` for each lead and coverage with the bounds and the target.
  void step(const std::function<void(std::size_t lead, std::size_t level, const Interval&, double)>&
                look = {}) {
    const double d = series_.next(past_.size(), rng_);
    const std::size_t horizon = said_.size() - 1;
    for (std::size_t lead = 1; look && lead <= horizon && lead <= past_.size(); ++lead) {
      const auto& said = said_[(past_.size() - lead) % said_.size()];
      for (std::size_t level = 0; level < levels_; ++level) {
        const Interval& bounds = said[(lead - 1) * levels_ + level];
        if (bounds.low <= bounds.high) look(lead, level, bounds, d);
      }
    }
    past_.push_back(d);
    bands_.learn(rng_.uniform() < lost_ ? missing : d);
    Vector values;
    for (std::size_t lead = 1; lead <= horizon; ++lead)
      values.push_back(series_.forecast(past_, lead));
    const auto bounds = bands_.around(values);
    said_[(past_.size() - 1) % said_.size()].assign(bounds.begin(), bounds.end());
  }

  const std::vector<Interval>& last() const { return said_[(past_.size() - 1) % said_.size()]; }
  ForecastBands& bands() { return bands_; }

 private:
  Series series_;
  ForecastBands bands_;
  std::size_t levels_;
  std::vector<std::vector<Interval>> said_;
  Rng rng_;
  double lost_;
  Vector past_;
};

class Bands : public testing::TestWithParam<Series> {};
INSTANTIATE_TEST_SUITE_P(Series, Bands, testing::ValuesIn(all_series()),
                         [](const auto& test) { return test.param.name; });

// Early and late, with and without lost targets: means of 30 lives.
TEST_P(Bands, HoldAsOftenAsTheyShould) {
  const bool walk = GetParam().name == "walk";
  for (const double lost : {0.0, 0.5}) {
    struct Count {
      double held = 0;
      double all = 0;
    };
    constexpr std::array<std::size_t, 4> begin{100, 300, 1000, 3000};
    std::map<std::pair<std::size_t, std::size_t>, Count> counts;  // by lead and stretch
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
      Life life(GetParam(), 24, {0.9}, seed, lost);
      for (std::size_t t = 0; t < begin.back(); ++t)
        life.step([&](std::size_t lead, std::size_t, const Interval& bounds, double d) {
          for (std::size_t k = 0; k + 1 < begin.size(); ++k)
            if (t >= begin[k] && t < begin[k + 1]) {
              Count& c = counts[{lead, k}];
              c.held += bounds.holds(d) ? 1 : 0;
              ++c.all;
            }
        });
    }
    for (const auto& [of, c] : counts) {
      const auto [lead, stretch] = of;
      const double least = walk && stretch == 0 ? 0.84 : 0.87;
      EXPECT_GT(c.held / c.all, least) << "lead " << lead << " from " << begin[stretch];
      EXPECT_LT(c.held / c.all, 0.94) << "lead " << lead << " from " << begin[stretch];
    }
  }
}

// Wider coverages contain the others, in every row; each holds its part.
TEST_P(Bands, NeverCross) {
  const Vector coverages{0.5, 0.8, 0.95};
  Life life(GetParam(), 12, coverages, 3);
  std::vector<double> held(3), all(3);
  for (int t = 0; t < 3000; ++t) {
    life.step([&](std::size_t, std::size_t level, const Interval& bounds, double d) {
      held[level] += bounds.holds(d) ? 1 : 0;
      ++all[level];
    });
    const auto& said = life.last();
    for (std::size_t k = 0; k + 1 < said.size(); ++k) {
      if (k % 3 == 2 || !(said[k].low <= said[k].high)) continue;
      ASSERT_LE(said[k + 1].low, said[k].low);
      ASSERT_GE(said[k + 1].high, said[k].high);
    }
  }
  for (std::size_t level = 0; level < 3; ++level)
    EXPECT_NEAR(held[level] / all[level], coverages[level], 0.03);
}

// One unusual day is a run of misses that are all alike. The bounds that follow stay within twice
// the width from before but for the day itself, and never leave what was seen by more than its
// range.
TEST(ForecastBands, ABadDayIsOneMissAndNotTwentyFour) {
  const auto usual = [](std::size_t t) { return t >= 1000 && t < 1024 ? 6.0 : 0.0; };
  const Series day{"day", [&](std::size_t t, Rng& rng) { return usual(t) + rng.normal(); },
                   [](const Vector&, std::size_t) { return 0.0; }};
  Life life(day, 24, {0.9}, 4);
  for (int t = 0; t < 1000; ++t) life.step();
  const double before = life.last()[23].high - life.last()[23].low;
  for (int t = 0; t < 224; ++t) life.step();
  const double after = life.last()[23].high - life.last()[23].low;
  EXPECT_LT(after, 2 * before);
}

// Neighbouring leads have bounds of about the same width.
TEST(ForecastBands, AreSmoothOverLeads) {
  Life life(all_series()[1], 48, {0.9}, 5);
  for (int t = 0; t < 500; ++t) life.step();
  for (int t = 0; t < 500; ++t) {
    life.step();
    const auto& said = life.last();
    for (std::size_t k = 10; k + 1 < said.size(); ++k) {
      const double width = said[k].high - said[k].low;
      const double next = said[k + 1].high - said[k + 1].low;
      ASSERT_LT(std::abs(width - next), 0.25 * std::max(width, next)) << t << ' ' << k;
    }
  }
}

TEST(ForecastBands, AreWhereTargetsCanBe) {
  const Series counts{
      "counts", [](std::size_t, Rng& rng) { return std::floor(-2 * std::log(1 - rng.uniform())); },
      [](const Vector&, std::size_t) { return 1.5; }};
  Life life(counts, 6, {0.9}, 6);
  double held = 0;
  double all = 0;
  for (int t = 0; t < 2000; ++t) {
    life.step([&](std::size_t, std::size_t, const Interval& bounds, double d) {
      held += bounds.holds(d) ? 1 : 0;
      ++all;
    });
    for (const Interval& bounds : life.last()) {
      if (std::isnan(bounds.low)) continue;
      ASSERT_GE(bounds.low, 0);
      ASSERT_EQ(bounds.low, std::floor(bounds.low));
      ASSERT_EQ(bounds.high, std::floor(bounds.high));
    }
  }
  EXPECT_GT(held / all, 0.89);
}

TEST(ForecastBands, GoOnFromASnapshot) {
  Life life(all_series()[1], 6, {0.8, 0.9}, 7);
  for (int t = 0; t < 200; ++t) life.step();
  ForecastBands loaded(6, {0.8, 0.9});
  test::set_state(loaded, test::state_of(life.bands()));
  Rng rng(8);
  for (int t = 0; t < 50; ++t) {
    const double d = t % 7 == 0 ? missing : rng.normal();
    life.bands().learn(d);
    loaded.learn(d);
    const Vector values(6, rng.normal());
    const auto a = life.bands().around(values);
    const auto b = loaded.around(values);
    for (std::size_t k = 0; k < a.size(); ++k) {
      ASSERT_EQ(a[k].low, b[k].low);
      ASSERT_EQ(a[k].high, b[k].high);
    }
  }
}

// Against someone who sees the bounds and answers just outside of them, as far as errors may be; or
// as far outside as that; or only at times.
TEST(ForecastBands, KeepTheirGuaranteeAgainstAdversaries) {
  for (const std::size_t lead : {1U, 3U, 12U})
    for (const double b : {3.0, 10.0, 1000.0})
      for (const int kind : {0, 1, 2}) {
        ForecastBands bands(lead, {0.9});
        std::vector<Interval> said(lead + 1);
        Vector allowed(lead + 1);  // the farthest target, of all learnt when the bounds were made
        double low = 0;
        double high = 0;
        const double excess = ForecastBands::excess(b, lead - 1);
        Rng rng(9);
        double balance = 0;  // Σ([missed] − 0.1), and the least it was
        double least = 0;
        for (std::size_t t = 0; t < 6000; ++t) {
          double d = rng.normal();
          if (t >= lead) {
            const Interval& bounds = said[(t - lead) % said.size()];
            const double farthest =
                std::min(b * (1 - 1e-12) * bounds.origin.scale, allowed[(t - lead) % said.size()]);
            const double outside = bounds.high + 1e-9 * (1 + std::abs(bounds.high));
            const bool awake = kind < 2 || t / 700 % 2 == 1;
            const bool may = t > 100 && bounds.origin.scale < 1e90 && awake;
            if (may && outside <= farthest) d = kind == 1 ? farthest : outside;
            if (bounds.low <= bounds.high) balance += (bounds.holds(d) ? 0 : 1) - 0.1;
            ASSERT_LE(balance - least, excess) << lead << ' ' << b << ' ' << kind << " at " << t;
            least = std::min(least, balance);
          }
          bands.learn(d);
          low = t == 0 ? d : std::min(low, d);
          high = t == 0 ? d : std::max(high, d);
          allowed[t % said.size()] = high + (high - low);
          said[t % said.size()] = bands.around(Vector(lead, 0.0)).back();
        }
      }
}

}  // namespace
}  // namespace kalstream
