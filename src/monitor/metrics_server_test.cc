#include "monitor/metrics_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace kalstream {
namespace {

/// A client that does what it is told.
class Visitor {
 public:
  explicit Visitor(std::uint16_t port) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  }
  ~Visitor() { ::close(socket_); }
  Visitor(const Visitor&) = delete;
  Visitor& operator=(const Visitor&) = delete;

  bool connected() const { return connected_; }
  void say(const std::string& text) const {
    EXPECT_GE(send(socket_, text.data(), text.size(), MSG_NOSIGNAL), 0);
  }
  /// Until the server closes.
  std::string listen() const {
    std::string all;
    char buffer[1024];
    for (ssize_t n = 0; (n = recv(socket_, buffer, sizeof(buffer), 0)) > 0;)
      all.append(buffer, static_cast<std::size_t>(n));
    return all;
  }

 private:
  int socket_;
  bool connected_ = false;
};

std::string fetch(const MetricsServer& server) {
  return fetch_metrics(server.port(), std::chrono::seconds(60));
}

std::string ask(const MetricsServer& server, const std::string& request) {
  const Visitor visitor(server.port());
  EXPECT_TRUE(visitor.connected());
  visitor.say(request);
  return visitor.listen();
}

TEST(ThreadsMetricsServer, ServesWhatWasPublishedLast) {
  MetricsServer server(0);
  ASSERT_NE(server.port(), 0);
  EXPECT_EQ(fetch(server), "");
  server.publish("a 1\n");
  EXPECT_EQ(fetch(server), "a 1\n");
  server.publish("a 2\n");
  EXPECT_EQ(fetch(server), "a 2\n");
  const std::string answer = ask(server, "GET /metrics?x=y HTTP/1.0\r\n\r\n");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n"));
  EXPECT_NE(answer.find("Content-Type: text/plain; version=0.0.4"), std::string::npos);
  EXPECT_NE(answer.find("Content-Length: 4\r\n"), std::string::npos);
  EXPECT_TRUE(answer.ends_with("\r\n\r\na 2\n"));
}

TEST(ThreadsMetricsServer, LargeTextsArriveWhole) {
  MetricsServer server(0);
  const std::string large(900000, 'x');
  server.publish(large);
  EXPECT_EQ(fetch(server), large);
}

TEST(ThreadsMetricsServer, AnswersOtherRequestsBriefly) {
  const MetricsServer server(0);
  const auto status = [&](const std::string& request) {
    return ask(server, request).substr(0, 12);
  };
  EXPECT_EQ(status("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"), "HTTP/1.1 200");
  EXPECT_EQ(status("GET /secret HTTP/1.1\r\nHost: localhost\r\n\r\n"), "HTTP/1.1 404");
  EXPECT_EQ(status("GET /metricsx HTTP/1.1\r\nHost: localhost\r\n\r\n"), "HTTP/1.1 404");
  EXPECT_EQ(status("POST /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"), "HTTP/1.1 405");
  // What is no request is let go in the end.
  EXPECT_EQ(status("\r\n\r\n"), "");
  EXPECT_EQ(status(std::string("\0\xff\n\n", 4)), "");
  EXPECT_EQ(status("GET /metrics HTTP/1.1\r\nx: " + std::string(20000, 'y')), "HTTP/1.1 431");
}

// Those that say nothing, or half of it, or leave, keep nobody else waiting.
TEST(ThreadsMetricsServer, SlowClientsAreInNobodysWay) {
  MetricsServer server(0);
  server.publish("a 1\n");
  std::vector<std::unique_ptr<Visitor>> idle;
  for (int i = 0; i < 10; ++i) {
    idle.push_back(std::make_unique<Visitor>(server.port()));
    if (i % 2 == 0) idle.back()->say("GET /metr");
  }
  { const Visitor gone(server.port()); }
  {
    const Visitor in_a_hurry(server.port());
    in_a_hurry.say("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
  }
  EXPECT_EQ(fetch(server), "a 1\n");
}

// More than there is room for: the last is served when the first have had their time.
TEST(ThreadsMetricsServer, ACrowdIsServedInTheEnd) {
  MetricsServer server(0);
  server.publish("a 1\n");
  std::vector<std::unique_ptr<Visitor>> crowd;
  for (int i = 0; i < 20; ++i) crowd.push_back(std::make_unique<Visitor>(server.port()));
  EXPECT_EQ(fetch(server), "a 1\n");
}

TEST(ThreadsMetricsServer, PublishesAndServesAtTheSameTime) {
  MetricsServer server(0);
  server.publish("0");
  std::atomic<bool> stop = false;
  std::thread publisher([&] {
    for (int i = 0; !stop; ++i) server.publish(std::to_string(i % 10));
  });
  std::vector<std::thread> clients;
  for (int c = 0; c < 3; ++c)
    clients.emplace_back([&] {
      for (int i = 0; i < 30; ++i) EXPECT_EQ(fetch(server).size(), 1u);
    });
  for (std::thread& client : clients) client.join();
  stop = true;
  publisher.join();
}

TEST(ThreadsMetricsServer, ComesAndGoes) {
  std::uint16_t port = 0;
  for (int i = 0; i < 20; ++i) {
    const MetricsServer server(port);
    port = server.port();
    const Visitor visitor(port);  // still there when the server goes
    EXPECT_TRUE(visitor.connected());
    visitor.say("GET /");
  }
}

TEST(ThreadsMetricsServer, SaysWhyItCannotBeOpened) {
  const MetricsServer server(0);
  try {
    const MetricsServer second(server.port());
    FAIL();
  } catch (const std::runtime_error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("metrics port " + std::to_string(server.port())), std::string::npos)
        << text;
    EXPECT_NE(text.find("choose another port"), std::string::npos) << text;
  }
  EXPECT_THROW(MetricsServer(0, "no address"), std::runtime_error);
  EXPECT_THROW(MetricsServer(0, "192.0.2.1"), std::runtime_error);
}

TEST(ThreadsMetricsServer, FetchingFromNobodyFails) {
  std::uint16_t port = 0;
  {
    const MetricsServer server(0);
    port = server.port();
  }
  EXPECT_THROW(fetch_metrics(port), std::runtime_error);
}

// Somebody who listens and never answers.
TEST(ThreadsMetricsServer, FetchingFromTheSilentEnds) {
  const int silent = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(silent, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(silent, 1), 0);
  ASSERT_EQ(getsockname(silent, reinterpret_cast<sockaddr*>(&address), &size), 0);
  EXPECT_THROW(fetch_metrics(ntohs(address.sin_port), std::chrono::milliseconds(50)),
               std::runtime_error);
  ::close(silent);
}

}  // namespace
}  // namespace kalstream
