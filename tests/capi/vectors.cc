// Writes what the C++ library computes, bit by bit, for every language to be compared with: a file
// of calls and their results. Numbers are their 64 bits in hexadecimal, or "nan".
//
//   learner NAME INPUTS OUTPUTS KEY=VALUE …      make one; the lines after it are of it
//   predict X… = D_HAT…
//   interval X… = LOW… HIGH…
//   surprise X… D… = P…
//   learn X… D… = TRACE STATUS EXPERTS APPLIED REJECTED
//   advance X… = TRACE STATUS EXPERTS APPLIED REJECTED
//   forecast HORIZON FUTURE… = D_HAT…
//   bounds HORIZON FUTURE… = D_HAT… LOW… HIGH…
//   weights = W…
//   snapshot = SIZE CHECKSUM                     FNV-1a of its bytes
//   reload                                       save, load, and go on with what was loaded
//   stream ANSWERS SETTINGS                      0 as records, 1 JSON, 2 CSV
//   line TEXT
//   answer TEXT                                  a line's end inside as \v; "none": there is none
//   state KEY = SIZE CHECKSUM
//   forget KEY
//   resume                                       checkpoint, and go on in a new stream
#include <bit>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/rng.h"
#include "engine/engine.h"
#include "kalstream/forecaster.h"
#include "kalstream/settings.h"
#include "kalstream/snapshot.h"
#include "kalstream/surprise.h"
#include "lines/record_reader.h"
#include "schema/dataset.h"
#include "session/answers.h"
#include "settings/stream_settings.h"

using namespace kalstream;

namespace {

using Numbers = std::vector<double>;

void put(double v) {
  if (std::isnan(v))
    std::printf(" nan");
  else
    std::printf(" %016" PRIx64, std::bit_cast<std::uint64_t>(v));
}

void put(std::span<const double> values) {
  for (const double v : values) put(v);
}

void put(std::span<const Interval> bounds) {
  for (const Interval& b : bounds) put(b.low);
  for (const Interval& b : bounds) put(b.high);
}

void put_checksum(std::span<const std::byte> bytes) {
  std::uint64_t sum = 0xcbf29ce484222325;
  for (const std::byte b : bytes) sum = (sum ^ static_cast<std::uint64_t>(b)) * 0x100000001b3;
  std::printf(" = %zu %016" PRIx64 "\n", bytes.size(), sum);
}

struct Case {
  std::string name;
  std::size_t inputs;
  std::size_t outputs;
  std::map<std::string, std::string> settings;
  std::size_t samples = 60;
};

class LearnerCase {
 public:
  explicit LearnerCase(const Case& c) : c_(c) {
    LearnerOptions options{.network = {}, .rule = rule_named(c.name)};
    options.network.inputs = c.inputs;
    options.network.outputs = c.outputs;
    bool scaled = true;
    std::printf("learner %s %zu %zu", c.name.c_str(), c.inputs, c.outputs);
    for (const auto& [key, value] : c.settings) {
      std::printf(" %s=%s", key.c_str(), value.c_str());
      if (key == "seed")
        options.network.seed = std::stoull(value);
      else if (key == "scaled")
        scaled = value == "true";
      else if (key == "interval")
        coverage_ = std::stod(value);
      else if (key == "horizon")
        horizon_ = std::stoull(value);
      else if (key != "surprise")
        set_option(options, key, value);
    }
    std::printf("\n");
    learner_ = make_from({options, scaled && !takes_raw_data(options.rule)});
    if (coverage_ > 0) intervals_.emplace(c.outputs, coverage_);
    if (c.settings.contains("surprise")) surprise_.emplace(c.outputs);
    if (horizon_ > 0) forecaster_.emplace(*learner_, horizon_, coverage_);
  }

