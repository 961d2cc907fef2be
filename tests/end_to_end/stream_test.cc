// kalstream stream, as people run it: in a pipe, on a file, killed at any moment.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "end_to_end/process.h"
#include "end_to_end/program.h"

namespace kalstream::test {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

json sample(int t) {
  const double a = std::sin(0.7 * t);
  const double b = std::cos(1.1 * t);
  return {{"id", t}, {"a", a}, {"b", b}, {"target", 40 + 9 * std::sin(a + 2 * b)}};
}

json without_target(int t) {
  json s = sample(t);
  s.erase("target");
  return s;
}

std::string lines(int first, int last) {
  std::string text;
  for (int t = first; t < last; ++t) text += sample(t).dump() + "\n";
  return text;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) all.push_back(line);
  return all;
}

/// A folder with the program at work in it.
class StreamTest : public testing::Test {
 protected:
  std::string command(const std::string& arguments) const {
    return "'" KALSTREAM_PROGRAM "' stream " + arguments;
  }
  Process start(const std::string& arguments, bool has_narrow_output = false) const {
    return {work_.path("."), command(arguments), has_narrow_output};
  }
  /// On a file as standard input.
  Ran run(const std::string& arguments, const std::string& input) const {
    work_.file("input", input);
    Process process(work_.path("."), command(arguments + " < input"));
    process.end_input();
    const std::string out = process.rest();
    return {process.wait(), out, take_errors()};
  }
  std::string take_errors() const {
    const std::string text = read_text(work_.path(".err"));
    std::filesystem::remove(work_.path(".err"));
    return text;
  }

  Workplace work_;
};

TEST_F(StreamTest, EveryLineIsAnsweredAtOnce) {
  Process process = start("--interval 0.8 --metrics-file m.prom --json summary.json");
  for (int t = 0; t < 40; ++t) {
    ASSERT_TRUE(process.write(sample(t).dump() + "\n"));
    const auto line = process.line();
    ASSERT_TRUE(line);
    const json answer = json::parse(*line);
    EXPECT_EQ(answer["sample"], t + 1);
    EXPECT_EQ(answer["id"], t);
    EXPECT_EQ(answer["status"], "learnt");
    EXPECT_EQ(answer["target"], sample(t)["target"]);
    if (t > 20) {
      EXPECT_LT(answer["interval"][0], answer["prediction"]);
      EXPECT_GT(answer["interval"][1], answer["prediction"]);
    }
  }
  process.end_input();
  EXPECT_EQ(process.wait(), fine);
  EXPECT_THAT(take_errors(), AllOf(HasSubstr("40 samples predicted, 40 targets learnt"),
                                   HasSubstr("latency per sample: median")));
  EXPECT_THAT(read_text(work_.path("m.prom")), HasSubstr("kalstream_"));
  const json summary = json::parse(read_text(work_.path("summary.json")));
  EXPECT_EQ(summary["learner"], "auto");
  EXPECT_EQ(summary["samples"], 40);
}

// The same predictions as `run` makes of the same rows, on any number of threads.
TEST_F(StreamTest, PredictsWhatRunPredicts) {
  std::string csv = "a,b,y\n";
  for (int t = 0; t < 60; ++t) {
    const json s = sample(t);
    csv += s["a"].dump() + "," + s["b"].dump() + "," + s["target"].dump() + "\n";
  }
  work_.file("d.csv", csv);
  for (const std::string learner : {"auto --hidden 4", "alg2 --hidden 3 --lags 2", "rls"}) {
    const bool raw = !learner.starts_with("alg2");
    const Ran batch =
        work_.kalstream("run --data d.csv --csv - --learner " + learner + (raw ? "" : " --scale"));
    ASSERT_EQ(batch.exit_code, fine) << batch.err;
    const Ran live = run("--jobs 3 --answers csv --learner " + learner, csv);
    ASSERT_EQ(live.exit_code, fine) << live.err;
    const auto one = split(batch.out);
    const auto other = split(live.out);
    ASSERT_EQ(other.size(), 61U);
    EXPECT_EQ(other[0], "sample,id,status,target,prediction");
    for (std::size_t t = 2; t <= 60; ++t)
      EXPECT_EQ(std::stod(one[t].substr(one[t].rfind(',') + 1)),
                std::stod(other[t].substr(other[t].rfind(',') + 1)))
          << learner << " " << t;
  }
}

TEST_F(StreamTest, TargetsMayComeLater) {
  Process process = start("--learner rls --target target");
  const auto ask = [&](const json& line) {
    process.write(line.dump() + "\n");
    return json::parse(process.line().value_or("{}"));
  };
  EXPECT_EQ(ask(without_target(0))["status"], "predicted");
  EXPECT_EQ(ask(without_target(1))["status"], "predicted");
  const json labelled = ask({{"id", 1}, {"target", 5}});
  EXPECT_EQ(labelled["status"], "labelled");
  EXPECT_EQ(labelled["sample"], 2);
  EXPECT_EQ(ask({{"id", 0}, {"target", 4}})["status"], "labelled");
  EXPECT_EQ(ask({{"id", 0}, {"target", 4}})["status"], "late");
  EXPECT_EQ(ask({{"id", "0"}, {"a", 1}})["status"], "refused");
  process.end_input();
  EXPECT_EQ(process.wait(), fine);
  EXPECT_THAT(take_errors(), AllOf(HasSubstr("2 samples predicted, 2 targets learnt"),
                                   HasSubstr("1 targets too late"), HasSubstr("1 lines refused"),
                                   HasSubstr("\"b\"")));
}

