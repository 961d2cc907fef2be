#include "io/jobs.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <fstream>

#include "temporary_folder.h"

namespace kalstream {
namespace {

namespace fs = std::filesystem;

using Folder = test::TemporaryFolder;

Dataset waves(std::size_t rows, double frequency = 0.3) {
  Dataset data;
  data.name = "waves";
  data.input_names = {"x"};
  data.target_names = {"d"};
  for (std::size_t t = 0; t < rows; ++t) {
    data.inputs.push_back(std::sin(frequency * static_cast<double>(t)));
    data.targets.push_back(0.5 * std::sin(frequency * static_cast<double>(t + 1)));
  }
  return data;
}

std::vector<Job> some_jobs(const Dataset& data) {
  LearnerOptions small{.network = {}, .rule = Algorithm2{}};
  small.network.hidden = 3;
  LearnerOptions ekf = small;
  ekf.rule = Ekf{};
  std::vector<Job> jobs;
  for (const std::uint64_t seed : {1, 2, 3}) {
    const EvaluationOptions evaluation{.steps = 60, .warm_up = 5, .horizon = 4};
    jobs.push_back({.name = "alg2-" + std::to_string(seed),
                    .data = &data,
                    .contender = {"alg2", small},
                    .seed = seed,
                    .evaluation = evaluation});
    jobs.push_back({.name = "ekf-" + std::to_string(seed),
                    .data = &data,
                    .contender = {"ekf", ekf},
                    .seed = seed,
                    .evaluation = evaluation,
                    .keep_errors = false});
  }
  return jobs;
}

// NaN where NaN is, and the same bits elsewhere.
void expect_same(const std::vector<double>& a, const std::vector<double>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t k = 0; k < a.size(); ++k)
    EXPECT_TRUE(a[k] == b[k] || (std::isnan(a[k]) && std::isnan(b[k]))) << k;
}

void expect_same(const std::vector<RunResult>& a, const std::vector<RunResult>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t k = 0; k < a.size(); ++k) {
    EXPECT_EQ(a[k].nse, b[k].nse);
    EXPECT_EQ(a[k].knse, b[k].knse);
    EXPECT_EQ(a[k].sustained_at, b[k].sustained_at);
    EXPECT_EQ(a[k].scored, b[k].scored);
    expect_same(a[k].squared_error, b[k].squared_error);
    expect_same(a[k].forecast_squared_error, b[k].forecast_squared_error);
  }
}

TEST(JobsThreads, ResultsDoNotDependOnHowManyRunAtATime) {
  const Dataset data = waves(70);
  const auto one = run_jobs(some_jobs(data), {.jobs = 1});
  std::atomic<int> calls = 0;
  const auto many =
      run_jobs(some_jobs(data), {.jobs = 4, .on_progress = [&](const Job&, double) { ++calls; }});
  expect_same(one, many);
  EXPECT_GE(calls, 6);
  EXPECT_FALSE(one[0].squared_error.empty());
  EXPECT_TRUE(one[1].squared_error.empty());  // not kept
  EXPECT_TRUE(one[0].prediction.empty());
}

TEST(Jobs, ResumeTakesWhatIsThereAndMakesTheRest) {
  const Folder folder;
  const Dataset data = waves(70);
  const auto jobs = some_jobs(data);
  std::size_t kept = 99;
  const auto start = [&](double, std::size_t n) { kept = n; };
  const JobsOptions again{.directory = folder.path / "runs", .resume = true, .on_start = start};

  const auto first = run_jobs(jobs, again);
  EXPECT_EQ(kept, 0U);
  expect_same(first, run_jobs(jobs, again));
  EXPECT_EQ(kept, 6U);

  fs::remove(folder.path / "runs" / "ekf-2.run");
  std::ofstream(folder.path / "runs" / "alg2-1.run") << "damaged";
  expect_same(first, run_jobs(jobs, again));
  EXPECT_EQ(kept, 4U);

  expect_same(first, run_jobs(jobs, {.directory = folder.path / "runs", .on_start = start}));
  EXPECT_EQ(kept, 0U);  // without resume all are made again
}

TEST(Jobs, ResumeRefusesOtherSettingsDataAndSeeds) {
  const Folder folder;
  const Dataset data = waves(70);
  std::size_t kept = 99;
  const JobsOptions again{.directory = folder.path,
                          .resume = true,
                          .on_start = [&](double, std::size_t n) { kept = n; }};
  const auto jobs = some_jobs(data);
  run_jobs(jobs, again);
  const auto kept_with = [&](const auto& change) {
    auto changed = jobs;
    for (Job& job : changed) change(job);
    run_jobs(changed, again);
    const std::size_t result = kept;
    run_jobs(jobs, again);  // as it was
    return result;
  };
  const Dataset other = waves(70, 0.4);
  EXPECT_EQ(kept_with([](Job&) {}), 6U);
  EXPECT_EQ(kept_with([&](Job& j) { j.data = &other; }), 0U);
  EXPECT_EQ(kept_with([](Job& j) { j.seed += 10; }), 0U);
  EXPECT_EQ(kept_with([](Job& j) { j.evaluation.steps = 50; }), 0U);
  EXPECT_EQ(kept_with([](Job& j) { j.evaluation.warm_up = 0; }), 0U);
  EXPECT_EQ(kept_with([](Job& j) { j.contender.options.network.hidden = 4; }), 0U);
  EXPECT_EQ(kept_with([](Job& j) {
              if (auto* ekf = std::get_if<Ekf>(&j.contender.options.rule))
                ekf->process_noise = 1e-3;
            }),
            3U);
}

TEST(Jobs, WrongOptionsNameTheJobBeforeAnythingRuns) {
  const Dataset data = waves(70);
  auto jobs = some_jobs(data);
  std::get<Ekf>(jobs[3].contender.options.rule).initial_covariance = -1;
  try {
    run_jobs(jobs, {.on_start = [](double, std::size_t) { FAIL(); }});
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "ekf-2: initial_covariance must be finite and positive");
  }
}

TEST(Jobs, AnUnwritableFolderIsAnError) {
  const Dataset data = waves(70);
  EXPECT_THROW(run_jobs(some_jobs(data), {.directory = "/proc/nowhere"}), std::runtime_error);
}

}  // namespace
}  // namespace kalstream
