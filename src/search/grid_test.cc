#include "search/grid.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kalstream {
namespace {

using Strings = std::vector<std::string>;

std::string complaint(const std::string& text) {
  try {
    parse_axis(text);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(Grid, ParsesListsAndRanges) {
  EXPECT_EQ(parse_axis("rate=0.1,0.2").key, "rate");
  EXPECT_EQ(parse_axis("rate=0.1,0.2").values, (Strings{"0.1", "0.2"}));
  EXPECT_EQ(parse_axis("q=1e-3..1e-8@2541,1e-4").values, (Strings{"1e-3..1e-8@2541", "1e-4"}));
  EXPECT_EQ(parse_axis("rate=0.1:0.05:0.25").values, (Strings{"0.1", "0.15", "0.2", "0.25"}));
  EXPECT_EQ(parse_axis("rate=0.001:0.001:0.015").values.size(), 15U);
  EXPECT_EQ(parse_axis("rate=0:1:1.6").values, (Strings{"0", "1"}));
  EXPECT_EQ(parse_axis("rate=0.001:0.001:0.015").values.back(), "0.015");
  for (const char* bad : {"rate", "=1", "rate=", "rate=1,,2", "rate=1,1", "rate=1:0:2",
                          "rate=2:1:1", "rate=a:1:2", "rate=0:1e-9:1"})
    EXPECT_NE(complaint(bad), "") << bad;
}

TEST(Grid, PublishedGridsHaveThePublishedSizes) {
  const auto size = [](const char* learner) {
    std::size_t n = 1;
    for (const GridAxis& axis : published_grid(learner)) n *= axis.values.size();
    return n;
  };
  EXPECT_EQ(size("sgd"), 9U);
  EXPECT_EQ(size("rmsprop"), 15U);
  EXPECT_EQ(size("adam"), 15U);
  EXPECT_EQ(size("dekf"), 36U);
  EXPECT_EQ(size("alg2"), 16U);
  EXPECT_TRUE(published_grid("iekf").empty());
}

GridSearch two_axes(const Dataset& data) {
  LearnerOptions options;
  options.rule = Ekf{};
  options.network.hidden = 2;
  return {.name = "s",
          .data = &data,
          .contender = {"ekf", options},
          .axes = {{"initial_covariance", {"1", "10"}}, {"measurement_noise", {"1", "2", "3"}}},
          .seeds = {7, 8},
          .evaluation = {.steps = 10}};
}

TEST(Grid, JobsCoverEveryCombinationOnce) {
  Dataset data;
  data.input_names = {"x"};
  data.target_names = {"d"};
  data.inputs = data.targets = {0.1, 0.2, 0.3};
  const auto jobs = jobs_of(two_axes(data));
  ASSERT_EQ(jobs.size(), 12U);
  EXPECT_EQ(jobs[3].name, "s-2-8");
  const auto& rule = std::get<Ekf>(jobs[3].contender.options.rule);
  EXPECT_EQ(rule.initial_covariance, 1);
  EXPECT_EQ(rule.measurement_noise.from, 2);
  EXPECT_EQ(std::get<Ekf>(jobs[11].contender.options.rule).initial_covariance, 10);

  auto wrong = two_axes(data);
  wrong.axes[0].key = "initial_covarianse";
  EXPECT_THROW(jobs_of(wrong), std::invalid_argument);
  wrong = two_axes(data);
  wrong.axes[0].values[1] = "ten";
  EXPECT_THROW(jobs_of(wrong), std::invalid_argument);
}

TEST(Grid, SurfaceBestAndPicture) {
  const Dataset data;
  const GridSearch search = two_axes(data);
  std::vector<RunResult> runs(12);
  for (std::size_t k = 0; k < runs.size(); ++k) runs[k].nse = 1 - 0.01 * static_cast<double>(k);
  runs[11].nse = NAN;  // the last combination keeps one seed
  runs[10].nse = 5;
  const auto surface = surface_of(search, runs);
  ASSERT_EQ(surface.size(), 6U);
  EXPECT_EQ(surface[4].values, (Strings{"10", "2"}));
  EXPECT_DOUBLE_EQ(surface[0].mean, 0.995);
  EXPECT_NEAR(surface[0].deviation, 0.005, 1e-12);
  EXPECT_EQ(best_point(surface), 4U);
  const std::string picture = surface_picture(search, surface, "title");
  EXPECT_NE(picture.find("<svg"), std::string::npos);
  EXPECT_NE(picture.find("initial_covariance"), std::string::npos);

  auto failed = surface;
  for (GridPoint& p : failed) p.mean = NAN;
  EXPECT_NE(surface_picture(search, failed, "all failed").find("<svg"), std::string::npos);

  GridSearch line = search;
  line.axes.erase(line.axes.begin());
  EXPECT_NE(surface_picture(line, surface_of(line, std::span(runs).first(6)), "line").find("<svg"),
            std::string::npos);
}

}  // namespace
}  // namespace kalstream