TEST_F(StreamTest, SeriesAreForecast) {
  std::string series;
  for (int t = 0; t < 300; ++t) series += std::to_string(10 + std::sin(0.3 * t)) + "\n";
  const Ran ran = run("--horizon 3 --interval 0.9 --answers jsonl", series);
  ASSERT_EQ(ran.exit_code, fine) << ran.err;
  const auto answers = split(ran.out);
  ASSERT_EQ(answers.size(), 300U);
  const json last = json::parse(answers.back());
  ASSERT_EQ(last["forecast"].size(), 3U);
  for (int h = 0; h < 3; ++h) {
    EXPECT_NEAR(last["forecast"][h].get<double>(), 10 + std::sin(0.3 * (300 + h)), 0.05);
    EXPECT_LE(last["forecast_interval"][h][0], last["forecast_interval"][h][1]);
  }
}

TEST_F(StreamTest, StrangeValuesAreMarked) {
  std::string series;
  for (int t = 0; t < 1000; ++t)
    series += std::to_string(t == 900 ? 30 : 10 + std::sin(0.3 * t) + 0.1 * std::sin(t * t)) + "\n";
  const Ran ran =
      run("--learner ar --alarm-rate 1e-3 --answers jsonl --metrics-file m.prom", series);
  ASSERT_EQ(ran.exit_code, fine) << ran.err;
  const auto answers = split(ran.out);
  ASSERT_EQ(answers.size(), 1000U);
  int marked = 0;
  for (std::size_t t = 10; t < 900; ++t) {
    const json answer = json::parse(answers[t]);
    EXPECT_EQ(answer["anomaly"], answer["surprise"] <= 1e-3);
    marked += answer["anomaly"].get<bool>() ? 1 : 0;
  }
  EXPECT_LE(marked, 5);
  const json strange = json::parse(answers[900]);
  EXPECT_EQ(strange["anomaly"], true);
  EXPECT_LT(strange["surprise"], 1e-4);
  EXPECT_THAT(ran.err, HasSubstr(" anomalies"));
  EXPECT_THAT(read_text(work_.path("m.prom")), HasSubstr("kalstream_anomalies_total "));

  const auto plain = split(run("--learner ar --surprise --answers csv", series).out);
  EXPECT_EQ(plain[0], "sample,id,status,target,prediction,surprise");
  EXPECT_EQ(plain[1].back(), ',');  // there is none yet
  EXPECT_EQ(std::stod(plain[901].substr(plain[901].rfind(',') + 1)), strange["surprise"]);
}

TEST_F(StreamTest, AlarmsHaveAStartAndAnEnd) {
  const auto value = [](int t) {
    return (t >= 600 && t < 650 ? 25 : 10) + std::sin(0.3 * t) + 0.1 * std::sin(t * t);
  };
  std::string lines;
  for (int t = 0; t < 1000; ++t) lines += "{\"y\":" + std::to_string(value(t)) + "}\n";
  const std::string options =
      "--target y --learner ar --strangeness --answers jsonl --metrics-file m.prom";
  const Ran ran = run(options, lines);
  ASSERT_EQ(ran.exit_code, fine) << ran.err;
  std::vector<json> alarms;
  const auto answers = split(ran.out);
  for (const std::string& answer : answers)
    if (const json a = json::parse(answer); a.contains("alarm")) alarms.push_back(a);
  ASSERT_EQ(alarms.size(), 2U);
  EXPECT_EQ(alarms[0]["sample"], 601);
  EXPECT_GE(alarms[0]["strangeness"], 1);
  EXPECT_EQ(alarms[0]["alarm"]["event"], "start");
  EXPECT_EQ(alarms[0]["alarm"]["start"], 601);
  EXPECT_FALSE(alarms[0]["alarm"].contains("end"));
  EXPECT_EQ(alarms[1]["alarm"]["event"], "end");
  EXPECT_EQ(alarms[1]["alarm"]["kind"], "level");
  EXPECT_GE(alarms[1]["alarm"]["end"], 650);
  EXPECT_THAT(ran.err, HasSubstr("1 alarms"));
  EXPECT_THAT(read_text(work_.path("m.prom")), HasSubstr("kalstream_alarms_total 1"));

  // In the middle of the alarm the stream stops, and goes on from its checkpoint.
  std::size_t half = 0;
  for (int t = 0; t < 620; ++t) half = lines.find('\n', half) + 1;
  const Ran first = run(options + " --checkpoint c.kal --every 1", lines.substr(0, half));
  const Ran second = run(options + " --checkpoint c.kal --every 1 --resume", lines.substr(half));
  EXPECT_TRUE(first.out + second.out == ran.out) << second.err;
  EXPECT_THAT(read_text(work_.path("m.prom")), HasSubstr("kalstream_alarms_total 1"));
}

TEST_F(StreamTest, AlarmsCanBeJudged) {
  std::string lines;
  for (int t = 0; t < 500; ++t) lines += "{\"y\":" + std::to_string(10 + std::sin(t * t)) + "}\n";
  lines += "{\"y\":16}\n";
  for (int t = 0; t < 200; ++t) lines += "{\"y\":" + std::to_string(10 + std::sin(t * t)) + "}\n";
  const auto started = [&](const std::string& verdict) {
    const Ran ran = run("--target y --learner mean --strangeness --answers jsonl",
                        lines + verdict + "{\"y\":7}\n");
    EXPECT_EQ(ran.exit_code, fine) << ran.err;
    const auto answers = split(ran.out);
    if (!verdict.empty()) {
      EXPECT_EQ(answers[answers.size() - 2], "{\"status\":\"judged\"}");
    }
    return json::parse(answers.back()).contains("alarm");
  };
  EXPECT_TRUE(started(""));
  EXPECT_TRUE(started("{\"alarm\":\"real\"}\n"));
  const std::string none = "{\"alarm\":\"false\"}\n";
  EXPECT_FALSE(started(none + none + none + none));
}

TEST_F(StreamTest, AutoMaxSaysThatItIsAuto) {
  const Ran ran =
      run("--learner auto-max --set experts=1 --checkpoint c.kal --every 1", "1\n2\n3\n");
  ASSERT_EQ(ran.exit_code, fine) << ran.err;
  const std::string remark = "auto-max is the same as auto here";
  EXPECT_NE(ran.err.find(remark), std::string::npos) << ran.err;
  EXPECT_EQ(ran.err.find(remark), ran.err.rfind(remark)) << ran.err;  // once
}

