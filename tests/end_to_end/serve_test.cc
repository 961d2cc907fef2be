// kalstream serve, as people run it: asked over HTTP, killed at any moment.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <regex>
#include <sstream>
#include <thread>

#include "end_to_end/process.h"
#include "end_to_end/program.h"
#include "http_visitor.h"

namespace kalstream::test {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;
using ::testing::HasSubstr;

std::string served_sample(int t, bool keyed = false) {
  const double a = std::sin(0.7 * t);
  json sample = {{"a", a}, {"b", std::cos(1.1 * t)}, {"target", 40 + 9 * std::sin(a + t % 3)}};
  if (keyed) sample["device"] = "d" + std::to_string(t * t % 5);
  return sample.dump();
}

std::string served_lines(int first, int last, bool keyed = false) {
  std::string text;
  for (int t = first; t < last; ++t) text += served_sample(t, keyed) + "\n";
  return text;
}

class ServeTest : public testing::Test {
 protected:
  /// Starts it in the folder `store`, at a free port, and waits until it can be asked.
  void start(const std::string& arguments = "--learner rls") {
    std::filesystem::remove(work_.path(".err"));
    server_.emplace(work_.path("."),
                    "'" KALSTREAM_PROGRAM "' serve --store store --port 0 " + arguments);
    port_ = port_in(":", "/\n");
    ASSERT_NE(port_, 0);
    HttpVisitor visitor(port_);
    while (visitor.ask("GET", "/readyz").status == 503) std::this_thread::yield();
  }
  /// The number between the last of `before` and `after` on standard error.
  std::uint16_t port_in(const std::string& before, const std::string& after) const {
    const auto end = std::chrono::steady_clock::now() + 60s;
    while (std::chrono::steady_clock::now() < end) {
      const std::string said = read_text(work_.path(".err"));
      const std::size_t stop = said.find(after);
      if (stop != std::string::npos) {
        const std::size_t begin = said.rfind(before, stop) + before.size();
        return static_cast<std::uint16_t>(std::stoi(said.substr(begin, stop - begin)));
      }
      std::this_thread::sleep_for(5ms);
    }
    return 0;
  }
  int stop() {
    server_->kill(SIGTERM);
    return server_->wait();
  }
  HttpAnswer ask(const std::string& method, const std::string& target, const std::string& body = "",
                 const std::string& type = "application/json") const {
    return HttpVisitor(port_).ask(method, target, body, type);
  }
  HttpAnswer post(const std::string& body, const std::string& type = "application/x-ndjson") const {
    return ask("POST", "/api/v1/streams/s/samples", body, type);
  }
  json get(const std::string& target) const { return json::parse(ask("GET", target).body); }
  Workplace work_;
  std::optional<Process> server_;
  std::uint16_t port_ = 0;
};

/// What `kalstream stream` says to the same lines.
std::string answers_of_stream(const Workplace& work, const std::string& options,
                              const std::string& lines) {
  work.file("input", lines);
  Process process(work.path("."), "'" KALSTREAM_PROGRAM "' stream --quiet " + options + " < input");
  process.end_input();
  return process.rest();
}

TEST_F(ServeTest, AnswersAreThoseOfStream) {
  start();
  struct Case {
    const char* name;
    const char* json;
    const char* options;
    bool keyed = false;
  };
  for (const Case& c :
       {Case{"plain", R"({"learner":"rls"})", "--learner rls"},
        Case{"much", R"({"learner":"auto","interval":0.9,"horizon":3,"alarm_rate":0.001})",
             "--learner auto --interval 0.9 --horizon 3 --alarm-rate 0.001"},
        Case{"keyed", R"({"learner":"ar","key":"device","surprise":true})",
             "--learner ar --key device --surprise", true}}) {
    const std::string stream = std::string("/api/v1/streams/") + c.name;
    ASSERT_EQ(ask("PUT", stream, c.json).status, 201) << c.name;
    const std::string expected = answers_of_stream(work_, c.options, served_lines(0, 120, c.keyed));
    ASSERT_FALSE(expected.empty());
    std::string said;
    said +=
        ask("POST", stream + "/samples", served_lines(0, 50, c.keyed), "application/x-ndjson").body;
    for (int t = 50; t < 60; ++t)
      said += ask("POST", stream + "/samples", served_sample(t, c.keyed)).body;
    std::string list;
    for (int t = 60; t < 120; ++t) list += (t > 60 ? ", " : "") + served_sample(t, c.keyed);
    std::string rest = ask("POST", stream + "/samples", "[" + list + "]").body;
    ASSERT_TRUE(rest.starts_with("{\"answers\":[") && rest.ends_with("]}\n")) << rest;
    rest = rest.substr(12, rest.size() - 15);
    for (std::size_t at = 0; (at = rest.find("},{\"sample\"", at)) != std::string::npos;)
      rest.replace(at, 3, "}\n{");
    EXPECT_EQ(said + rest + "\n", expected) << c.name;
  }
  const std::string csv = "a,b,target\n1,2,3\n4,5,6\n7,8,\n2,1,5\n";
  EXPECT_EQ(ask("POST", "/api/v1/streams/csv/samples", csv, "text/csv").body,
            answers_of_stream(work_, "--learner rls", csv));
}

// An alarm goes on when the server is killed, and so does what people said of the one before.
TEST_F(ServeTest, AlarmsOutliveAKill) {
  const auto lines = [](int first, int last) {
    std::string text;
    for (int t = first; t < last; ++t) {
      const double shift = (t == 400 ? 8 : 0) + (t >= 700 && t < 760 ? 25 : 0);
      text += "{\"target\":" + std::to_string(10 + std::sin(t * t) + shift) + "}\n";
    }
    return text;
  };
  const std::string verdict = "{\"alarm\":\"false\"}\n";
  const std::string expected = answers_of_stream(work_, "--learner mean --strangeness",
                                                 lines(0, 500) + verdict + lines(500, 1000));
  start("--learner mean --strangeness --every 300");
  std::string said = post(lines(0, 500)).body;
  said += ask("POST", "/api/v1/streams/s/alarms?real=false").body;
  said += post(lines(500, 720)).body;
  const json before = get("/api/v1/streams/s/alarms");
  EXPECT_EQ(before["total"], 2);
  EXPECT_FALSE(before["alarms"][1].contains("end"));
  server_->kill(SIGKILL);
  server_->wait();
  start("--learner mean --strangeness --every 300");
  EXPECT_EQ(get("/api/v1/streams/s/alarms"), before);
  said += post(lines(720, 1000)).body;
  EXPECT_TRUE(said == expected);
  const json after = get("/api/v1/streams/s/alarms");
  EXPECT_EQ(after["total"], 2);
  EXPECT_EQ(after["alarms"][1]["kind"], "level");
  EXPECT_GE(after["alarms"][1]["end"], 760);
  EXPECT_EQ(stop(), 0);
}

// The server is killed again and again while a client sends one sample after the other: whatever
// was answered is known afterwards, was answered as if nothing had happened, and nothing was learnt
// twice.
TEST_F(ServeTest, KilledUnderLoadItLosesNothing) {
  for (const bool keyed : {false, true}) {
    std::filesystem::remove_all(work_.path("store"));
    constexpr int samples = 400;
    const std::string options =
        std::string("--learner rls --every 20") + (keyed ? " --key device" : "");
    std::string expected =
        answers_of_stream(work_, std::string("--learner rls") + (keyed ? " --key device" : ""),
                          served_lines(0, samples, keyed));
    std::vector<std::string> answers;
    for (std::size_t at = 0; at < expected.size(); at = expected.find('\n', at) + 1)
      answers.push_back(expected.substr(at, expected.find('\n', at) + 1 - at));
    ASSERT_EQ(answers.size(), static_cast<std::size_t>(samples));
    std::mt19937 random(7);
    int next = 0;  // sample to be sent
    for (int run = 0; next < samples; ++run) {
      start(options);
      if (next > 0) {
        const int known = get("/api/v1/streams/s")["samples"].get<int>();
        ASSERT_TRUE(known == next || known == next + 1)
            << known << ' ' << next;  // one was under way
        next = known;
      }
      std::atomic<int> to_go = run < 6 ? static_cast<int>(random() % 60) + 5 : samples;
      std::thread killer([&] {
        while (to_go > 0) std::this_thread::yield();
        server_->kill(SIGKILL);
      });
      HttpVisitor visitor(port_);
      while (next < samples) {
        const HttpAnswer answer =
            visitor.ask("POST", "/api/v1/streams/s/samples", served_sample(next, keyed));
        if (answer.status != 200) break;
        EXPECT_EQ(answer.body, answers[static_cast<std::size_t>(next)]);
        ++next;
        --to_go;
      }
      to_go = 0;
      killer.join();
      server_->wait();
    }
  }
}

// All that can be asked of streams of all kinds, but how fast this process is and what it holds in
// memory, to the byte.
TEST_F(ServeTest, ARestartChangesNothingThatIsAsked) {
  const std::vector<std::pair<std::string, std::string>> streams = {
      {"times", R"({"learner":"auto","experts":2,"horizon":6,"interval":0.9,"time":"time"})"},
      {"keyed", R"({"learner":"rls","key":"device","horizon":2,"surprise":true})"},
      {"classes", R"({"learner":"auto","experts":2,"target":"kind"})"},
      {"late", R"({"learner":"ekf","hidden":2,"alarm_rate":0.01})"}};
  start();
  for (const auto& [name, options] : streams) {
    const std::string of = "/api/v1/streams/" + name;
    ASSERT_EQ(ask("PUT", of, options).status, 201);
    std::string lines;
    for (int t = 0; t < 120; ++t) {
      json sample = json::parse(served_sample(t, name == "keyed"));
      if (name == "times") {
        char time[32];
        std::snprintf(time, sizeof(time), "2026-01-%02dT%02d:00:00", 1 + t / 24, t % 24);
        sample["time"] = time;
      }
      if (name == "classes") sample["kind"] = t * t % 3 == 0 ? "a" : "b";
      if (name == "late" && t > 100) sample.erase("target"), sample["id"] = t;
      lines += sample.dump() + "\n";
    }
    lines += name == "late" ? "{\"id\":103,\"target\":41}\nnonsense\n" : "nonsense\n";
    ASSERT_EQ(ask("POST", of + "/samples", lines, "application/x-ndjson").status, 200);
  }
  const std::regex of_moment(R"re("(rate|memory_bytes)":[^,}]*|"latency_ms":\{[^}]*\})re");
  const std::regex of_process(
      ".*(uptime|latency|work|_memory_|per_second|checkpoint|models_|evict).*");
  const auto everything = [&] {
    std::map<std::string, std::string> all;
    for (const auto& [name, options] : streams) {
      const std::string of = "/api/v1/streams/" + name;
      const std::string key = name == "keyed" ? "key=d1" : "key=";
      for (const std::string what : {"", "/history", "/history?", "/history?points=7&", "/models",
                                     "/models?sort=error", "/snapshot?"})
        all[name + what] = ask("GET", of + what + (what.find('?') + 1 == 0 ? "" : key)).body;
      all[name + " forecast"] = ask("POST", of + "/forecast?horizon=5&" + key).body;
    }
    all["streams"] = ask("GET", "/api/v1/streams").body;
    for (auto& [asked, answer] : all) answer = std::regex_replace(answer, of_moment, "");
    std::stringstream metrics(ask("GET", "/metrics").body);
    for (std::string line; std::getline(metrics, line);)
      if (!std::regex_match(line, of_process)) all["metrics"] += line + '\n';
    return all;
  };
  // Experts and metrics are looked at once a second while something changes.
  std::string metrics;
  const auto is_there = [&](const auto& stream) {
    return metrics.find("predicted_total{stream=\"" + stream.first + "\"} 120") !=
           std::string::npos;
  };
  for (int tries = 0; tries < 10'000 && !std::ranges::all_of(streams, is_there); ++tries)
    metrics = ask("GET", "/metrics").body;
  auto before = everything();
  for (const auto& [asked, answer] : before) EXPECT_GT(answer.size(), 10U) << asked;
  EXPECT_EQ(stop(), 0);
  start();
  for (const auto& [asked, answer] : everything()) {
    const std::string& was = before[asked];
    const auto same =
        static_cast<std::size_t>(std::ranges::mismatch(answer, was).in1 - answer.begin());
    const std::size_t from = same - std::min<std::size_t>(same, 100);
    EXPECT_EQ(answer.substr(from, 200), was.substr(from, 200)) << asked;
  }
  EXPECT_EQ(stop(), 0);
}

TEST_F(ServeTest, EndsAsItShould) {
  start("--learner auto");
  // A request is under way, and answered before the end.
  HttpVisitor visitor(port_);
  ASSERT_TRUE(visitor.say(visitor.request("POST", "/api/v1/streams/s/samples",
                                          served_lines(0, 3000), "application/x-ndjson")));
  HttpVisitor listener(port_);
  ASSERT_TRUE(listener.say(listener.request("GET", "/api/v1/events")));
  EXPECT_EQ(listener.answer().status, 200);
  EXPECT_NE(listener.until("event: streams\n"), "");
  EXPECT_EQ(stop(), fine);
  const HttpAnswer answer = visitor.answer();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(std::ranges::count(answer.body, '\n'), 3000);
  start("--learner auto");
  EXPECT_EQ(get("/api/v1/streams/s")["samples"], 3000);
  EXPECT_EQ(stop(), fine);
}

TEST_F(ServeTest, OthersNeedAToken) {
  const auto refused = [&](const std::string& arguments) {
    return work_.kalstream("serve --store store --port 0 " + arguments);
  };
  EXPECT_EQ(refused("--address 0.0.0.0").exit_code, usage);
  EXPECT_THAT(refused("--address ::").err, HasSubstr("--token-file"));
  work_.file("short", "secret\n");
  EXPECT_EQ(refused("--token-file short").exit_code, usage);
  EXPECT_EQ(refused("--tls-cert short").exit_code, usage);
  EXPECT_EQ(refused("--learner none").exit_code, usage);
  EXPECT_EQ(refused("--address localhost").exit_code, failure);
  work_.file("token", "0123456789abcdef0123\n");
  start("--address 0.0.0.0 --token-file token");
  EXPECT_EQ(ask("GET", "/api/v1/streams").status, 401);
  EXPECT_EQ(ask("GET", "/metrics").status, 401);
  EXPECT_EQ(ask("GET", "/healthz").status, 200);
  EXPECT_EQ(
      HttpVisitor(port_)
          .ask("GET", "/api/v1/streams", "", "", "Authorization: Bearer 0123456789abcdef0123\r\n")
          .status,
      200);
  EXPECT_THAT(read_text(work_.path(".err")), ::testing::Not(HasSubstr("0123456789abcdef")));
  EXPECT_EQ(stop(), fine);
}

TEST_F(ServeTest, OneStoreOneServer) {
  start();
  const Ran second = work_.kalstream("serve --store store --port 0");
  EXPECT_EQ(second.exit_code, failure);
  EXPECT_THAT(second.err, HasSubstr("in use by process"));
}

// What is not HTTP, or far too much of it, harms nobody else.
TEST_F(ServeTest, HostileRequestsAreInNobodysWay) {
  start("--max-body 100KiB --max-connections 100");
  std::mt19937 random(3);
  std::vector<std::unique_ptr<HttpVisitor>> crowd;
  for (int k = 0; k < 60; ++k) {
    crowd.push_back(std::make_unique<HttpVisitor>(port_));
    std::string text;
    switch (k % 5) {
      case 0:
        for (int n = 0; n < 2000; ++n) text += static_cast<char>(random());
        break;
      case 1:
        text =
            "POST /api/v1/streams/s/samples HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
            "90000\r\n\r\n{";
        break;
      case 2:
        text = "GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n";
        break;
      case 3:
        text =
            "POST /api/v1/streams/s/samples HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
            "application/json\r\n"
            "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n";
        break;
      default:
        text = "GET / HTTP/1.1\r\n" + std::string(500, 'x');
    }
    crowd.back()->say(text);
  }
  EXPECT_EQ(post(served_lines(0, 10)).status, 200);
  EXPECT_EQ(get("/api/v1/streams")["streams"].size(), 1U);
  EXPECT_EQ(post(std::string(200'000, ' ')).status, 413);
  EXPECT_EQ(post(std::string(50'000, '[')).status, 200);  // a line that cannot be read
  EXPECT_EQ(get("/api/v1/streams/s")["refused"], 1);
  EXPECT_EQ(stop(), fine);
}

TEST_F(ServeTest, APipeHasAPage) {
  Process stream(work_.path("."), "'" KALSTREAM_PROGRAM "' stream --learner rls --page 0");
  port_ = port_in(":", "/\n");
  ASSERT_NE(port_, 0);
  for (int t = 0; t < 20; ++t) {
    ASSERT_TRUE(stream.write(served_sample(t) + "\n"));
    ASSERT_TRUE(stream.line());
  }
  // A line is answered before it is learnt and shown.
  const auto samples = [&] { return get("/api/v1/streams")["streams"][0]["samples"]; };
  const auto end = std::chrono::steady_clock::now() + 60s;
  while (samples() != 20 && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(5ms);
  EXPECT_EQ(samples(), 20);
  EXPECT_EQ(get("/api/v1/streams/stream/history")["points"]["prediction"].size(), 20U);
  EXPECT_EQ(post(served_lines(0, 1)).status, 405);
  stream.end_input();
  EXPECT_EQ(stream.wait(), fine);
}

}  // namespace
}  // namespace kalstream::test
