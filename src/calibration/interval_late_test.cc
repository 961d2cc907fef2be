// Intervals whose targets come late, or never; how far away bounds may be; older checkpoints.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <limits>
#include <string>

#include "kalstream/interval.h"
#include "support.h"

namespace kalstream {
namespace {

using test::Vector;

/// All targets so far, and how far from them a bound may be.
struct Seen {
  std::size_t n = 0;
  double low = 0;
  double high = 0;

  void add(double d) {
    low = n == 0 ? d : std::min(low, d);
    high = n == 0 ? d : std::max(high, d);
    ++n;
  }
  double range() const { return high - low; }
  bool allows(const Interval& b) const {
    const double most = 10 * range() * (1 + 1e-12);
    return b.low >= low - most && b.high <= high + most;
  }
};

// ---- Coverage.

/// Targets, and what can be said of one so many samples before.
struct Stationary {
  std::string name;
  std::function<double(std::size_t t, Rng& rng)> next;
  std::function<double(const Vector& d, std::size_t t, std::size_t lead)> forecast;
};

std::ostream& operator<<(std::ostream& out, const Stationary& s) { return out << s.name; }

std::vector<Stationary> stationary_streams() {
  const auto zero = [](const Vector&, std::size_t, std::size_t) { return 0.0; };
  const auto last = [](const Vector& d, std::size_t t, std::size_t lead) { return d[t - lead]; };
  const auto decays = [](double by) {
    return [=](const Vector& d, std::size_t t, std::size_t lead) {
      return std::pow(by, double(lead)) * d[t - lead];
    };
  };
  return {
      {"noise", [](std::size_t, Rng& rng) { return rng.normal(); }, zero},
      {"skewed_noise", [](std::size_t, Rng& rng) { return -std::log(1 - rng.uniform()); }, zero},
      {"autoregression",
       [level = 0.0](std::size_t, Rng& rng) mutable { return level = 0.95 * level + rng.normal(); },
       decays(0.95)},
      {"season",
       [](std::size_t t, Rng& rng) { return 10 * std::sin(0.26 * double(t)) + rng.normal(); },
       [](const Vector&, std::size_t t, std::size_t) { return 10 * std::sin(0.26 * double(t)); }},
      {"steps",
       [level = 0.0](std::size_t, Rng& rng) mutable {
         if (rng.below(100) == 0) level = rng.normal();
         return level + 0.05 * rng.normal();
       },
       last},
      {"shocks_in_clusters",
       [level = 0.0, variance = 1.0, shock = 0.0](std::size_t, Rng& rng) mutable {
         variance = 0.02 + 0.1 * shock * shock + 0.88 * variance;
         shock = std::sqrt(variance) * rng.normal();
         return level = 0.9 * level + shock;
       },
       decays(0.9)},
  };
}

class LateTargets : public testing::TestWithParam<Stationary> {};

TEST_P(LateTargets, CoverageIsWithinTwoPercent) {
  struct Case {
    std::size_t lead, delay;
    double lost;
  };
  constexpr std::size_t length = 40'000;
  for (const auto& [lead, delay, lost] :
       {Case{1, 0, 0.2}, Case{1, 300, 0}, Case{1, 1000, 0}, Case{1, 1000, 0.02}, Case{1, 900, 0.2},
        Case{24, 0, 0}, Case{100, 0, 0.02}, Case{500, 0, 0}, Case{1000, 0, 0}, Case{1000, 0, 0.2},
        Case{500, 500, 0.1}}) {
    const std::string where = "lead " + std::to_string(lead) + ", delay " + std::to_string(delay) +
                              ", lost " + std::to_string(lost);
    Rng rng(5);
    auto next = GetParam().next;
    Vector d;
    for (std::size_t t = 0; t < lead + length; ++t) d.push_back(next(t, rng));
    struct Outstanding {
      Interval bounds;
      double d;
      bool is_lost;
    };
    std::deque<Outstanding> outstanding;
    Intervals intervals(1, 0.9);
    Seen seen;
    std::size_t known = 0;
    std::size_t within = 0;
    for (std::size_t t = lead; t < d.size(); ++t) {
      const Interval b = intervals.around(Vector{GetParam().forecast(d, t, lead)})[0];
      if (b.low <= b.high) {
        ++known;
        within += b.holds(d[t]) ? 1 : 0;
        ASSERT_TRUE(seen.allows(b)) << where << " at " << t;
      }
      outstanding.push_back({b, d[t], rng.uniform() < lost});
      if (outstanding.size() < lead + delay) continue;
      const auto& [bounds, target, is_lost] = outstanding.front();
      if (!is_lost) {
        intervals.learn({&bounds, 1}, Vector{target});
        seen.add(target);
      }
      outstanding.pop_front();
    }
    EXPECT_GT(known, length - lead - delay - 100) << where;
    EXPECT_NEAR(double(within) / double(known), 0.9, 0.02) << where;
  }
}

INSTANTIATE_TEST_SUITE_P(Intervals, LateTargets, testing::ValuesIn(stationary_streams()),
                         [](const auto& one) { return one.param.name; });

// ---- The guarantee.

/// Which of those outstanding is learnt next, by its place; or none, while more bounds are made.
struct Lateness {
  std::string name;
  std::size_t late;  ///< others learnt in between, at most
  std::function<int(std::size_t outstanding, Rng& rng)> next;
};

std::vector<Lateness> kinds_of_lateness() {
  std::vector<Lateness> all;
  for (const std::size_t late : {1, 10, 100, 1000}) {
    all.push_back({"in_order", late, [=](std::size_t n, Rng&) { return n > late ? 0 : -1; }});
    all.push_back({"all_at_once", late, [=, learning = false](std::size_t n, Rng&) mutable {
                     learning = n > late || (learning && n > 0);
                     return learning ? 0 : -1;
                   }});
    all.push_back({"the_last_ones_first", late, [=, learning = false](std::size_t n, Rng&) mutable {
                     learning = n > late || (learning && n > 0);
                     return learning ? int(n) - 1 : -1;
                   }});
    all.push_back({"at_random", late, [=](std::size_t n, Rng& rng) {
                     return n > late || (n > 0 && rng.below(2) == 0) ? 0 : -1;
                   }});
  }
  return all;
}

TEST(Intervals, KeepTheirGuaranteeWhenTargetsComeLate) {
  constexpr double nominal = 0.9;
  for (const double b : {3.0, 100.0})
    for (const bool sleeps : {false, true})
      for (const auto& [name, late, kind] : kinds_of_lateness()) {
        auto next = kind;
        Rng rng(7);
        Intervals intervals(1, nominal);
        const double excess = intervals.excess(b, late);
        std::deque<std::pair<Interval, double>> outstanding;
        Seen seen;
        double balance = 0;  // Σ([missed] − (1 − nominal)), and the least it was
        double least = 0;
        for (std::size_t made = 0; made < 20'000;) {
          if (const int place = next(outstanding.size(), rng); place >= 0) {
            const auto [bounds, d] = outstanding[std::size_t(place)];
            outstanding.erase(outstanding.begin() + place);
            if (rng.below(10) == 0) continue;  // lost
            intervals.learn({&bounds, 1}, Vector{d});
            seen.add(d);
            if (std::isnan(bounds.low)) continue;
            balance += (bounds.holds(d) ? 0 : 1) - (1 - nominal);
            ASSERT_LE(balance - least, excess) << name << ' ' << late << ", b " << b;
            least = std::min(least, balance);
            continue;
          }
          const Interval bounds = intervals.around(Vector{0})[0];
          const double most = b * (1 - 1e-12) * bounds.origin.scale;
          double d = rng.normal();
          if (bounds.low <= bounds.high) {
            const bool attacks = !sleeps || made / (3 * late + 300) % 2 == 1;
            d = !attacks             ? 0
                : rng.below(2) == 0  ? std::min(bounds.high * (1 + 1e-9) + 1e-9, most)
                : -bounds.low < most ? -most
                                     : most;
            d = std::clamp(d, seen.low - 9 * seen.range(), seen.high + 9 * seen.range());
            if (bounds.origin.scale > 1e80) d = 1;
          }
          outstanding.emplace_back(bounds, d);
          ++made;
        }
      }
}

TEST(Intervals, TheGuaranteeIsThatOfPromptTargetsIfNoneIsLate) {
  const Intervals intervals(1, 0.9);
  EXPECT_EQ(intervals.excess(10), intervals.excess(10, 0));
  EXPECT_LT(intervals.excess(10), intervals.excess(10, 1));
  EXPECT_LT(intervals.excess(10, 24), 0.1 * 5000);
}

// Corrections of what came late are as if it had come at once: those who wait together do not
// each make the same one again.
TEST(Intervals, ABurstOfMissesDoesNotMakeThemAbsurd) {
  Rng rng(8);
  Intervals intervals(1, 0.9);
  for (std::size_t t = 0; t < 2000; ++t) {
    const Interval bounds = intervals.around(Vector{0})[0];
    intervals.learn({&bounds, 1}, Vector{rng.normal()});
  }
  // For a thousand samples no target comes; all of them are twice as far away as usual.
  std::vector<std::pair<Interval, double>> waiting;
  for (std::size_t t = 0; t < 1000; ++t)
    waiting.emplace_back(intervals.around(Vector{0})[0], 2 * rng.normal());
  for (const auto& [bounds, d] : waiting) intervals.learn({&bounds, 1}, Vector{d});
  const Interval after = intervals.around(Vector{0})[0];
  EXPECT_LT(after.high - after.low, 30);
  EXPECT_GT(after.high - after.low, 6);
}

// After a time in which nothing was late, they are as quick as they were.
TEST(Intervals, LatenessIsForgotten) {
  Rng rng(9);
  Intervals prompt(1, 0.9);
  Intervals once_late(1, 0.9);
  std::vector<std::pair<Interval, double>> waiting;
  for (std::size_t t = 0; t < 30'000; ++t) {
    const double d = rng.normal();
    const Interval a = prompt.around(Vector{0})[0];
    const Interval b = once_late.around(Vector{0})[0];
    prompt.learn({&a, 1}, Vector{d});
    if (t >= 1000 && t < 1500)
      waiting.emplace_back(b, d);
    else
      once_late.learn({&b, 1}, Vector{d});
    if (t == 1500)
      for (const auto& [bounds, target] : waiting) once_late.learn({&bounds, 1}, Vector{target});
  }
  const auto until_wide = [](Intervals& intervals) {
    for (int t = 0;; ++t) {
      const Interval b = intervals.around(Vector{0})[0];
      if (b.high > 100) return t;
      intervals.learn({&b, 1}, Vector{b.high + 1});
    }
  };
  EXPECT_LE(until_wide(once_late), until_wide(prompt) + 5);
}

// ---- How far away bounds may be.

TEST(Intervals, NoBoundIsFurtherAwayThanTenTimesTheRangeOfTargets) {
  using Stream = std::function<std::pair<double, double>(std::size_t t, Rng & rng)>;  // d̂, d
  const std::vector<Stream> streams{
      [](std::size_t, Rng& rng) {
        return std::pair{0.0, rng.normal() / rng.normal()};
      },
      [](std::size_t t, Rng& rng) {
        return std::pair{t % 7 == 0 ? 1e9 : 0, rng.normal()};
      },
      [](std::size_t, Rng& rng) {
        return std::pair{1e50 * rng.normal(), 1e-50 * rng.normal()};
      },
      [](std::size_t t, Rng& rng) {
        return std::pair{0.0, std::exp(0.02 * double(t)) * rng.normal()};
      },
      [](std::size_t t, Rng&) {
        return std::pair{double(t), 5.0};
      },
      [](std::size_t t, Rng& rng) {
        return std::pair{5.0, t % 500 < 480 ? 5 : 1e3 * rng.normal()};
      },
  };
  for (const std::size_t late : {0, 1, 24, 500})
    for (const Stream& next : streams) {
      Rng rng(10);
      Intervals intervals(1, 0.9);
      Seen seen;
      std::deque<std::pair<Interval, double>> outstanding;
      for (std::size_t t = 0; t < 5000; ++t) {
        const auto [d_hat, d] = next(t, rng);
        const Interval b = intervals.around(Vector{d_hat})[0];
        if (seen.n >= 10) {
          ASSERT_TRUE(b.low <= b.high);
          ASSERT_TRUE(seen.allows(b)) << b.low << ' ' << b.high << " at " << t << ", " << late;
        }
        outstanding.emplace_back(b, d);
        if (outstanding.size() <= late) continue;
        intervals.learn({&outstanding.front().first, 1}, Vector{outstanding.front().second});
        seen.add(outstanding.front().second);
        outstanding.pop_front();
      }
    }
}

TEST(Interval, Holds) {
  Interval b;
  EXPECT_FALSE(b.holds(0));
  b.low = -1;
  b.high = 2;
  for (const double d : {-1.0, 0.0, 2.0}) EXPECT_TRUE(b.holds(d));
  for (const double d : {-1.1, 2.1, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_FALSE(b.holds(d));
}

}  // namespace
}  // namespace kalstream
