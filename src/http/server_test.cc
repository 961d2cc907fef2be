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

// Where a request ends, and whom it is for, a proxy before this server must not be able to take for
// something else.
TEST(ThreadsHttpServer, WhatTwoMayReadDifferentlyIsRefused) {
  std::atomic<int> served = 0;
  const Server server(small(), [&](const std::shared_ptr<Exchange>& exchange) {
    ++served;
    echo(exchange);
  });
  const auto said = [&](const std::string& text) {
    HttpVisitor asks(server.port());
    EXPECT_TRUE(asks.say(text));
    const HttpAnswer answer = asks.answer();
    return answer.status == 400 && answer.header("Connection") != "close" ? 0 : answer.status;
  };
  const std::string get = "GET / HTTP/1.1\r\nHost: localhost\r\n";
  const std::string post = "POST / HTTP/1.1\r\nHost: localhost\r\n";
  const std::string length = "Content-Length: 5\r\n";
  const std::string chunked = "Transfer-Encoding: chunked\r\n";
  const std::string after = "0\r\n\r\nGET /hidden HTTP/1.1\r\nHost: localhost\r\n\r\n";
  using namespace std::string_literals;
  for (const std::string& text :
       {post + length + chunked + "\r\n" + after,
        post + chunked + length + "\r\n" + after,
        post + length + "Content-Length: 0\r\n\r\n" + after,
        post + length + length + "\r\n" + after,
        post + "content-length: 0\r\n" + length + "\r\n" + after,
        post + "Content-Length : 5\r\n\r\n" + after,
        post + "Transfer-Encoding : chunked\r\n\r\n" + after,
        post + "Transfer-Encoding: gzip, chunked\r\n\r\n" + after,
        post + "Transfer-Encoding: \vchunked\r\n\r\n" + after,
        post + chunked + chunked + "\r\n" + after,
        "POST / HTTP/1.0\r\n" + chunked + "\r\n" + after,
        get + "Host: evil.example\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: evil.example\r\nHost: localhost\r\n\r\n"s,
        "GET / HTTP/1.1\r\nHost: localhost\0.evil.example\r\n\r\n"s,
        "GET / HTTP/1.1\r\nHost: localhost\0\r\n\r\n"s,
        get + "\0Content-Length: 5\r\n\r\n"s + after,
        get + "X: a\0\r\n\r\n"s,
        get + "X:\0 a\r\n\r\n"s,
        get + "X: a\rContent-Length: 5\r\n\r\n",
        get + "X: a\nY: b\r\n\r\n",
        get + "X: a\r\n\n",
        "GET /\0x HTTP/1.1\r\nHost: localhost\r\n\r\n"s})
    EXPECT_EQ(said(text), 400) << testing::PrintToString(text);
  EXPECT_EQ(served, 0);
  for (const std::string& text :
       {get + "\r\n", "\r\n\r\n" + get + "\r\n", get + "X:y\r\nZ: \t z \r\nEmpty:\r\n\r\n",
        post + length + "\r\nabcde",
        post + "Transfer-Encoding: Chunked\r\n\r\n" + "3;x=y\r\nabc\r\n0\r\n\r\n",
        "GET / HTTP/1.0\r\n\r\n"s, get + "Cookie: a=b; c\r\nX: z\r\n\r\n"})
    EXPECT_EQ(said(text), 200) << text;
}

// Bodies that do not come, and connections that ask nothing, leave room for others.
TEST(ThreadsHttpServer, WhoKeepsOthersWaitingIsLetGo) {
  ServerOptions options = small();
  options.max_bodies = 3000;
  options.max_connections = 24;
  const Server server(options, echo);
  const auto many = [&](int count, const std::string& text) {
    std::vector<std::unique_ptr<HttpVisitor>> all;
    for (int k = 0; k < count; ++k) {
      all.push_back(std::make_unique<HttpVisitor>(server.port()));
      all.back()->say(text);
    }
    return all;
  };
  const auto is_served = [&] {
    return HttpVisitor(server.port()).ask("POST", "/", std::string(1000, 'x')).status == 200;
  };
  const std::string announced =
      "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n";
  {
    const auto one_byte = many(16, announced + "x");
    EXPECT_TRUE(is_served());
  }
  {
    const auto all_but_one = many(16, announced + std::string(999, 'x'));
    for (int k = 0; k < 5; ++k) EXPECT_TRUE(is_served());
  }
  const auto silent = many(100, "");
  for (int k = 0; k < 5; ++k) EXPECT_TRUE(is_served());
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