  void run() {
    Rng rng(11);
    Numbers memory(c_.outputs, 0.0);
    for (std::size_t t = 0; t < c_.samples; ++t) {
      Numbers x(c_.inputs);
      for (double& v : x) v = rng.normal();
      Numbers d(c_.outputs);
      for (std::size_t k = 0; k < d.size(); ++k) {
        memory[k] = 0.6 * memory[k] + (x.empty() ? rng.normal() : x[k % x.size()]);
        d[k] = 20 + 3 * memory[k] + std::sin(0.7 * static_cast<double>(t));
      }
      step(x, d, /*missing=*/t % 13 == 12);
      if (t % 20 == 19) look_ahead(rng);
      if (t == c_.samples / 2) std::printf("reload\n");
    }
    std::printf("weights =");
    put(learner_->state().weights);
    std::printf("\nsnapshot");
    put_checksum(save(*learner_));
  }

 private:
  void put_report(const StepReport& r) {
    std::printf(" =");
    put(r.covariance_trace);
    std::printf(" %d %zu %zu %zu\n", static_cast<int>(r.status), r.experts, r.applied, r.rejected);
  }

  void begin(const char* call, const Numbers& x, const Numbers& d = {}) {
    std::printf("%s", call);
    put(x);
    put(d);
  }

  void step(const Numbers& x, const Numbers& d, bool missing) {
    begin("predict", x);
    const auto said = learner_->predict(x);
    const Numbers d_hat(said.begin(), said.end());
    std::printf(" =");
    put(d_hat);
    std::printf("\n");
    std::vector<Interval> bounds;
    std::vector<Surprise::Expected> expected;
    if (intervals_) {
      const auto around = intervals_->around(d_hat, learner_->spread());
      bounds.assign(around.begin(), around.end());
      begin("interval", x);
      std::printf(" =");
      put(bounds);
      std::printf("\n");
    }
    if (surprise_) {
      const auto now = surprise_->expect(d_hat, learner_->spread());
      expected.assign(now.begin(), now.end());
      begin("surprise", x, d);
      std::printf(" =");
      put(surprise_->of(expected, d));
      std::printf("\n");
    }
    if (missing) {
      begin("advance", x);
      put_report(learner_->advance(x));
      if (forecaster_) forecaster_->learn(*learner_, {});
      return;
    }
    begin("learn", x, d);
    put_report(learner_->learn(x, d));
    if (intervals_) intervals_->learn(bounds, d);
    if (surprise_) surprise_->learn(expected, d);
    if (forecaster_) forecaster_->learn(*learner_, d);
  }

  void look_ahead(Rng& rng) {
    const std::size_t horizon = horizon_ > 0 ? horizon_ : 4;
    Numbers future(horizon * c_.inputs);
    for (double& v : future) v = rng.normal();
    const bool bounded = forecaster_ && coverage_ > 0;
    std::printf("%s %zu", bounded ? "bounds" : "forecast", horizon);
    put(future);
    std::printf(" =");
    if (forecaster_) {
      forecaster_->forecast(*learner_, future);
      put(forecaster_->values());
      put(forecaster_->bounds());
    } else {
      Numbers d_hat(horizon * c_.outputs);
      learner_->forecast(horizon, future, d_hat);
      put(d_hat);
    }
    std::printf("\n");
  }

  const Case& c_;
  double coverage_ = 0;
  std::size_t horizon_ = 0;
  std::unique_ptr<Learner> learner_;
  std::optional<Intervals> intervals_;
  std::optional<Surprise> surprise_;
  std::optional<Forecaster> forecaster_;
};

class StreamCase {
 public:
  StreamCase(int answers, const char* settings)
      : answers_(answers),
        engine_(engine_options(settings_from_json(settings), [](const std::string&) {}), nullptr) {
    std::printf("stream %d %s\n", answers, settings);
  }

  void line(const std::string& text) {
    std::printf("line %s\n", text.c_str());
    ++line_;
    const Answer* answer = nullptr;
    try {
      if (reader_.read(text, record_)) answer = engine_.take({.record = record_});
    } catch (const DataError& error) {
      answer = engine_.take({.is_problem = true, .problem = error.what()});
    }
    std::string written;
    if (answer != nullptr) write(*answer, written);
    engine_.learn();
    for (char& c : written)
      if (c == '\n') c = '\v';
    if (!written.empty()) written.pop_back();
    std::printf("answer %s\n", written.empty() ? "none" : written.c_str());
  }

