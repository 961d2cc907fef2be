#include "http/server.h"

#include <gtest/gtest.h>

#include <thread>

#include "http_visitor.h"

namespace kalstream::http {
namespace {

using namespace std::chrono_literals;
using test::HttpAnswer;
using test::HttpVisitor;

/// Waits for a condition; false if it does not come.
bool comes(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + 60s;
  while (!condition() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  return condition();
}

ServerOptions small() {
  ServerOptions options;
  options.max_body = 1000;
  return options;
}

/// Says what it was asked.
void echo(const std::shared_ptr<Exchange>& exchange) {
  const Request& r = exchange->request();
  exchange->answer({.content_type = "text/plain", .body = r.method + ' ' + r.path + ' ' + r.body});
}

TEST(ThreadsHttpServer, AnswersOneAfterTheOtherOnAConnection) {
  const Server server(small(), echo);
  HttpVisitor visitor(server.port());
  for (int k = 0; k < 20; ++k) {
    const std::string body = std::to_string(k);
    const HttpAnswer answer = visitor.ask("POST", "/a/b?c=d", body);
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, "POST /a/b " + body);
    EXPECT_EQ(answer.header("X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(answer.header("Cache-Control"), "no-store");
  }
  EXPECT_EQ(visitor.ask("HEAD", "/").header("Content-Length"), "6");
}

TEST(ThreadsHttpServer, AnswersComeFromAnyThread) {
  std::vector<std::thread> threads;
  {
    const Server server(small(), [&](const std::shared_ptr<Exchange>& exchange) {
      threads.emplace_back([exchange] { echo(exchange); });
    });
    HttpVisitor visitor(server.port());
    for (int k = 0; k < 20; ++k) EXPECT_EQ(visitor.ask("PUT", "/x", "body").body, "PUT /x body");
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(ThreadsHttpServer, LargeAnswersArriveWhole) {
  const std::string large(5'000'000, 'x');
  const auto shared = std::make_shared<const std::string>(large);
  const Server server(small(), [&](const std::shared_ptr<Exchange>& exchange) {
    if (exchange->request().path == "/shared")
      exchange->answer({.shared_body = shared});
    else
      exchange->answer({.body = large});
  });
  HttpVisitor visitor(server.port());
  EXPECT_EQ(visitor.ask("GET", "/").body, large);
  EXPECT_EQ(visitor.ask("GET", "/shared").body, large);
}

TEST(ThreadsHttpServer, BodiesAreBounded) {
  const Server server(small(), echo);
  EXPECT_EQ(HttpVisitor(server.port()).ask("POST", "/", std::string(1000, 'x')).status, 200);
  EXPECT_EQ(HttpVisitor(server.port()).ask("POST", "/", std::string(1001, 'x')).status, 413);
  HttpVisitor lies(server.port());
  EXPECT_TRUE(
      lies.say("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999\r\n\r\n"));
  EXPECT_EQ(lies.answer().status, 413);
  HttpVisitor chunks(server.port());
  EXPECT_TRUE(
      chunks.say("POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"));
  for (int k = 0; k < 20; ++k) EXPECT_TRUE(chunks.say("64\r\n" + std::string(100, 'x') + "\r\n"));
  EXPECT_TRUE(chunks.say("0\r\n\r\n"));
  EXPECT_EQ(chunks.answer().status, 413);
}

TEST(ThreadsHttpServer, WhatIsNoRequestIsNotServed) {
  ServerOptions options = small();
  options.patience = 1s;
  const Server server(options, echo);
  for (const std::string& nonsense :
       {std::string("\0\xff\xfe\r\n\r\n", 7), std::string("GET\r\n\r\n"),
        std::string("GET / HTTP/1.1\r\n\r\n"),
        std::string("GET http://evil/ HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        "GET / HTTP/1.1\r\nHost: localhost\r\nx: " + std::string(100'000, 'y') + "\r\n\r\n",
        "GET /" + std::string(100'000, 'y') + " HTTP/1.1\r\nHost: localhost\r\n\r\n",
        std::string("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n")}) {
    HttpVisitor visitor(server.port());
    visitor.say(nonsense);
    const HttpAnswer answer = visitor.answer();
    EXPECT_TRUE(answer.status == 0 || answer.status >= 400)
        << nonsense.substr(0, 60) << answer.status;
  }
  EXPECT_EQ(HttpVisitor(server.port()).ask("GET", "/").status, 200);
}

// Who waits with the request, or sends it byte by byte, is let go; others are served meanwhile.
TEST(ThreadsHttpServer, TheSlowAreLetGo) {
  ServerOptions options = small();
  options.patience = 1s;
  const Server server(options, echo);
  HttpVisitor silent(server.port());
  HttpVisitor slow(server.port());
  EXPECT_TRUE(slow.say("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nabc"));
  EXPECT_EQ(HttpVisitor(server.port()).ask("GET", "/").status, 200);
  EXPECT_TRUE(silent.is_closed());
  EXPECT_TRUE(slow.is_closed());
}

TEST(ThreadsHttpServer, ClientsMayLeaveBeforeTheAnswer) {
  std::mutex mutex;
  std::vector<std::shared_ptr<Exchange>> waiting;
  const Server server(small(), [&](const std::shared_ptr<Exchange>& exchange) {
    const std::lock_guard lock(mutex);
    waiting.push_back(exchange);
  });
  for (int k = 0; k < 5; ++k) {
    const HttpVisitor visitor(server.port());
    EXPECT_TRUE(visitor.say(visitor.request("GET", "/")));
  }
  EXPECT_TRUE(comes([&] {
    const std::lock_guard lock(mutex);
    return waiting.size() == 5;
  }));
  HttpVisitor stays(server.port());
  EXPECT_TRUE(stays.say(stays.request("GET", "/")));
  EXPECT_TRUE(comes([&] {
    const std::lock_guard lock(mutex);
    return waiting.size() == 6;
  }));
  const std::lock_guard lock(mutex);
  for (const auto& exchange : waiting) echo(exchange);
  EXPECT_EQ(stays.answer().body, "GET / ");
}

// Nobody waits for ever: who was not answered hears that the server stops.
TEST(ThreadsHttpServer, StopsWhileSomeWait) {
  std::shared_ptr<Exchange> kept;
  std::mutex mutex;
  std::optional<Server> server;
  server.emplace(small(), [&](const std::shared_ptr<Exchange>& exchange) {
    const std::lock_guard lock(mutex);
    kept = exchange;
  });
  HttpVisitor visitor(server->port());
  EXPECT_TRUE(visitor.say(visitor.request("GET", "/")));
  EXPECT_TRUE(comes([&] {
    const std::lock_guard lock(mutex);
    return kept != nullptr;
  }));
  server->stop(1ms);
  EXPECT_EQ(visitor.answer().status, 503);
  server.reset();
  kept->answer(Response{});  // too late, and harmless
}

EventStream::Text text(const std::string& of) { return std::make_shared<const std::string>(of); }

TEST(ThreadsHttpServer, EventsGoOut) {
  const auto events = std::make_shared<EventStream>();
  const Server server(small(),
                      [&](const std::shared_ptr<Exchange>& exchange) { exchange->answer(events); });
  HttpVisitor visitor(server.port());
  EXPECT_TRUE(visitor.say(visitor.request("GET", "/events")));
  EXPECT_EQ(visitor.answer().header("Content-Type"), "text/event-stream");
  for (int k = 0; k < 50; ++k) {
    const std::string one = "data: " + std::to_string(k) + "\n\n";
    EXPECT_TRUE(events->send(text(one), 1));
    EXPECT_NE(visitor.until(one), "");
  }
  events->finish();
  EXPECT_TRUE(visitor.is_closed());
}

// A client that does not read costs no more than its share, and hears of what it missed.
TEST(ThreadsHttpServer, WhoDoesNotReadMissesEvents) {
  const auto events = std::make_shared<EventStream>();
  const Server server(small(),
                      [&](const std::shared_ptr<Exchange>& exchange) { exchange->answer(events); });
  HttpVisitor visitor(server.port());
  EXPECT_TRUE(visitor.say(visitor.request("GET", "/events")));
  EXPECT_EQ(visitor.answer().status, 200);
  const auto large = text("data: " + std::string(10'000, 'x') + "\n\n");
  std::size_t missed = 0;
  while (missed < 10) missed += events->send(large, 1) ? 0 : 1;
  std::thread reader([&] { EXPECT_NE(visitor.until("event: skipped\ndata: {\"events\":"), ""); });
  while (!events->send(text("data: last\n\n"), 1)) std::this_thread::yield();
  reader.join();
  EXPECT_NE(visitor.until("data: last\n\n"), "");
}

TEST(ThreadsHttpServer, ListenersMayLeave) {
  const auto events = std::make_shared<EventStream>();
  const Server server(small(),
                      [&](const std::shared_ptr<Exchange>& exchange) { exchange->answer(events); });
  {
    HttpVisitor visitor(server.port());
    EXPECT_TRUE(visitor.say(visitor.request("GET", "/events")));
    EXPECT_EQ(visitor.answer().status, 200);
  }
  EXPECT_TRUE(comes([&] {
    events->send(text(": x\n\n"), 0);
    return events->is_gone();
  }));
}

}  // namespace
}  // namespace kalstream::http