TEST_F(StreamTest, GarbageIsAnsweredAndPassedOver) {
  const Ran clean = run("--learner rls", lines(0, 30));
  std::string spoilt;
  for (int t = 0; t < 30; ++t)
    spoilt += lines(t, t + 1) + (t % 3 == 0   ? "oops \xff\n"
                                 : t % 3 == 1 ? "{\"a\":1e999}\n"
                                              : "\n");
  const Ran ran = run("--learner rls", spoilt);
  EXPECT_EQ(ran.exit_code, fine);
  std::string answers;
  for (const std::string& line : split(ran.out))
    if (json::parse(line)["status"] != "refused") answers += line + "\n";
  EXPECT_EQ(answers, clean.out);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("standard input:2: "), HasSubstr("20 lines refused")));

  const Ran strict = run("--learner rls --strict", spoilt);
  EXPECT_EQ(strict.exit_code, bad_data);
  EXPECT_THAT(strict.err, HasSubstr("standard input:2: invalid JSON"));
  const Ran nothing = run("--learner rls", "what\nis {this\n");
  EXPECT_EQ(nothing.exit_code, bad_data);
}

TEST_F(StreamTest, ResumingIsNeverHavingStopped) {
  for (const std::string learner :
       {"auto --hidden 4", "ekf --hidden 3 --lags 2 --horizon 2", "alg2 --hidden 3"}) {
    const std::string options = "--interval 0.8 --learner " + learner;
    std::string late;  // targets come three samples late
    for (int t = 0; t < 90; ++t) {
      late += without_target(t).dump() + "\n";
      if (t >= 3) late += json{{"id", t - 3}, {"target", sample(t - 3)["target"]}}.dump() + "\n";
    }
    const auto all = split(late);
    const auto part = [&](std::size_t from, std::size_t to) {
      std::string text;
      for (std::size_t k = from; k < to; ++k) text += all[k] + "\n";
      return text;
    };
    const Ran whole = run("--target target " + options, late);
    ASSERT_EQ(whole.exit_code, fine) << whole.err;
    const std::string kept = " --target target --checkpoint s.kal --resume ";
    std::string answers;
    for (const auto& [from, to] : {std::pair(0, 50), std::pair(50, 51), std::pair(51, 120),
                                   std::pair(120, static_cast<int>(all.size()))}) {
      const Ran ran = run(kept + options, part(from, to));
      ASSERT_EQ(ran.exit_code, fine) << ran.err;
      answers += ran.out;
    }
    EXPECT_EQ(answers, whole.out) << learner;
    EXPECT_THAT(work_.kalstream("inspect s.kal").out,
                AllOf(HasSubstr("90 samples, 3 waiting for a target"), HasSubstr("NSE"),
                      HasSubstr("intervals held")));
    std::filesystem::remove(work_.path("s.kal"));
  }
}

/// Kills per test; more with KALSTREAM_KILLS=200.
int kills() {
  const char* wanted = std::getenv("KALSTREAM_KILLS");
  return wanted == nullptr ? 12 : std::atoi(wanted);
}

/// Answers by line of the stream's file, the last of each.
std::map<std::string, std::string> by_sample(const std::string& answers) {
  std::map<std::string, std::string> last;
  for (const std::string& line : split(answers)) {
    const json answer = json::parse(line, nullptr, false);
    if (answer.is_discarded()) continue;  // cut off by the kill
    last[answer.value("key", "") + "/" + answer["sample"].dump()] = line;
  }
  return last;
}