  void state(const std::string& key) {
    std::printf("state %s", key.c_str());
    put_checksum(engine_.state_of(key).value());
  }

  void forget(const std::string& key) {
    std::printf("forget %s\n", key.c_str());
    engine_.forget(key);
  }

 private:
  void write(Answer answer, std::string& to) {
    const bool json = answers_ == 1 || (answers_ == 0 && reader_.dialect().format == Format::json);
    if (answer.status == Answer::Status::refused) answer.line = line_;
    if (!writer_ && engine_.settled() && answer.status != Answer::Status::refused) {
      writer_.emplace(shape_of(engine_, json));
      writer_->write_header(to);
    }
    if (writer_)
      writer_->write(answer, to);
    else if (json)
      AnswerWriter({.json = true}).write(answer, to);
  }

  int answers_;
  Engine engine_;
  RecordReader reader_;
  Record record_;
  std::optional<AnswerWriter> writer_;
  std::uint64_t line_ = 0;
};

std::string json_line(Rng& rng, int t, const char* device) {
  char text[200];
  const double x = rng.normal();
  std::snprintf(text, sizeof text,
                R"({"time":"2024-01-01T%02d:%02d:00Z","device":"%s","x":%.6f,"y":%.6f})", t / 60,
                t % 60, device, x, 5 + 2 * x + 0.1 * rng.normal());
  return text;
}

void streams() {
  Rng rng(3);
  StreamCase keyed(
      0,
      R"({"target":"y","key":"device","learner":"rls","interval":0.9,"surprise":true,"horizon":2})");
  for (int t = 0; t < 30; ++t) {
    keyed.line(json_line(rng, t, "a"));
    keyed.line(json_line(rng, t, "b \\\"ü"));
    if (t == 9) keyed.line("{this is no JSON");
    if (t == 14) std::printf("resume\n");
    if (t == 20) keyed.forget("a");
  }
  keyed.state("a");

  StreamCase table(0, R"({"learner":"auto","experts":2,"seed":5})");
  table.line("# a comment");
  table.line("x1,x2,y");
  for (int t = 0; t < 25; ++t) {
    const double a = rng.normal();
    const double b = rng.normal();
    char text[100];
    std::snprintf(text, sizeof text, "%.5f,%.5f,%.5f", a, b, a * b);
    table.line(text);
    if (t == 12) std::printf("resume\n");
    if (t == 15) table.line("");
    if (t == 16) table.line("1,2");
  }
  table.state("");

  StreamCase late(1, R"({"learner":"alg1","hidden":4,"target":"y"})");
  for (int t = 0; t < 12; ++t) {
    const std::string n = std::to_string(t);
    late.line(R"({"id":)" + n + R"(,"x":)" + std::to_string(t % 5) + R"(,"y":null})");
    if (t > 2)
      late.line(R"({"id":)" + std::to_string(t - 2) + R"(,"y":)" + std::to_string(t % 3) + "}");
    if (t == 7) std::printf("resume\n");
  }
}

}  // namespace

int main() {
  const std::vector<Case> cases = {
      {"auto", 2, 1, {{"interval", "0.9"}, {"surprise", "true"}, {"horizon", "3"}, {"seed", "7"}}},
      {"auto", 0, 1, {{"horizon", "6"}, {"interval", "0.8"}}, 80},
      {"alg2", 2, 2, {{"hidden", "3"}, {"interval", "0.9"}}, 40},
      {"alg1", 3, 1, {{"hidden", "5"}, {"window", "6"}, {"surprise", "true"}}},
      {"ekf", 1, 1, {{"hidden", "4"}, {"scaled", "false"}, {"seed", "18446744073709551615"}}},
      {"adam", 2, 1, {{"lags", "3"}, {"hidden", "4"}}},
      {"rls", 4, 2, {{"interval", "0.5"}}},
      {"ar", 0, 1, {}},
      {"mean", 1, 3, {{"horizon", "2"}}},
  };
  for (const Case& c : cases) LearnerCase(c).run();
  streams();
  return std::ferror(stdout) == 0 && std::fflush(stdout) == 0 ? 0 : 1;
}
