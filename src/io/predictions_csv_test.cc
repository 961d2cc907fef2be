#include <gtest/gtest.h>

#include <cmath>

#include "io/results.h"

namespace kalstream {
namespace {

TEST(PredictionsCsv, HasTheColumnsThatThereAre) {
  Dataset data;
  data.target_names = {"y"};
  RunResult run;
  run.target = {1, NAN};
  run.steps = 2;
  run.prediction = {NAN, 0.5};
  EXPECT_EQ(predictions_csv(data, {{"rls", {7}, {run}}}),
            "learner,seed,step,target,prediction\n"
            "rls,7,1,1,\n"
            "rls,7,2,,0.5\n");

  data.time_name = "when, exactly";
  data.times = {"Monday, 9:00", "10:00"};
  run.held = {0, 3};
  run.low = {NAN, 0.25};
  run.high = {NAN, 0.75};
  run.forecasts = {
      .horizon = 2, .value = {1, 2, 3, NAN}, .low = {0, 1, 2, NAN}, .high = {2, 3, 4, NAN}};
  EXPECT_EQ(predictions_csv(data, {{"rls", {7}, {run}}}),
            "learner,seed,step,\"when, exactly\",held,target,prediction,prediction_low,"
            "prediction_high,forecast_1_time,forecast_1,forecast_1_low,forecast_1_high,"
            "forecast_2_time,forecast_2,forecast_2_low,forecast_2_high\n"
            "rls,7,1,\"Monday, 9:00\",0,1,,,,,1,0,2,,2,1,3\n"
            "rls,7,2,10:00,3,,0.5,0.25,0.75,,3,2,4,,,,\n");
}

TEST(PredictionsCsv, TellsWhatIsStrange) {
  Dataset data;
  data.target_names = {"y"};
  RunResult run;
  run.target = {1, 2, NAN};
  run.steps = 3;
  run.prediction = {0.5, 0.5, 0.5};
  run.surprise = {0.25, 0.01, NAN};
  EXPECT_EQ(predictions_csv(data, {{"rls", {7}, {run}}}),
            "learner,seed,step,target,prediction,surprise\n"
            "rls,7,1,1,0.5,0.25\n"
            "rls,7,2,2,0.5,0.01\n"
            "rls,7,3,,0.5,\n");
  run.alarm_rate = 0.01;
  run.anomaly = {false, true, false};
  EXPECT_EQ(predictions_csv(data, {{"rls", {7}, {run}}}),
            "learner,seed,step,target,prediction,surprise,anomaly\n"
            "rls,7,1,1,0.5,0.25,0\n"
            "rls,7,2,2,0.5,0.01,1\n"
            "rls,7,3,,0.5,,\n");
}

TEST(PredictionsCsv, HasAProbabilityForEachClassThatCame) {
  Dataset data;
  data.target_names = {"colour"};
  data.keys = {"a", "b"};
  RunResult run;
  run.steps = 2;
  run.classes = ClassResult{.names = {"red", "green"},
                            .target = {"red", "green"},
                            .probability = {0.75},
                            .begins = {0, 0, 1}};
  EXPECT_EQ(
      predictions_csv(data, {{"auto", {7}, {run}}}),
      "learner,seed,step,key,target,prediction,probability,probability_red,probability_green\n"
      "auto,7,1,a,red,,,,\n"
      "auto,7,2,b,green,red,0.75,0.75,\n");
}

TEST(PredictionsCsv, NamesTargetsWhereThereAreSeveral) {
  Dataset data;
  data.target_names = {"y", "z"};
  RunResult run;
  run.target = {1, 2};
  run.steps = 1;
  run.prediction = {3, 4};
  EXPECT_EQ(predictions_csv(data, {{"rls", {1}, {run}}}),
            "learner,seed,step,target_y,target_z,prediction_y,prediction_z\n"
            "rls,1,1,1,2,3,4\n");
}

}  // namespace
}  // namespace kalstream