// Killed at random moments under load and started again with the same command, until all is done:
// the answers are those of a stream that was never killed.
TEST_F(StreamTest, SurvivesBeingKilled) {
  struct Case {
    const char* options;
    bool pipe;
    int rows;
  };
  for (const Case& c :
       {Case{"--learner rls --interval 0.9 --checkpoint s.kal", false, 12'000},
        Case{"--learner alg1 --hidden 2 --checkpoint s.kal --replay", true, 12'000},
        Case{"--learner rls --checkpoint folder --key k --max-models 5", false, 1000}}) {
    std::string text;
    const int rows = c.rows * std::max(1, kills() / 12);  // so that most find it at work
    for (int t = 0; t < rows; ++t) {
      json s = sample(t);
      s["k"] = "key " + std::to_string((5 * t + t / 3) % 7);
      text += s.dump() + "\n";
    }
    work_.file("all", text);
    const bool keyed = std::string_view(c.options).find("--key") != std::string_view::npos;
    const std::string options = std::string(c.options) + " --every 100 --resume --quiet";
    const std::string learner = options.substr(0, options.find("--checkpoint"));
    const Ran whole = run(learner + (keyed ? "--key k" : "") + " --quiet", text);
    ASSERT_EQ(whole.exit_code, fine) << whole.err;

    // From a file, or fed through a pipe from the beginning each time.
    const auto feed = [&](Process& process) {
      if (!c.pipe) process.end_input();
      return std::thread([&] {
        if (!c.pipe) return;
        process.write(text);
        process.end_input();
      });
    };
    // One in four is killed at any moment of its start, the others while they answer: since nobody
    // reads more of it, none can be done before.
    const std::size_t most = whole.out.size() / static_cast<std::size_t>(2 * kills());
    std::mt19937 random(3);
    std::string answers;
    int killed = 0;
    for (int k = 0; k < kills(); ++k) {
      Process process = start(options + (c.pipe ? "" : " < all"), /*has_narrow_output=*/true);
      std::thread feeder = feed(process);
      if (k % 4 == 0)
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 20'000));
      else
        process.read_bytes(random() % most);
      process.kill(SIGKILL);
      answers += process.rest();
      killed += process.wait() == -SIGKILL ? 1 : 0;
      feeder.join();
    }
    EXPECT_GT(killed, kills() / 2);
    Process process = start(options + (c.pipe ? "" : " < all"));
    std::thread feeder = feed(process);
    const std::string out = process.rest();
    feeder.join();
    const Ran last{process.wait(), out, take_errors()};
    ASSERT_EQ(last.exit_code, fine) << last.err;
    answers += last.out;
    EXPECT_EQ(by_sample(answers), by_sample(whole.out)) << c.options;
    EXPECT_THAT(work_.kalstream(keyed ? "inspect folder" : "inspect s.kal").out,
                HasSubstr(std::to_string(rows) + " targets learnt"));
    std::filesystem::remove_all(work_.path("s.kal"));
    std::filesystem::remove_all(work_.path("folder"));
  }
}

// Threads share the models: what goes out, and what is kept, is the same to the byte.
TEST_F(StreamTest, JobsDoNotChangeAnswers) {
  std::string text;
  for (int t = 0; t < 3000; ++t) {
    json s = t % 7 == 3 ? without_target(t) : sample(t);
    s["k"] = "key " + std::to_string((5 * t + t / 3) % 41);
    text += t % 50 == 9 ? "no json\n" : s.dump() + "\n";
    if (t % 14 == 10)
      text += json{{"k", "key " + std::to_string((5 * (t - 7) + (t - 7) / 3) % 41)},
                   {"id", t - 7},
                   {"target", 40}}
                  .dump() +
              "\n";
  }
  const std::string options =
      "--learner alg1 --hidden 2 --key k --max-models 30 --interval 0.9 --every 500 ";
  const Ran one = run(options + "--jobs 1 --checkpoint one", text);
  const Ran two = run(options + "--jobs 2 --checkpoint two", text);
  const Ran by_itself = run(options + "--checkpoint any", text);
  ASSERT_EQ(one.exit_code, fine) << one.err;
  EXPECT_EQ(two.out, one.out);
  EXPECT_EQ(by_itself.out, one.out);
  const auto warnings = [](const std::string& err) {
    std::string kept;
    for (const std::string& line : split(err))
      if (line.starts_with("kalstream:")) kept += line + '\n';
    return kept;
  };
  EXPECT_EQ(warnings(two.err), warnings(one.err));
  const auto model = [&](const std::string& folder, const std::string& key) {
    const std::string told = work_.kalstream("inspect " + folder + " --key 'key " + key + "'").out;
    return told.substr(told.find(':'));  // behind the folder's name
  };
  for (const std::string key : {"0", "17", "40"}) EXPECT_EQ(model("two", key), model("one", key));
}

// Where memory is short models are packed, and beyond that go to the folder: no answer shows it.
TEST_F(StreamTest, PackedModelsAnswerTheSame) {
#ifdef KALSTREAM_SANITIZED
  GTEST_SKIP() << "what a sanitizer needs itself counts as the stream's memory";
#endif
  std::string text;
  for (int t = 0; t < 400; ++t) {
    json s = t % 7 == 3 ? without_target(t) : sample(t);
    s["k"] = "key " + std::to_string(t * t % 29 + t % 3);
    text += s.dump() + "\n";
  }
  const std::string options =
      "--learner adam --hidden 24 --window 100 --key k --interval 0.9 --json s.json ";
  const auto told = [&] { return json::parse(read_text(work_.path("s.json"))); };
  const Ran free = run(options + "--memory 1GiB", text);
  ASSERT_EQ(free.exit_code, fine) << free.err;
  EXPECT_EQ(told()["models_packed"], 0);
  const auto models = told()["models"];
  const auto memory = told()["memory_bytes"].get<std::uint64_t>() / 4 * 3 >> 10;
  for (const std::string more : {"--jobs 1", "--jobs 2", "--checkpoint folder --max-models 20"}) {
    const Ran ran = run(options + more + " --memory " + std::to_string(memory) + "KiB", text);
    ASSERT_EQ(ran.exit_code, fine) << ran.err;
    EXPECT_EQ(ran.out, free.out) << more;
    EXPECT_GT(told()["models_packed"], 5) << more;
    EXPECT_EQ(told()["models"], models) << more;
  }
  EXPECT_GT(told()["models_on_disk"], 5);
}

TEST_F(StreamTest, SignalsAreObeyed) {
  Process process = start("--learner rls --checkpoint s.kal --every 1h");
  process.write(lines(0, 5));
  for (int t = 0; t < 5; ++t) ASSERT_TRUE(process.line());
  EXPECT_FALSE(std::filesystem::exists(work_.path("s.kal")));
  process.kill(SIGHUP);
  process.write(lines(5, 7));
  for (int t = 0; t < 2; ++t) ASSERT_TRUE(process.line());
  process.kill(SIGTERM);
  EXPECT_EQ(process.wait(), fine);
  EXPECT_THAT(work_.kalstream("inspect s.kal").out, HasSubstr("rls after 7 samples"));
  EXPECT_THAT(work_.kalstream("inspect s.kal.previous").out,
              ::testing::ContainsRegex("rls after [567] samples"));
}

// Nobody reads the answers, and the pipe is full: it can still be stopped.
TEST_F(StreamTest, AReaderThatDoesNotReadCannotHoldIt) {
  Process process = start("--learner rls --checkpoint s.kal", /*has_narrow_output=*/true);
  // More than the pipe to it holds: it has read a good part, and cannot get rid of the answers.
  ASSERT_TRUE(process.write(lines(0, 2000).substr(0, 100'000)));
  process.kill(SIGTERM);
  EXPECT_EQ(process.wait(), fine);
  EXPECT_TRUE(std::filesystem::exists(work_.path("s.kal")));
}

TEST_F(StreamTest, AReaderThatGoesAwayEndsIt) {
  Process process = start("--learner rls --checkpoint s.kal");
  process.write(lines(0, 3));
  for (int t = 0; t < 3; ++t) ASSERT_TRUE(process.line());
  process.end_output();
  const std::string more = lines(3, 1000);
  while (process.write(more)) {
  }
  EXPECT_EQ(process.wait(), failure);
  EXPECT_THAT(take_errors(), HasSubstr("answers cannot be written"));
  // What was taken was learnt, whole.
  EXPECT_THAT(work_.kalstream("inspect s.kal").out, HasSubstr(" 0 waiting for a target"));
}

TEST_F(StreamTest, CheckpointsThatCannotBeWritten) {
  // Files may have 1 KiB here, and a checkpoint has more: as if the disk were full.
  work_.file("input", lines(0, 50));
  Process process(work_.path("."), "sh -c \"ulimit -f 2; exec " + command("--learner rls") +
                                       " --checkpoint s.kal --every 10 < input\"");
  process.end_input();
  EXPECT_EQ(split(process.rest()).size(), 50U);  // predictions go on
  EXPECT_EQ(process.wait(), failure);            // but the last checkpoint is missing
  EXPECT_THAT(take_errors(), AllOf(HasSubstr("no checkpoint: s.kal: cannot write the file"),
                                   HasSubstr("50 samples predicted")));
  EXPECT_FALSE(std::filesystem::exists(work_.path("s.kal")));

  const Ran nowhere = run("--learner rls --checkpoint no/such/folder/s.kal", lines(0, 5));
  EXPECT_EQ(nowhere.exit_code, failure);
  EXPECT_THAT(nowhere.err, HasSubstr("no/such/folder"));
  EXPECT_EQ(nowhere.out, "");
}

TEST_F(StreamTest, InPlaceOfADamagedCheckpointThePreviousOneServes) {
  ASSERT_EQ(run("--learner rls --checkpoint s.kal", lines(0, 20)).exit_code, fine);
  ASSERT_EQ(run("--learner rls --checkpoint s.kal --resume", lines(20, 40)).exit_code, fine);
  const std::string sound = read_text(work_.path("s.kal"));
  const std::string previous = read_text(work_.path("s.kal.previous"));
  const auto expect_recovered = [&](const std::string& bytes, const std::string& why) {
    work_.file("s.kal", bytes);
    work_.file("s.kal.previous", previous);
    const Ran ran = run("--learner rls --checkpoint s.kal --resume", lines(20, 40));
    EXPECT_EQ(ran.exit_code, fine);
    EXPECT_THAT(ran.err, AllOf(HasSubstr("s.kal: the checkpoint is " + why),
                               HasSubstr("the one before it, s.kal.previous"),
                               HasSubstr("going on after 20 samples")));
    EXPECT_EQ(read_text(work_.path("s.kal")), sound);
  };
  expect_recovered(sound.substr(0, sound.size() / 2), "cut off");
  std::string flipped = sound;
  flipped[flipped.size() / 2] ^= 1;
  expect_recovered(flipped, "damaged");
  // Nothing sound: refused, and left as it is.
  work_.file("s.kal", flipped);
  work_.file("s.kal.previous", flipped);
  EXPECT_EQ(run("--learner rls --checkpoint s.kal --resume", lines(20, 40)).exit_code, bad_data);
  EXPECT_EQ(read_text(work_.path("s.kal")), flipped);
}

/// One of two inputs dropped out now and then, at times both.
json with_gaps(json s, int t) {
  if (t % 4 == 1) s["b"] = nullptr;
  if (t % 5 == 1) s.erase("a");
  return s;
}

// Checkpoints of every format that was released, kept in golden/checkpoints (the number in a name
// is the format), can be resumed by every later version. To add one, name it here and run this test
// with KALSTREAM_WRITE_GOLDEN=1; a file that is there is never written again.
TEST_F(StreamTest, CheckpointsOfEveryReleasedFormatLoad) {
  const std::filesystem::path folder = KALSTREAM_GOLDEN_DIR "/checkpoints";
  const auto late = [](int first, int last, bool gaps) {  // targets come two samples late
    std::string text;
    for (int t = first; t < last; ++t) {
      const json s = without_target(t);
      text += (gaps ? with_gaps(s, t) : s).dump() + "\n";
      if (t >= 2) text += json{{"id", t - 2}, {"target", sample(t - 2)["target"]}}.dump() + "\n";
    }
    return text;
  };
  for (const auto& [name, learner] :
       {std::pair("v6_auto", "auto --experts 2 --lags 2 --interval 0.8 --horizon 2 --surprise"),
        std::pair("v6_alg1", "alg1 --hidden 2 --window 3 --interval 0.9"),
        std::pair("v6_rls", "rls --lags 2 --interval 0.9 --missing hold")}) {
    const bool gaps = std::string_view(learner).ends_with("hold");
    // Networks of auto are in single precision, where vector units differ sooner.
    const double tolerance = std::string_view(learner).starts_with("auto") ? 1e-4 : 1e-7;
    const std::string options =
        std::string("--target target --quiet --checkpoint s.kal --learner ") + learner;
    const std::filesystem::path golden = folder / (std::string(name) + ".kal");
    const std::filesystem::path answers = folder / (std::string(name) + ".answers");
    if (std::getenv("KALSTREAM_WRITE_GOLDEN") != nullptr && !std::filesystem::exists(golden)) {
      ASSERT_EQ(run(options, late(0, 60, gaps)).exit_code, fine);
      std::filesystem::copy_file(work_.path("s.kal"), golden);
      std::ofstream(answers) << run(options + " --resume", late(60, 70, gaps)).out;
    }
    std::filesystem::copy_file(golden, work_.path("s.kal"),
                               std::filesystem::copy_options::overwrite_existing);
    const Ran ran = run(options + " --resume", late(60, 70, gaps));
    ASSERT_EQ(ran.exit_code, fine) << ran.err;
    const auto expected = split(read_text(answers));
    const auto got = split(ran.out);
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t k = 0; k < got.size(); ++k) {
      const json one = json::parse(got[k]).flatten();
      const json other = json::parse(expected[k]).flatten();
      ASSERT_EQ(one.size(), other.size());
      for (const auto& [field, value] : other.items())
        if (value.is_number())
          EXPECT_NEAR(one[field].get<double>(), value.get<double>(), tolerance) << name << field;
        else
          EXPECT_EQ(one[field], value) << name << field;
    }
    std::filesystem::remove(work_.path("s.kal"));
  }
}

// Such a file says what it is and what to do; it is left as it is.
TEST_F(StreamTest, ACheckpointFromBeforeTheFirstReleaseIsRefused) {
  const std::string before = read_text(KALSTREAM_GOLDEN_DIR "/checkpoints/before_0.3.kal");
  work_.file("s.kal", before);
  const Ran ran = run("--learner rls --checkpoint s.kal --resume", lines(0, 10));
  EXPECT_EQ(ran.exit_code, bad_data);
  EXPECT_THAT(ran.err,
              HasSubstr("the checkpoint was written by a kalstream before version 0.3 (its "
                        "format is 3) and cannot be read; learn the stream anew"));
  EXPECT_EQ(read_text(work_.path("s.kal")), before);
}

// What drops out keeps its last value, for each key its own, and all is as if that had been
// written.
TEST_F(StreamTest, MissingInputsCanBeHeld) {
  std::string gaps, filled;
  std::map<std::string, json> last;
  std::size_t held = 0;
  for (int t = 0; t < 80; ++t) {
    json s = t % 2 == 0 ? sample(t) : without_target(t);
    s["k"] = std::string("key ") + (t % 3 == 0 ? "a" : "b");
    const json gap = t < 4 ? s : with_gaps(s, t);
    gaps += gap.dump() + "\n";
    for (const char* input : {"a", "b"}) {
      const bool there = gap.contains(input) && !gap[input].is_null();
      if (there) last[s["k"]][input] = s[input];
      held += there ? 0 : 1;
      s[input] = last[s["k"]][input];
    }
    filled += s.dump() + "\n";
    if (t % 2 == 0) continue;
    const json label{{"id", t}, {"k", s["k"]}, {"target", sample(t)["target"]}};
    for (std::string* text : {&gaps, &filled}) *text += label.dump() + "\n";
  }
  const std::string options = "--learner ekf --hidden 2 --lags 2 --key k --interval 0.8 ";
  const Ran expected = run(options, filled);
  const Ran whole = run(options + "--missing hold --json s.json --metrics-file m.prom", gaps);
  ASSERT_EQ(whole.exit_code, fine) << whole.err;
  std::string answers;
  std::size_t told = 0;
  for (const std::string& line : split(whole.out)) {
    auto answer = nlohmann::ordered_json::parse(line);
    told += answer.value("held", 0);
    answer.erase("held");
    answers += answer.dump() + "\n";
  }
  EXPECT_EQ(answers, expected.out);
  EXPECT_EQ(told, held);
  const std::string count = std::to_string(held);
  EXPECT_THAT(whole.err, HasSubstr(count + " inputs held"));
  EXPECT_EQ(json::parse(read_text(work_.path("s.json")))["held"], held);
  EXPECT_THAT(read_text(work_.path("m.prom")),
              HasSubstr("kalstream_inputs_held_total " + count + "\n"));

  // Stopped at any moment; one model at a time in memory.
  const auto all = split(gaps);
  std::string parts;
  for (std::size_t from = 0; from < all.size(); from += 25) {
    std::string part;
    for (std::size_t k = from; k < std::min(from + 25, all.size()); ++k) part += all[k] + "\n";
    const Ran ran =
        run(options + "--missing hold --checkpoint folder --resume --max-models 1 --answers jsonl",
            part);
    ASSERT_EQ(ran.exit_code, fine) << ran.err;
    parts += ran.out;
  }
  EXPECT_EQ(parts, whole.out);
  EXPECT_THAT(work_.kalstream("inspect folder").out, HasSubstr(count + " inputs held"));
}

// By auto, whichever inputs are missing and whenever; others say what to do.
TEST_F(StreamTest, LearnsFromLinesWithGaps) {
  const std::string csv = "a,b,y\n,1,3\n2,,3\n,,4\n,2,\n";
  const Ran ran = run("--learner auto --experts 2 --lags 2", csv);
  EXPECT_EQ(ran.exit_code, fine);
  EXPECT_THAT(ran.err,
              AllOf(HasSubstr("4 samples predicted, 3 targets learnt"), Not(HasSubstr("refused"))));
  EXPECT_THAT(run("--learner auto --missing refuse", csv).err, HasSubstr("4 lines refused"));
  EXPECT_THAT(run("--learner rls", csv).err,
              AllOf(HasSubstr("auto learns without them"), HasSubstr("4 lines refused")));
  const auto gaps = split(run("--learner auto --experts 2 --lags 2 --answers jsonl", csv).out);
  EXPECT_EQ(json::parse(gaps.at(2))["held"], 2);
}

TEST_F(StreamTest, MissingInputsAreRefusedUntilThereIsOneToHold) {
  const std::string csv = "a,b,y\n,1,3\n2,,3\n,,4\n,,\n";
  const Ran ran = run("--learner rls --missing hold", csv);
  EXPECT_EQ(ran.exit_code, fine);
  EXPECT_EQ(ran.out,
            "sample,id,status,held,target,prediction\n"
            "1,,learnt,1,3,0\n2,,learnt,2,4,3\n3,,predicted,2,,3.5\n");
  EXPECT_THAT(ran.err, AllOf(HasSubstr("standard input:2: no number has come yet for \"a\""),
                             HasSubstr("5 inputs held, 1 lines refused")));
  EXPECT_THAT(run("--learner rls", csv).err,
              AllOf(HasSubstr("--missing hold"), HasSubstr("4 lines refused")));
  EXPECT_EQ(run("--learner rls --missing drop", csv).exit_code, usage);
}

TEST_F(StreamTest, FollowsAFile) {
  work_.file("log.jsonl", lines(0, 10));
  const auto append = [&](const std::string& name, const std::string& text) {
    std::ofstream(work_.path(name), std::ios::app) << text;
  };
  const std::string options = "--follow log.jsonl --learner rls --checkpoint s.kal --resume";
  const auto numbers = [](Process& process, int n) {
    std::vector<int> samples;
    for (int k = 0; k < n; ++k)
      samples.push_back(json::parse(process.line().value_or("{\"sample\":0}"))["sample"]);
    return samples;
  };
  {
    Process process = start(options);
    EXPECT_EQ(numbers(process, 10).back(), 10);
    append("log.jsonl", lines(10, 12));
    EXPECT_EQ(numbers(process, 2).back(), 12);
    process.kill(SIGTERM);
    EXPECT_EQ(process.wait(), fine);
  }
  append("log.jsonl", lines(12, 15));
  {
    Process process = start(options);
    EXPECT_EQ(numbers(process, 3), (std::vector{13, 14, 15}));
    std::filesystem::rename(work_.path("log.jsonl"), work_.path("log.1"));
    append("log.jsonl", lines(100, 101));
    EXPECT_EQ(numbers(process, 1).back(), 16);
    process.kill(SIGTERM);
    EXPECT_EQ(process.wait(), fine);
  }
  EXPECT_THAT(take_errors(), HasSubstr("going on after 12 samples, in log.jsonl at line 13"));
}

TEST_F(StreamTest, ManyModelsByKey) {
  std::string mixed;
  for (int t = 0; t < 60; ++t) {
    json s = sample(t);
    s["dev"] = t % 2 == 0 ? "even one" : "odd/one";
    mixed += s.dump() + "\n";
  }
  const Ran ran = run("--key dev --learner rls --checkpoint models", mixed);
  ASSERT_EQ(ran.exit_code, fine) << ran.err;
  std::string alone;
  for (int t = 0; t < 60; t += 2) alone += sample(t).dump() + "\n";
  const auto expected = split(run("--learner rls", alone).out);
  std::vector<double> predictions;
  for (const std::string& line : split(ran.out)) {
    const json answer = json::parse(line);
    if (answer["key"] == "even one") predictions.push_back(answer["prediction"]);
  }
  ASSERT_EQ(predictions.size(), expected.size());
  for (std::size_t k = 0; k < expected.size(); ++k)
    EXPECT_EQ(predictions[k], json::parse(expected[k])["prediction"]);
  EXPECT_THAT(work_.kalstream("inspect models --key odd/one").out,
              AllOf(HasSubstr("rls after 30 samples"), HasSubstr("the model of key odd/one")));
  EXPECT_THAT(run("--learner rls --key dev --max-models 1", mixed).err, HasSubstr("--max-models"));
}

TEST_F(StreamTest, StartsWithALearnerThatRunHasSaved) {
  std::string csv = "a,b,target\n";
  for (int t = 0; t < 200; ++t)
    csv += sample(t)["a"].dump() + "," + sample(t)["b"].dump() + "," + sample(t)["target"].dump() +
           "\n";
  work_.file("history.csv", csv);
  ASSERT_EQ(work_.kalstream("run --data history.csv --learner rls --save l.kal").exit_code, fine);
  const Ran ran = run("--start l.kal --predict-only --checkpoint s.kal", lines(200, 220));
  ASSERT_EQ(ran.exit_code, fine) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("20 samples predicted, 0 targets learnt, 20 missing"));
  EXPECT_NEAR(json::parse(split(ran.out)[0])["prediction"].get<double>(), 40, 15);
  // And the other way: `run` goes on with what a stream has learnt.
  EXPECT_EQ(work_.kalstream("run --data history.csv --resume s.kal --quiet").exit_code, fine);
}

// A last line without an end is a line. Whether it was cut shows when the stream goes on: what it
// has more then is told, and does not become a line of its own. So it is of a file, and of a pipe
// that begins anew.
TEST_F(StreamTest, ALastLineWithoutAnEndIsTakenOnce) {
  const std::string cut = "a,target\n1,10\n2,20\n3,51";
  const auto run_pipe = [this](const std::string& arguments, const std::string& input) -> Ran {
    Process process(work_.path("."), command(arguments + " --resume --replay"));
    process.write(input);
    process.end_input();
    const std::string out = process.rest();
    return {process.wait(), out, take_errors()};
  };
  for (const bool pipe : {false, true})
    for (const auto& [later, answers, told] :
         std::vector<std::tuple<std::string, std::string, bool>>{
             {"", "", false},
             {"\n", "", false},
             {"\r\n4,5\n", "4,,learnt,5,", false},
             {"7.5\n4,5\n", "4,,learnt,5,", true},
             {"7.5", "", true}}) {
      SCOPED_TRACE((pipe ? "pipe, " : "file, ") + later);
      const auto take = [&](const std::string& arguments, const std::string& input) {
        return pipe ? run_pipe(arguments, input) : run(arguments, input);
      };
      const std::string state = "s.kal";
      for (const char* end : {"", ".previous"}) std::filesystem::remove(work_.path(state + end));
      const std::string arguments = "--learner rls --checkpoint " + state;
      const Ran first = take(arguments, cut);
      EXPECT_NE(first.out.find("3,,learnt,51,"), std::string::npos) << first.out << first.err;
      const Ran second = take(arguments + (pipe ? "" : " --resume"), cut + later);
      EXPECT_THAT(second.out, StartsWith(answers));
      EXPECT_EQ(second.out.empty(), answers.empty()) << second.out;
      EXPECT_EQ(second.err.find(": the line had no end yet") != std::string::npos, told)
          << second.err;
    }
}

TEST_F(StreamTest, CsvHasOneHeaderHoweverOftenItGoesOn) {
  std::string rows;
  for (int t = 0; t < 6; ++t)
    rows += sample(t)["a"].dump() + "," + sample(t)["target"].dump() + "\n";
  const std::string first =
      run("--learner rls --checkpoint s.kal", "what is this?\na,y\n" + rows).out;
  EXPECT_THAT(first, StartsWith("sample,id,status,target,prediction\n1,,learnt,"));
  const std::string second = run("--learner rls --checkpoint s.kal --resume", rows).out;
  EXPECT_THAT(second, StartsWith("7,,learnt,"));
}

TEST_F(StreamTest, ASecondProcessIsRefused) {
  for (const std::string where : {"--checkpoint s.kal", "--checkpoint folder --key id"}) {
    Process process = start("--learner rls " + where);
    process.write(lines(0, 1));
    ASSERT_TRUE(process.line());
    const Ran second = run("--learner rls --resume " + where, lines(0, 5));
    EXPECT_EQ(second.exit_code, failure);
    EXPECT_THAT(second.err, HasSubstr("in use by process "));
    EXPECT_EQ(second.out, "");
  }
}

TEST_F(StreamTest, MetricsThatCannotBeWrittenAreNoCheckpoints) {
  std::filesystem::create_directory(work_.path("m"));
  Process process = start("--learner rls --metrics-file m/m.prom --checkpoint s.kal --json s.json");
  process.write(lines(0, 1));
  ASSERT_TRUE(process.line());
  std::filesystem::remove_all(work_.path("m"));
  process.end_input();
  EXPECT_EQ(process.wait(), fine);
  EXPECT_THAT(take_errors(), HasSubstr("m/m.prom"));
  EXPECT_EQ(json::parse(read_text(work_.path("s.json")))["failed_checkpoints"], 0);
}

// The same file through run, then on as a stream: fields by name, whatever their order.
TEST_F(StreamTest, WhatRunHasLearntIsFoundByName) {
  std::string csv = "x,target,z\n";
  for (int t = 0; t < 100; ++t)
    csv += sample(t)["a"].dump() + "," + sample(t)["target"].dump() + "," + sample(t)["b"].dump() +
           "\n";
  work_.file("d.csv", csv);
  ASSERT_EQ(work_.kalstream("run d.csv --learner rls --save l.kal").exit_code, fine);
  const Ran same = run("--start l.kal --json same.json", csv);
  ASSERT_EQ(same.exit_code, fine) << same.err;
  EXPECT_LT(json::parse(read_text(work_.path("same.json")))["nse"], 0.5);
  const Ran other = run("--start l.kal", "x,goal,z\n1,2,3\n");
  EXPECT_EQ(other.exit_code, bad_data);
  EXPECT_THAT(other.err,
              AllOf(HasSubstr("has \"target\", which this stream lacks"), HasSubstr("\"goal\"")));
}

TEST_F(StreamTest, GoesOnWhereNobodyHearsItsWarnings) {
  work_.file("input", lines(0, 3) + "what?\n" + lines(3, 6));
  for (const std::string nowhere : {"2>/dev/full", "2>&-"}) {
    Process process(work_.path("."),
                    command("--learner rls --checkpoint s.kal < input " + nowhere));
    EXPECT_EQ(split(process.rest()).size(), 7U) << nowhere;
    EXPECT_EQ(process.wait(), fine) << nowhere;
    EXPECT_THAT(work_.kalstream("inspect s.kal").out, HasSubstr("rls after 6 samples"));
    std::filesystem::remove(work_.path("s.kal"));
  }
}

// What processes that were killed have left is removed, and a link in the place of a temporary file
// is not followed.
TEST_F(StreamTest, LeavesNothingBehindAndFollowsNoLinks) {
  work_.file("s.kal.tmp1", "left");
  work_.file("s.kal.tmp77.previous", "left");
  work_.file("treasure", "mine");
  std::filesystem::create_symlink(work_.path("treasure"), work_.path("s.kal.tmp99"));
  ASSERT_EQ(run("--learner rls --checkpoint s.kal", lines(0, 5)).exit_code, fine);
  EXPECT_EQ(read_text(work_.path("treasure")), "mine");
  for (const auto& entry : std::filesystem::directory_iterator(work_.path(".")))
    EXPECT_THAT(entry.path().filename().string(), Not(HasSubstr(".tmp")));
  EXPECT_FALSE(std::filesystem::exists(work_.path("s.kal.lock")));
}

TEST_F(StreamTest, ErrorsSayWhatToDo) {
  const auto expect = [&](const std::string& options, int code, const std::string& text) {
    const Ran ran = run(options, lines(0, 5));
    EXPECT_EQ(ran.exit_code, code) << options;
    EXPECT_THAT(ran.err + ran.out, HasSubstr(text)) << options;
  };
  expect("--learner nonsense", usage, "nonsense");
  expect("--learner rls --resume", usage, "--checkpoint");
  expect("--learner rls --interval 1.5", usage, "--interval");
  expect("--learner rls --alarm-rate 2", usage, "--alarm-rate");
  expect("--learner rls --checkpoint s.kal --every 5x", usage, "30s");
  expect("--learner rls --experts 3", usage, "--experts");
  expect("--learner rls --target nosuch", fine, "\"nosuch\" may come later");
  expect("--learner ekf --set measurement_noise=3..1", usage, "A..B@SAMPLES");
  expect("--learner alg2 --key a --set threads=2", usage, "threads of its own");
  expect("--learner rls --start none.kal", usage, "--learner");
  expect("--start none.kal", bad_data, "none.kal: cannot open");
  expect("--follow none.jsonl", failure, "none.jsonl");
  expect("--learner ekf --inputs none", usage, "lags");
  expect("--learner rls --checkpoint s.kal", fine, "5 samples");
  expect("--learner rls --checkpoint s.kal", usage, "go on from it with --resume");
  expect("--learner ar --checkpoint s.kal --resume", bad_data, "use the same options");
  expect("--learner rls --key a --checkpoint s.kal --resume", failure, "s.kal");
}

}  // namespace
}  // namespace kalstream::test
