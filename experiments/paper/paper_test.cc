#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "paper/report.h"
#include "temporary_folder.h"

namespace kalstream::paper {
namespace {

using Folder = test::TemporaryFolder;

TEST(Published, EveryEntryIsThere) {
  for (const Experiment e : regression_streams())
    for (const char* learner : {"sgd", "rmsprop", "adam", "dekf", "ekf", "alg2"})
      EXPECT_NE(published_table1(e, learner), nullptr) << to_string(e) << learner;
  EXPECT_EQ(published_table1(Experiment::kin8nm, ""), nullptr);
  EXPECT_EQ(published_table1(Experiment::puma32fm, "alg2")->seconds, 9.21);
  EXPECT_EQ(published_table1(Experiment::puma8nh, "ekf")->knse.half, .16);
  for (const int n : {3, 4, 5})
    for (const char* learner : {"rmsprop", "dekf", "ekf", "alg2"})
      EXPECT_NE(published_table2(n, learner), nullptr) << n << learner;
  EXPECT_EQ(published_table2(5, "alg2")->steps[3], 93080);
  EXPECT_TRUE(std::isinf(published_table2(4, "dekf")->steps[0]));
}

TEST(Variants, AreWhatTheySay) {
  EXPECT_EQ(chosen_variants({}).size(), variants().size());
  EXPECT_EQ(chosen_variants({"ekf", "sgd"}).front()->key, "sgd");
  EXPECT_THROW(chosen_variants({"ekff"}), std::invalid_argument);
  for (const Variant& v : variants()) EXPECT_NO_THROW(options_of(v, Experiment::kin8nm));

  const auto by_key = [](const char* key, Experiment e) {
    return options_of(*chosen_variants({key}).front(), e);
  };
  const auto floor = [&](const char* key) {
    return std::get<Algorithm2>(by_key(key, Experiment::kin8nm).rule).expert.noise_floor;
  };
  EXPECT_EQ(floor("alg2-paper"), 0);
  EXPECT_EQ(floor("alg2-floor"), 0.5);
  EXPECT_EQ(floor("alg2"), 0.5);
  const auto feedback = [&](const char* key) {
    return std::get<Algorithm2>(by_key(key, Experiment::addition).rule).feedback;
  };
  EXPECT_EQ(feedback("alg2"), Feedback::mixture);
  EXPECT_EQ(feedback("alg2-own"), Feedback::own);
  EXPECT_EQ(by_key("dekf", Experiment::puma32fm).network.gate_bias.input, -.5);
  EXPECT_EQ(by_key("dekf-open", Experiment::puma32fm).network.gate_bias.input, 5);
  EXPECT_FALSE(by_key("ekf-open", Experiment::puma32fm).network.gate_bias.output);
}

TEST(Streams, MissingOnesAreReplacedAndLabelled) {
  for (const Experiment e : regression_streams()) {
    const Stream s = regression_stream(e, "", 20);
    EXPECT_TRUE(s.substitute);
    EXPECT_NE(s.label, s.name);
    EXPECT_EQ(s.missing(), e == Experiment::elevators);
    if (s.missing()) continue;
    EXPECT_EQ(s.data.n_inputs(), s.name.find("32") == std::string::npos ? 8U : 32U) << s.name;
    EXPECT_NE(s.origin.find("gen:"), std::string::npos);
  }
}

TEST(Streams, FilesAreTakenAsTheyAreOrPrepared) {
  const Folder folder;
  folder.write("kin8nm.csv", "x,bias,target\n1,1,0.5\n-1,1,-0.5\n0,1,0.25\n");
  const Stream as_is = regression_stream(Experiment::kin8nm, folder.path, 3);
  EXPECT_FALSE(as_is.substitute);
  EXPECT_EQ(as_is.label, "kin8nm");
  EXPECT_EQ(as_is.data.targets, (std::vector<double>{0.5, -0.5, 0.25}));

  folder.write("puma8nm.csv", "x,target\n10,100\n20,300\n30,200\n");
  const Stream raw = regression_stream(Experiment::puma8nm, folder.path, 3);
  EXPECT_EQ(raw.data.targets, (std::vector<double>{-0.8, 0.8, 0}));
  EXPECT_NEAR(raw.data.inputs[0], -std::sqrt(1.5), 1e-12);
  EXPECT_NE(raw.origin.find("standardised"), std::string::npos);

  try {
    regression_stream(Experiment::kin8nm, folder.path, 4);
    FAIL();
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("3 rows, but the published run needs 4"),
              std::string::npos);
  }
}

TEST(Streams, BitsBecomeHalves) {
  const Folder folder;
  std::string text = "a,b,sum\n";
  for (int k = 0; k < 10'000; ++k) text += k % 2 == 0 ? "1,0,1\n" : "1,1,0\n";
  folder.write("add3seq2.csv", text);
  const Stream file = addition_stream(3, 2, folder.path, 10'000);
  EXPECT_EQ(file.data.targets[0], 0.5);
  EXPECT_EQ(file.data.targets[1], -0.5);
  const Stream generated = addition_stream(4, 1, folder.path, 10);
  EXPECT_EQ(generated.data.n_inputs(), 4U);
  EXPECT_NE(generated.origin.find("gen:addition?n=4&seed=1"), std::string::npos);
}

// A table of made-up runs: what is published stands beside, what is broken is said.
Table1 made_up(double alg2) {
  std::vector<Stream> streams{regression_stream(Experiment::kin8nm, "", 60),
                              regression_stream(Experiment::elevators, "", 60)};
  const auto who = chosen_variants({"sgd", "rmsprop", "adam", "dekf", "ekf", "alg2"});
  EXPECT_EQ(table1_jobs(streams, who, {1, 2}).size(), 12U);  // none for the missing stream
  std::vector<RunResult> runs;
  for (const double nse : {0.7, 0.45, 0.4, 0.35, 0.28, alg2})
    for (int seed = 1; seed <= 2; ++seed) {
      RunResult run;
      run.nse = run.knse = nse;
      run.target_variance = 1;
      run.seconds = 1;
      run.squared_error.assign(60, nse);
      run.forecast_squared_error.assign(60, nse);
      runs.push_back(run);
    }
  return fill_table1(std::move(streams), who, {1, 2}, runs);
}

TEST(Report, SaysWhatHoldsAndWhatNot) {
  const auto order = [](double alg2) {
    return verdicts({.command = "c", .table1 = made_up(alg2)}).front();
  };
  EXPECT_NE(order(0.3).find("holds on kin8nm (kin-like)."), std::string::npos) << order(0.3);
  EXPECT_NE(order(0.36).find("Algorithm 2 (0.360) is not below DEKF (0.350)"), std::string::npos)
      << order(0.36);
}

TEST(Report, HtmlMarkdownAndJsonTellTheSame) {
  const Reproduction r{.command = "kalstream reproduce table1", .table1 = made_up(0.3)};
  const auto document = report(r);
  const std::string html = document.to_html();
  const std::string markdown = document.to_markdown();
  for (const std::string& text : {html, markdown}) {
    EXPECT_NE(text.find("kin8nm (kin-like)"), std::string::npos);
    EXPECT_NE(text.find("elevators (missing)"), std::string::npos);
    EXPECT_NE(text.find("0.32 ± 0.20"), std::string::npos);  // published, Algorithm 2
    EXPECT_NE(text.find("0.300"), std::string::npos);
  }
  EXPECT_EQ(document.figures().size(), 2U);
  const auto json = nlohmann::json::parse(results_json(r));
  const auto& streams = json["table1"]["streams"];
  ASSERT_EQ(streams.size(), 2U);
  EXPECT_TRUE(streams[0]["substitute"]);
  EXPECT_EQ(streams[0]["rows"][5]["published"]["nse"]["middle"], 0.32);
  EXPECT_EQ(streams[0]["rows"][5]["runs"].size(), 2U);
  EXPECT_TRUE(streams[1]["missing"]);
  EXPECT_FALSE(json["machine"].get<std::string>().empty());
}

TEST(Report, AdditionCountsAndMedians) {
  Table2Part part{3, {addition_stream(3, 1, "", 20), addition_stream(3, 2, "", 20)}, {}};
  const auto who = chosen_variants({"ekf", "alg2-own", "sgd"});  // SGD is not in Table 2
  std::vector<RunResult> runs(8);
  for (std::size_t k = 0; k < 3; ++k) {
    runs[k].sustained_at = 1000 * (k + 1);
    runs[k].seconds = static_cast<double>(k);
  }
  const std::vector<Table2Part> parts{part};
  EXPECT_EQ(table2_jobs(parts, who, {1, 2}).size(), runs.size());
  const Table2 table = fill_table2({part}, who, {1, 2}, runs);
  const Table2Row& ekf = table.parts[0].rows[0];
  EXPECT_EQ(ekf.attempts(), 4U);
  EXPECT_EQ(ekf.sustained(), 3U);
  EXPECT_EQ(ekf.median_steps(), 2500);
  EXPECT_EQ(ekf.median_seconds(), 1);
  EXPECT_TRUE(std::isinf(table.parts[0].rows[1].median_steps()));
  const std::string markdown = report({.command = "c", .table2 = table}).to_markdown();
  EXPECT_NE(markdown.find("1000, 2000"), std::string::npos);
  EXPECT_NE(markdown.find("3000, failed"), std::string::npos);
  EXPECT_NE(markdown.find("5995"), std::string::npos);
}

}  // namespace
}  // namespace kalstream::paper
