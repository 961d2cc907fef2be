// Bounds and surprise after wild values: what they hold again, and when.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "core/rng.h"
#include "kalstream/interval.h"
#include "kalstream/surprise.h"

namespace kalstream {
namespace {

/// Errors of a stream that is normal but for an attack, with bounds around them and their surprise.
class Attacked {
 public:
  struct Told {
    bool held;
    double width;
    double surprise;
  };

  Told take(double error) {
    const std::vector<double> d{error};
    const std::vector<double> d_hat{0};
    const auto around = intervals_.around(d_hat);
    const std::vector<Interval> bounds(around.begin(), around.end());
    const auto expect = surprise_.expect(d_hat);
    const std::vector<Surprise::Expected> expected(expect.begin(), expect.end());
    const Told told{bounds[0].holds(error), bounds[0].high - bounds[0].low,
                    surprise_.of(expected, d)[0]};
    intervals_.learn(bounds, d);
    surprise_.learn(expected, d);
    return told;
  }
  Told take_usual() { return take(rng_.normal()); }

 private:
  Rng rng_{3};
  Intervals intervals_{1, 0.9};
  Surprise surprise_{1};
};

struct Attack {
  std::string name;
  int length;
  std::function<double(int)> value;
  bool is_short = false;
};

std::vector<Attack> attacks() {
  const auto huge = [](int) { return 1e6; };
  return {{"one", 1, huge, true},
          {"two", 2, huge, true},
          {"two_opposite", 2, [](int k) { return k == 0 ? 1e6 : -1e6; }, true},
          {"two_beyond_belief", 2, [](int) { return 1e90; }, true},
          {"five", 5, huge, true},
          {"twenty", 20, huge},
          {"shift_and_back", 1000, [](int) { return 1000.0; }},
          {"alternating", 200, [](int k) { return k % 2 == 0 ? 1e4 : -1e4; }},
          {"every_other", 400, [](int k) { return k % 2 == 0 ? 1e4 : 0.5; }}};
}

double median(std::vector<double> of) {
  std::ranges::nth_element(of, of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2));
  return of[of.size() / 2];
}

// A few wild values in a row are forgotten within a hundred samples; what lasts longer within some
// hundred. None makes usual values strange.
TEST(WildValues, DoNoLastingHarm) {
  constexpr double usual_width = 3.3;
  for (const int age : {100, 1000, 20'000})
    for (const Attack& attack : attacks()) {
      SCOPED_TRACE(attack.name + " at " + std::to_string(age));
      Attacked stream;
      for (int t = 0; t < age; ++t) stream.take_usual();
      for (int k = 0; k < attack.length; ++k) stream.take(attack.value(k));
      for (int t = 0; t < 100; ++t) stream.take_usual();
      constexpr int later = 1900;
      int held = 0;
      int alarms = 0;
      std::vector<double> widths;
      for (int t = 0; t < later; ++t) {
        const Attacked::Told told = stream.take_usual();
        held += told.held ? 1 : 0;
        alarms += told.surprise < 1e-3 ? 1 : 0;
        widths.push_back(told.width);
      }
      EXPECT_NEAR(held / static_cast<double>(later), 0.9, 0.03);
      EXPECT_LE(alarms, 9);  // 1.9 are to be expected; five standard errors more
      EXPECT_LT(median(widths), (attack.is_short ? 1.15 : 3) * usual_width);
      EXPECT_GT(median(widths), 0.85 * usual_width);
      if (attack.is_short) {
        EXPECT_LT(stream.take(8).surprise, 2e-3);
      }
    }
}

}  // namespace
}  // namespace kalstream
