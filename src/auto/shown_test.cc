#include "auto/shown.h"

#include <gtest/gtest.h>

#include <limits>

#include "support.h"

namespace kalstream {
namespace {

using test::copy;
using test::Vector;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

TEST(Shown, SaysWhatItIsShownWhateverItIsTaught) {
  const auto learner = make_shown(2);
  EXPECT_EQ(learner->inputs(), 2U);
  EXPECT_EQ(learner->outputs(), 2U);
  for (const double v : {1.0, -3e99, 1.2e100}) {
    EXPECT_EQ(copy(learner->predict(Vector{v, 7})), (Vector{v, 7}));
    EXPECT_EQ(copy(learner->forecast_next(Vector{7, v})), (Vector{7, v}));
    const StepReport report = learner->learn(Vector{v, 7}, Vector{0, 0});
    EXPECT_EQ(report.status, StepStatus::gated);
    EXPECT_EQ(report.experts + report.applied + report.rejected, 0U);
    EXPECT_EQ(learner->advance(Vector{v, 7}).status, StepStatus::missing);
  }
  EXPECT_TRUE(learner->spread().empty());
}

TEST(Shown, RefusesWhatIsNoNumber) {
  const auto learner = make_shown(1);
  for (const Vector& bad : {Vector{nan}, Vector{1, 2}, Vector{}}) {
    EXPECT_TRUE(std::isnan(learner->predict(bad)[0]));
    EXPECT_EQ(learner->learn(bad, Vector{1}).status, StepStatus::rejected_input);
    EXPECT_EQ(learner->learn(Vector{1}, bad).status, StepStatus::rejected_input);
    EXPECT_EQ(learner->advance(bad).status, StepStatus::rejected_input);
  }
}

}  // namespace
}  // namespace kalstream
