// The API as clients see it, held against its own description.
#include "serve/api.h"

#include <gtest/gtest.h>

#include <thread>

#include "http_visitor.h"
#include "openapi_document.h"
#include "serve/door.h"
#include "serve/openapi.h"
#include "temporary_folder.h"

namespace kalstream::serve {
namespace {

using nlohmann::json;
using test::HttpAnswer;
using test::HttpVisitor;
using test::OpenApi;

http::ServerOptions server_options() {
  http::ServerOptions options;
  options.max_body = 100'000;
  return options;
}

class ThreadsServeApi : public testing::Test {
 protected:
  ThreadsServeApi() { open(); }

  void open() {
    ServiceOptions options;
    options.folder = (folder_.path / "store").string();
    options.defaults.learner = "rls";
    options.max_streams = 5;
    service_.emplace(options);
    door_.emplace(server_options(), *service_, &*service_);
  }

  /// Asks, and holds the answer against the document.
  HttpAnswer ask(const std::string& method, const std::string& target, const std::string& body = "",
                 const std::string& type = "application/json", const std::string& headers = "") {
    HttpVisitor visitor(door_->port());
    HttpAnswer answer = visitor.ask(method, target, body, type, headers);
    document_.check(method, target, answer);
    return answer;
  }
  int status(const std::string& method, const std::string& target, const std::string& body = "",
             const std::string& type = "application/json", const std::string& headers = "") {
    return ask(method, target, body, type, headers).status;
  }
  json get(const std::string& target) { return json::parse(ask("GET", target).body); }

