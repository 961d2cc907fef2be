#include "monitor/status.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "core/rng.h"

namespace kalstream {
namespace {

StreamStatus full_status() {
  StreamStatus s;
  s.learner = "auto \"best\" \\ of\nall";
  s.version = "1.2.3";
  s.uptime_seconds = 12.5;
  std::uint64_t n = 1000000000001;
  for (std::uint64_t* count :
       {&s.lines_read,          &s.counts.refused,      &s.counts.samples,   &s.counts.learnt,
        &s.counts.missing,      &s.labels_pending,      &s.counts.late,      &s.counts.gated,
        &s.counts.rejected,     &s.counts.held,         &s.counts.anomalies, &s.counts.alarms,
        &s.checkpoints_written, &s.checkpoint_failures, &s.models_in_memory, &s.models_packed,
        &s.models_on_disk,      &s.evictions,           &s.resident_bytes,   &s.memory_bytes,
        &s.latency.count})
    *count = n++;
  double v = 0.1;
  for (double* number :
       {&s.seconds_since_checkpoint, &s.errors.nse, &s.errors.rmse, &s.errors.mae,
        &s.recent_errors.nse, &s.recent_errors.rmse, &s.recent_errors.mae, &s.coverage_nominal,
        &s.coverage, &s.coverage_recent, &s.latency.p50, &s.latency.p90, &s.latency.p99,
        &s.latency.p999, &s.latency.max, &s.latency.sum, &s.samples_per_second, &s.covariance_trace,
        &s.memory_limit})
    *number = v /= 1.7;
  s.covariance_trace = INFINITY;
  s.expert_names = {"a, b", "c{\"}\\", "z"};
  s.expert_weights = {0.25, 0.5, 1e-300};
  for (std::size_t k = 0; k < warning_kinds; ++k) s.warnings[k] = k;
  return s;
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) all.push_back(line);
  return all;
}

// The grammar of the format, and its rules: HELP and TYPE once and before the family's series, all
// of which stand together and none twice; counters end in _total.
void expect_valid(const std::string& text) {
  const std::regex series(
      R"re((kalstream_[a-z0-9_]+)(\{[a-z_]+="([^"\\\n]|\\[\\"n])*"(,[a-z_]+="([^"\\\n]|\\[\\"n])*")*\})? (NaN|[+-]Inf|-?[0-9.]+(e[+-]?[0-9]+)?))re");
  std::string family, type;
  std::set<std::string> families, all;
  ASSERT_TRUE(text.empty() || text.ends_with('\n'));
  for (const std::string& line : lines(text)) {
    std::istringstream words(line);
    std::string hash, keyword, name, rest;
    if (line.starts_with("# HELP ")) {
      words >> hash >> keyword >> family >> rest;
      EXPECT_TRUE(families.insert(family).second) << line;
      EXPECT_FALSE(rest.empty()) << line;
      continue;
    }
    if (line.starts_with("# TYPE ")) {
      words >> hash >> keyword >> name >> type;
      EXPECT_EQ(name, family) << line;
      EXPECT_EQ(type == "counter", name.ends_with("_total")) << line;
      continue;
    }
    std::smatch match;
    ASSERT_TRUE(std::regex_match(line, match, series)) << line;
    name = match[1];
    if (type == "summary")
      EXPECT_TRUE(name == family || name == family + "_sum" || name == family + "_count") << line;
    else
      EXPECT_EQ(name, family) << line;
    EXPECT_TRUE(all.insert(line.substr(0, line.rfind(' '))).second) << line;
  }
}

TEST(Prometheus, TextIsValid) {
  expect_valid(prometheus_text(full_status()));
  expect_valid(prometheus_text(StreamStatus{}));
}

TEST(Prometheus, SaysWhatIsKnown) {
  const std::string text = prometheus_text(full_status());
  const auto all = lines(text);
  const auto has = [&](const std::string& line) { return std::ranges::count(all, line) == 1; };
  EXPECT_TRUE(has(R"(kalstream_info{learner="auto \"best\" \\ of\nall",version="1.2.3"} 1)"));
  EXPECT_TRUE(has("kalstream_lines_read_total 1000000000001"));
  EXPECT_TRUE(has("# TYPE kalstream_latency_seconds summary"));
  EXPECT_TRUE(has("kalstream_uptime_seconds 12.5"));
  EXPECT_TRUE(has(R"(kalstream_expert_weight{expert="c{\"}\\"} 0.5)"));
  EXPECT_TRUE(has(R"(kalstream_warnings_total{kind="drift"} 2)"));
  EXPECT_TRUE(has("kalstream_covariance_trace +Inf"));
  const std::string empty = prometheus_text(StreamStatus{});
  EXPECT_EQ(empty.find("nan"), std::string::npos);
  EXPECT_EQ(empty.find("kalstream_nse"), std::string::npos);
  EXPECT_EQ(empty.find("resident"), std::string::npos);
}

TEST(Prometheus, ANameThatComesTwiceIsTwoSeries) {
  StreamStatus s;
  s.expert_names = {"ekf", "ekf", "ekf"};
  s.expert_weights = {0.5, 0.3, 0.2};
  const auto back = status_of(parse_prometheus(prometheus_text(s)));
  EXPECT_EQ(back.expert_names, (std::vector<std::string>{"ekf (2)", "ekf (3)", "ekf"}));
  EXPECT_EQ(back.expert_weights, (std::vector<double>{0.3, 0.2, 0.5}));
}

TEST(Prometheus, ComesBackAsItWas) {
  for (const StreamStatus& status : {full_status(), StreamStatus{}}) {
    const std::string text = prometheus_text(status);
    const StreamStatus back = status_of(parse_prometheus(text));
    EXPECT_EQ(prometheus_text(back), text);
    EXPECT_EQ(back.learner, status.learner);
    EXPECT_EQ(back.version, status.version);
    EXPECT_EQ(back.expert_names, status.expert_names);
  }
}

TEST(Prometheus, ReadsWhatTheFormatAllows) {
  const Metrics m = parse_prometheus(
      "# a comment\n\n  \t\n#\nplain 1\r\nspaced \t 2.5e3   1700000000000\n"
      "labels{ a = \"x\" , b=\"y\\\"}\\\\\", } 3\nnone{} -0\n"
      "not_a_number NaN\nlarge +Inf\nsmall -Inf\nplain 4\nlast 5");
  EXPECT_EQ(m.size(), 8u);
  EXPECT_EQ(m.at("plain"), 4);
  EXPECT_EQ(m.at("spaced"), 2500);
  EXPECT_EQ(m.at(R"(labels{a="x",b="y\"}\\"})"), 3);
  EXPECT_EQ(m.at("none{}"), 0);
  EXPECT_TRUE(std::isnan(m.at("not_a_number")));
  EXPECT_EQ(m.at("large"), INFINITY);
  EXPECT_EQ(m.at("small"), -INFINITY);
  EXPECT_EQ(m.at("last"), 5);
}

TEST(Prometheus, RefusesWhatIsNoMetric) {
  for (const char* text : {"1a 1",
                           "a",
                           "a ",
                           "a b",
                           "a 1 b",
                           "a 1 2 3",
                           "a{ 1",
                           "a{b} 1",
                           "a{b=} 1",
                           "a{b=\"} 1",
                           "a{b=\"c\" d=\"e\"} 1",
                           "a{b=\"\\",
                           "a{b=\"c\\\"} 1",
                           "a{,} 1",
                           "a{b=\"c\"",
                           "a 1e999",
                           "<html>",
                           "\xff\xfe",
                           "a 1x",
                           "a 0x1p3",
                           "{a=\"b\"} 1"}) {
    EXPECT_THROW(parse_prometheus(text), MetricsError) << text;
    try {
      parse_prometheus(std::string("good 1\n\n") + text);
    } catch (const MetricsError& error) {
      EXPECT_STREQ(error.what(), "line 3 is no metric");
    }
  }
}

TEST(Prometheus, ReadsOnlySoMuch) {
  EXPECT_THROW(parse_prometheus(std::string(largest_metrics_text + 1, '\n')), MetricsError);
  std::string many;
  for (std::size_t i = 0; i <= most_metrics; ++i) many += "m" + std::to_string(i) + " 1\n";
  EXPECT_THROW(parse_prometheus(many), MetricsError);
}

// Bytes changed, cut and doubled at random: a result or a MetricsError, nothing else.
TEST(Prometheus, SurvivesDamage) {
  const std::string whole = prometheus_text(full_status());
  Rng rng(12);
  std::size_t refused = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    std::string text = whole;
    for (std::uint64_t i = rng.below(4); i < 4; ++i) {
      const std::size_t at = rng.below(text.size());
      const auto byte =
          static_cast<char>(rng.below(3) == 0 ? "{}\"\\\n, =#"[rng.below(9)] : rng.below(256));
      switch (rng.below(4)) {
        case 0:
          text[at] = byte;
          break;
        case 1:
          text.insert(at, 1, byte);
          break;
        case 2:
          text.erase(at, rng.below(20));
          break;
        default:
          text.resize(at + 1);
      }
    }
    try {
      const StreamStatus status = status_of(parse_prometheus(text));
      parse_prometheus(prometheus_text(status));
    } catch (const MetricsError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 100u);
  EXPECT_LT(refused, 2000u);
}

TEST(Prometheus, CountsThatAreNoneAreZero) {
  const auto status =
      status_of(parse_prometheus("kalstream_lines_read_total -5\nkalstream_evictions_total 1e300\n"
                                 "kalstream_labels_pending NaN\n"));
  EXPECT_EQ(status.lines_read, 0u);
  EXPECT_EQ(status.evictions, 0u);
  EXPECT_EQ(status.labels_pending, 0u);
}

TEST(Prometheus, OneOfManyStreamsCanBeRead) {
  StreamStatus a;
  a.lines_read = 3;
  a.learner = "rls";
  a.expert_names = {"x"};
  a.expert_weights = {0.5};
  StreamStatus b;
  b.lines_read = 4;
  const Metrics all = parse_prometheus(prometheus_text_of_all({{"pump \"1\"", a}, {"pump", b}}));
  EXPECT_EQ(streams_in(all), (std::vector<std::string>{"pump \"1\"", "pump"}));
  EXPECT_EQ(metrics_of(all, "pump \"1\"")["kalstream_lines_read_total"], 3);
  const StreamStatus read = status_of(metrics_of(all, "pump \"1\""));
  EXPECT_EQ(read.lines_read, 3U);
  EXPECT_EQ(read.learner, "rls");
  EXPECT_EQ(read.expert_names, a.expert_names);
  EXPECT_EQ(status_of(metrics_of(all, "pump")).lines_read, 4U);
  EXPECT_FALSE(metrics_of(all, "pu").contains("kalstream_lines_read_total"));
  EXPECT_TRUE(streams_in(parse_prometheus(prometheus_text(a))).empty());
}

TEST(ResidentBytes, AreMoreThanAMegabyte) {
#ifdef __linux__
  EXPECT_GT(resident_bytes(), 1u << 20);
#endif
}

}  // namespace
}  // namespace kalstream