  test::TemporaryFolder folder_{test::in_memory()};
  std::optional<Service> service_;
  std::optional<Door> door_;
  OpenApi document_{std::string(openapi_json())};
};

constexpr const char* of_a = "/api/v1/streams/a";

std::string at(const std::string& rest) { return of_a + rest; }

std::string samples(int first, int last, const std::string& more = "") {
  std::string all;
  for (int t = first; t < last; ++t)
    all +=
        "{\"a\":" + std::to_string(t % 7) + more + ",\"target\":" + std::to_string(t % 5) + "}\n";
  return all;
}

TEST_F(ThreadsServeApi, EveryRouteIsDescribed) {
  const auto routes = Api::routes();
  EXPECT_EQ(std::set<std::string>(routes.begin(), routes.end()), document_.routes());
}

TEST_F(ThreadsServeApi, OfADamagedStreamItIsSaidWhatIsDamaged) {
  EXPECT_EQ(status("POST", at("/samples"), samples(0, 5), "application/x-ndjson"), 200);
  door_.reset();
  service_.reset();
  const auto description = folder_.path / "store" / "streams" / "61" / "stream.json";
  std::ofstream(description) << "{}";
  open();
  EXPECT_NE(get(of_a)["failure"].get<std::string>().find("stream.json"), std::string::npos);
  for (const char* rest : {"/history", "/models", "/snapshot"}) {
    const HttpAnswer answer = ask("GET", at(rest));
    EXPECT_EQ(answer.status, 503) << rest;
    EXPECT_NE(answer.body.find("stream.json"), std::string::npos) << answer.body;
  }
  EXPECT_EQ(status("POST", at("/forecast")), 503);
}

TEST_F(ThreadsServeApi, TheServerItself) {
  EXPECT_EQ(ask("GET", "/healthz").body, "ok\n");
  EXPECT_EQ(ask("GET", "/readyz").body, "ready\n");
  EXPECT_EQ(get("/openapi.json")["openapi"], "3.1.0");
  const HttpAnswer page = ask("GET", "/");
  EXPECT_EQ(page.status, 200);
  if (page.header("Content-Type").starts_with("text/html")) {
    EXPECT_NE(page.header("Content-Security-Policy").find("default-src 'none'"), std::string::npos);
    EXPECT_EQ(page.header("X-Frame-Options"), "DENY");
  }
  EXPECT_EQ(status("POST", at("/samples"), samples(0, 5), "application/x-ndjson"), 200);
  const std::string metrics = ask("GET", "/metrics").body;
  EXPECT_NE(metrics.find("kalstream_samples_predicted_total{stream=\"a\"}"), std::string::npos)
      << metrics;
}

TEST_F(ThreadsServeApi, AStreamsLife) {
  EXPECT_EQ(get("/api/v1/streams")["streams"].size(), 0U);
  EXPECT_EQ(
      status("PUT", of_a, R"({"learner":"rls","interval":[0.8,0.9],"horizon":2,"surprise":true})"),
      201);
  EXPECT_EQ(
      status("PUT", of_a, R"({"horizon":2,"learner":"rls","interval":"0.9,0.8","surprise":true})"),
      200);
  EXPECT_EQ(status("PUT", of_a, R"({"learner":"rls"})"), 409);
  const HttpAnswer one = ask("POST", at("/samples"), R"({"a":1,"target":2})");
  EXPECT_EQ(json::parse(one.body)["sample"], 1);
  EXPECT_EQ(status("POST", at("/samples"),
                   R"([{"a":1,"target":2},{"id":"x","a":2},{"id":"x","target":3},{"b":1},7])"),
            200);
  EXPECT_EQ(status("POST", at("/samples"), samples(0, 30), "application/x-ndjson"), 200);
  const HttpAnswer csv = ask("POST", at("/samples"), "a,target\n1,2\n3,\n", "text/csv");
  EXPECT_EQ(csv.body.substr(0, 10), "sample,id,");
  EXPECT_EQ(std::ranges::count(csv.body, '\n'), 3);
  EXPECT_EQ(get(of_a)["samples"], 35);
  EXPECT_EQ(get(at("/history?points=10"))["points"]["sample"].size(), 10U);
  EXPECT_EQ(get(at("/history?target=target"))["target"], "target");
  EXPECT_EQ(get(at("/models"))["total"], 1);
  const json forecast =
      json::parse(ask("POST", at("/forecast?horizon=2"), R"([{"a":1},{"a":2}])").body);
  EXPECT_EQ(forecast["forecast"].size(), 2U);
  EXPECT_EQ(forecast["forecast"][1]["interval"].size(), 2U);
  EXPECT_EQ(forecast["forecast"][1]["interval_0.8"].size(), 2U);
  EXPECT_EQ(json::parse(ask("POST", at("/forecast?horizon=50")).body)["forecast"].size(), 50U);
  EXPECT_EQ(
      json::parse(ask("POST", at("/forecast"), "a\n1\n2\n", "text/csv").body)["forecast"].size(),
      2U);
  const HttpAnswer snapshot = ask("GET", at("/snapshot"));
  EXPECT_EQ(status("PUT", at("/snapshot"), snapshot.body, "application/octet-stream"), 204);
  EXPECT_EQ(get(of_a)["samples"], 35);
  EXPECT_EQ(status("DELETE", at("/models")), 204);
  EXPECT_EQ(status("POST", at("/reset")), 200);
  EXPECT_EQ(get(of_a)["samples"], 0);
  EXPECT_EQ(status("DELETE", of_a), 204);
  EXPECT_EQ(status("GET", of_a), 404);
}

TEST_F(ThreadsServeApi, AlarmsAreListedAndJudged) {
  EXPECT_EQ(status("POST", at("/alarms?real=true")), 404);
  EXPECT_EQ(status("PUT", of_a, R"({"learner":"mean","strangeness":true,"alarm_above":90})"), 201);
  EXPECT_EQ(status("POST", at("/alarms?real=true")), 409);  // there is no sample yet
  const auto take = [&](double value) {
    const HttpAnswer said =
        ask("POST", at("/samples"), "{\"target\":" + std::to_string(value) + "}");
    return json::parse(said.body);
  };
  take(1);
  EXPECT_EQ(get(at("/alarms"))["alarms"].size(), 0U);
  const json start = take(95);
  EXPECT_EQ(start["alarm"]["event"], "start");
  EXPECT_EQ(get(at("/alarms"))["alarms"][0]["start"], 2);
  EXPECT_FALSE(get(at("/alarms"))["alarms"][0].contains("end"));
  for (int k = 0; k < 10; ++k) take(2);
  const json told = get(at("/alarms"));
  EXPECT_EQ(told["total"], 1);
  ASSERT_EQ(told["alarms"].size(), 1U);
  EXPECT_EQ(told["alarms"][0]["kind"], "above");
  EXPECT_EQ(told["alarms"][0]["end"], 3);
  EXPECT_EQ(told["alarms"][0]["value"], 95);
  EXPECT_TRUE(told["alarms"][0]["key"].is_null());
  EXPECT_EQ(get(of_a)["alarms"], 1);
  EXPECT_EQ(json::parse(ask("POST", at("/alarms?real=false")).body)["status"], "judged");
  EXPECT_EQ(status("POST", at("/alarms")), 400);
  EXPECT_EQ(status("POST", at("/alarms?real=false&key=x")), 400);
  EXPECT_EQ(status("GET", at("/alarms?limit=0")), 400);
  EXPECT_EQ(get(of_a)["samples"], 12);

  const std::string keyed = "/api/v1/streams/keyed";
  EXPECT_EQ(status("PUT", keyed, R"({"learner":"mean","key":"k","alarm_below":0})"), 201);
  EXPECT_EQ(status("POST", keyed + "/samples",
                   R"([{"k":"x","target":1},{"k":"y","target":-1},{"k":"x","target":-2}])"),
            200);
  EXPECT_EQ(get(keyed + "/alarms")["alarms"].size(), 2U);
  EXPECT_EQ(get(keyed + "/alarms?limit=1")["alarms"][0]["key"], "x");
  EXPECT_EQ(get(keyed + "/alarms?key=y")["alarms"][0]["value"], -1);
  EXPECT_EQ(json::parse(ask("POST", keyed + "/alarms?real=false&key=y").body)["key"], "y");
  EXPECT_EQ(json::parse(ask("POST", keyed + "/alarms?real=false&key=z").body)["status"], "refused");

  const std::string plain = "/api/v1/streams/plain";
  EXPECT_EQ(status("POST", plain + "/samples", R"({"a":1,"target":2})"), 200);
  EXPECT_EQ(status("POST", plain + "/alarms?real=true"), 409);
}

TEST_F(ThreadsServeApi, WhatIsWrongIsSaid) {
  EXPECT_EQ(status("GET", "/api/v1/nothing"), 404);
  EXPECT_EQ(status("GET", "/api/v1/streams/../../etc/passwd"), 404);
  EXPECT_EQ(status("GET", "/api/v1/streams/..%2f..%2fetc"), 400);
  EXPECT_EQ(status("GET", "/api/v1/streams/%00"), 400);
  EXPECT_EQ(status("PUT", "/api/v1/streams/.hidden"), 400);
  EXPECT_EQ(status("PUT", "/api/v1/streams/" + std::string(101, 'x')), 400);
  EXPECT_EQ(status("PUT", "/api/v1/streams/<script>"), 400);
  EXPECT_EQ(status("PUT", of_a, "not json"), 422);
  EXPECT_EQ(status("PUT", of_a, R"({"lerner":"rls"})"), 422);
  EXPECT_EQ(status("PUT", of_a, R"({"learner":"no such"})"), 422);
  EXPECT_EQ(status("PUT", of_a, "{}", "text/plain"), 415);
  EXPECT_EQ(status("PATCH", of_a), 405);
  EXPECT_EQ(status("DELETE", of_a), 404);
  EXPECT_EQ(status("POST", at("/reset")), 404);
  EXPECT_EQ(status("POST", at("/samples?create=false"), R"({"a":1})"), 404);
  EXPECT_EQ(status("POST", at("/samples"), "a=1", "application/x-www-form-urlencoded"), 415);
  EXPECT_EQ(status("POST", at("/samples"), "{}", "text/plain"), 415);
  EXPECT_EQ(status("POST", at("/samples"), "[{\"a\":1}"), 400);
  EXPECT_EQ(status("GET", of_a), 404);  // none of this has made it
  EXPECT_EQ(status("POST", at("/samples"), std::string(100'001, ' ')), 413);
  EXPECT_EQ(status("POST", at("/samples"), samples(0, 3), "application/x-ndjson"), 200);
  EXPECT_EQ(json::parse(ask("POST", at("/samples"), "{\"a\":").body)["status"], "refused");
  for (const char* query : {"points=0", "points=x", "points=-1", "points=1e9", "points="})
    EXPECT_EQ(status("GET", at(std::string("/history?") + query)), 400) << query;
  EXPECT_EQ(status("GET", at("/history?target=none")), 404);
  EXPECT_EQ(status("GET", at("/models?sort=size")), 400);
  EXPECT_EQ(status("GET", at("/models?order=up")), 400);
  EXPECT_EQ(status("GET", at("/snapshot?key=none")), 400);
  EXPECT_EQ(status("PUT", at("/snapshot"), "nonsense", "application/octet-stream"), 422);
  EXPECT_EQ(status("PUT", at("/snapshot"), "{}"), 415);
  EXPECT_EQ(status("POST", at("/forecast?horizon=1001")), 400);
  EXPECT_EQ(status("POST", at("/forecast"), "[{\"a\":\"text\"}]"), 422);
  EXPECT_EQ(status("GET", "/api/v1/events?stream=none"), 404);
  for (int k = 0; k < 4; ++k) status("PUT", "/api/v1/streams/more" + std::to_string(k));
  EXPECT_EQ(status("PUT", "/api/v1/streams/one-too-many"), 507);
  EXPECT_EQ(status("POST", "/api/v1/streams/one-too-many/samples", R"({"a":1})"), 507);
}

TEST_F(ThreadsServeApi, OtherSitesAreKeptOut) {
  const std::string sample = R"({"a":1,"target":2})";
  const std::string json_type = "application/json";
  EXPECT_EQ(status("POST", at("/samples"), sample, json_type, "Origin: http://evil.example\r\n"),
            403);
  EXPECT_EQ(status("POST", at("/samples"), sample, json_type, "Sec-Fetch-Site: cross-site\r\n"),
            403);
  EXPECT_EQ(status("GET", "/api/v1/streams", "", "", "Sec-Fetch-Site: same-site\r\n"), 403);
  HttpVisitor rebound(door_->port());
  rebound.say("GET /api/v1/streams HTTP/1.1\r\nHost: evil.example\r\n\r\n");
  const HttpAnswer answer = rebound.answer();
  EXPECT_EQ(answer.status, 421);
  document_.check("GET", "/api/v1/streams", answer);
  EXPECT_EQ(get("/api/v1/streams")["streams"].size(), 0U);
}

// A key is text, whatever is in it.
TEST_F(ThreadsServeApi, KeysMayBeAnything) {
  EXPECT_EQ(status("PUT", of_a, R"({"learner":"rls","key":"k"})"), 201);
  for (const std::string& key :
       {std::string("<script>alert(1)</script>"), std::string("../../etc/passwd"),
        std::string("\r\nSet-Cookie: x=1"), std::string("ä\"\\ \x7f")}) {
    const json sample = {{"k", key}, {"a", 1}, {"target", 2}};
    EXPECT_EQ(status("POST", at("/samples"), sample.dump()), 200);
    std::string escaped;
    for (const unsigned char c : key) {
      constexpr const char* digits = "0123456789abcdef";
      escaped += {'%', digits[c >> 4], digits[c & 15]};
    }
    EXPECT_EQ(get(at("/history?key=" + escaped))["points"]["sample"].size(), 1U) << key;
    EXPECT_EQ(get(at("/history?key=" + escaped))["key"], key);
    EXPECT_EQ(get(at("/models?search=" + escaped))["models"][0]["key"], key);
    EXPECT_EQ(status("GET", at("/snapshot?key=" + escaped)), 200);
    EXPECT_EQ(status("DELETE", at("/models?key=" + escaped)), 204);
  }
  EXPECT_EQ(status("DELETE", at("/models")), 400);
}

// A stream with keys has a model for each, any other stream has one: which is meant has to be said,
// or not.
TEST_F(ThreadsServeApi, AModelIsOfTheStreamOrOfAKey) {
  const std::string keyed = "/api/v1/streams/keyed";
  EXPECT_EQ(status("PUT", keyed, R"({"learner":"rls","key":"k"})"), 201);
  EXPECT_EQ(status("POST", keyed + "/samples", R"({"k":"x","a":1,"target":2})"), 200);
  EXPECT_EQ(status("POST", at("/samples"), R"({"a":1,"target":2})"), 200);
  const std::string state = ask("GET", at("/snapshot")).body;
  const std::string of_key = ask("GET", keyed + "/snapshot?key=x").body;
  const std::string type = "application/octet-stream";
  for (const auto& [method, rest] :
       std::initializer_list<std::pair<const char*, const char*>>{{"GET", "/snapshot"},
                                                                  {"PUT", "/snapshot"},
                                                                  {"DELETE", "/models"},
                                                                  {"POST", "/forecast"}}) {
    const std::string body = std::string(method) == "PUT" ? state : "";
    EXPECT_EQ(status(method, at(rest + std::string("?key=x")), body, type), 400) << method << rest;
    EXPECT_EQ(status(method, keyed + rest, body, type), 400) << method << rest;
  }
  EXPECT_EQ(get(of_a)["models"], 1);
  EXPECT_EQ(get(keyed)["models"], 1);
  EXPECT_EQ(ask("GET", at("/snapshot")).body, state);
  EXPECT_EQ(ask("GET", keyed + "/snapshot?key=x").body, of_key);
}

TEST_F(ThreadsServeApi, ASnapshotOfAnotherLearnerIsRefused) {
  const std::string other = "/api/v1/streams/other";
  EXPECT_EQ(status("PUT", other, R"({"learner":"ar"})"), 201);
  EXPECT_EQ(status("POST", other + "/samples", R"({"a":1,"target":2})"), 200);
  EXPECT_EQ(status("POST", at("/samples"), R"({"a":1,"target":2})"), 200);
  const std::string before = ask("GET", at("/snapshot")).body;
  const HttpAnswer refused =
      ask("PUT", at("/snapshot"), ask("GET", other + "/snapshot").body, "application/octet-stream");
  EXPECT_EQ(refused.status, 422);
  EXPECT_NE(refused.body.find("there: ar"), std::string::npos) << refused.body;
  EXPECT_EQ(ask("GET", at("/snapshot")).body, before);
}

// A stream is made by its first sample, not by what is none.
TEST_F(ThreadsServeApi, WhatIsNoSampleMakesNoStream) {
  const std::string lines = "application/x-ndjson";
  EXPECT_EQ(status("POST", at("/samples"), "{a:1}"), 422);
  EXPECT_EQ(status("POST", at("/samples"), ""), 415);
  EXPECT_EQ(status("POST", at("/samples"), " "), 422);
  EXPECT_EQ(status("POST", at("/samples"), "[]"), 422);
  EXPECT_EQ(status("POST", at("/samples"), "[7, {\"a\":]}]"), 400);
  EXPECT_EQ(status("POST", at("/samples"), "x\n\ny\n", lines), 422);
  EXPECT_EQ(status("POST", at("/samples"), "a,target\n", "text/csv"), 422);
  const HttpAnswer said = ask("POST", at("/samples"), "{a:1}");
  EXPECT_NE(said.body.find("no stream was made"), std::string::npos) << said.body;
  EXPECT_EQ(get("/api/v1/streams")["total"], 0);
  EXPECT_EQ(status("POST", at("/samples"), "{\n{\"a\":1,\"target\":2}\n", lines), 200);
  EXPECT_EQ(status("POST", at("/samples"), "{a:1}"), 200);  // answered in its place: refused
  EXPECT_EQ(get(of_a)["refused"], 2);
}

TEST_F(ThreadsServeApi, StreamsAreListedPageByPage) {
  std::vector<std::string> names;
  for (const char* name : {"a", "b", "B", "c-1", "c.2"}) {
    EXPECT_EQ(status("PUT", std::string("/api/v1/streams/") + name, R"({"learner":"ar"})"), 201);
    names.emplace_back(name);
  }
  std::ranges::sort(names);
  for (const std::size_t limit : {1, 2, 5, 100}) {
    std::vector<std::string> listed;
    std::size_t pages = 0;
    for (std::string after; pages < 10;) {
      const json page = get("/api/v1/streams?limit=" + std::to_string(limit) + "&after=" + after);
      ++pages;
      EXPECT_EQ(page["total"], names.size());
      for (const json& stream : page["streams"]) listed.push_back(stream["name"]);
      if (page["next"].is_null()) break;
      after = page["next"];
    }
    EXPECT_EQ(listed, names) << limit;
    EXPECT_EQ(pages, (names.size() + limit - 1) / limit);
  }
  EXPECT_EQ(get("/api/v1/streams?after=zzz")["streams"].size(), 0U);
  EXPECT_EQ(status("GET", "/api/v1/streams?limit=0"), 400);
}

TEST_F(ThreadsServeApi, EventsFollowSamples) {
  EXPECT_EQ(status("POST", at("/samples"), R"({"a":1,"target":2})"), 200);
  HttpVisitor all(door_->port());
  HttpVisitor one(door_->port());
  EXPECT_TRUE(all.say(all.request("GET", "/api/v1/events")));
  EXPECT_TRUE(one.say(one.request("GET", "/api/v1/events?stream=a")));
  EXPECT_EQ(all.answer().header("Content-Type"), "text/event-stream");
  EXPECT_EQ(one.answer().status, 200);
  EXPECT_NE(all.until("event: streams\n"), "");
  EXPECT_NE(one.until("event: status\n"), "");
  EXPECT_EQ(status("POST", at("/samples"), R"({"id":7,"a":3})"), 200);
  EXPECT_NE(one.until("event: point\ndata: {\"stream\":\"a\",\"key\":null,\"sample\":2,"), "");
  EXPECT_NE(one.until("\"target\":null"), "");
  EXPECT_EQ(status("POST", at("/samples"), R"({"id":7,"target":9})"), 200);
  EXPECT_NE(
      one.until("event: label\ndata: {\"stream\":\"a\",\"key\":null,\"sample\":2,\"target\":9"),
      "");
  EXPECT_EQ(status("POST", at("/samples"), "{"), 200);
  EXPECT_NE(one.until("event: warning\n"), "");
  EXPECT_NE(all.until("event: warning\n"), "");
  EXPECT_NE(all.until("\"samples\":2"), "");
}

TEST(ThreadsServePage, AStreamCanBeLookedAtOnly) {
  StreamPage page("/var/log/boiler 1.csv", {}, 0);
  OpenApi document{std::string(openapi_json())};
  const auto ask = [&](const std::string& method, const std::string& target,
                       const std::string& body = "") {
    HttpAnswer answer = HttpVisitor(page.port()).ask(method, target, body);
    document.check(method, target, answer);
    return answer;
  };
  EXPECT_EQ(json::parse(ask("GET", "/api/v1/streams").body)["streams"][0]["name"], "boiler_1");
  const std::string stream = "/api/v1/streams/boiler_1";
  EXPECT_EQ(ask("GET", stream + "/history").status, 200);
  EXPECT_EQ(ask("GET", stream + "/models").status, 200);
  EXPECT_EQ(ask("POST", stream + "/samples", "{\"a\":1}").status, 405);
  EXPECT_EQ(ask("PUT", stream, "{}").status, 405);
  EXPECT_EQ(ask("DELETE", stream).status, 405);
  EXPECT_EQ(ask("POST", stream + "/reset").status, 405);
  EXPECT_EQ(ask("GET", "/metrics").status, 200);
}

}  // namespace
}  // namespace kalstream::serve
