#include "http/guard.h"

#include <gtest/gtest.h>

#include "http/listener.h"

namespace kalstream::http {
namespace {

using namespace std::chrono_literals;

Request ask(const std::string& method = "GET", const std::string& target = "/api/v1/streams") {
  Request r;
  set_target(r, target);
  r.method = method;
  r.host = "127.0.0.1:8080";
  r.client = "127.0.0.1";
  return r;
}

unsigned status(Guard& guard, const Request& request, Guard::Clock::time_point now = {}) {
  const auto refusal = guard.refuse(request, now);
  return refusal ? refusal->status : 200;
}

// A page of another site can make a name of its own lead here, but then the Host header has that
// name.
TEST(HttpGuard, OnlyKnownHosts) {
  Guard guard({.hosts = {"Plant.example"}});
  Request r = ask();
  for (const char* host : {"127.0.0.1:8080", "127.0.0.1", "localhost", "LocalHost:1", "[::1]:8080",
                           "10.0.0.7", "plant.example:80", ""}) {
    r.host = host;
    EXPECT_EQ(status(guard, r), 200U) << host;
  }
  for (const char* host : {"evil.example", "evil.example:8080", "127.0.0.1.evil.example",
                           "localhost.evil.example", "[::1", "1.2.3.4.5", "plant.example.evil"}) {
    r.host = host;
    EXPECT_EQ(status(guard, r), 421U) << host;
  }
}

TEST(HttpGuard, NoOtherSiteChangesAnything) {
  Guard guard({});
  for (const char* method : {"POST", "PUT", "DELETE"}) {
    Request r = ask(method);
    EXPECT_EQ(status(guard, r), 200U);
    r.origin = "http://127.0.0.1:8080";
    EXPECT_EQ(status(guard, r), 200U);
    for (const char* origin :
         {"http://evil.example", "null", "http://127.0.0.1:9999", "https://127.0.0.1:8080.evil"}) {
      r.origin = origin;
      EXPECT_EQ(status(guard, r), 403U) << origin;
    }
  }
  Request r = ask();
  for (const char* site : {"cross-site", "same-site"}) {
    r.fetch_site = site;
    EXPECT_EQ(status(guard, r), 403U) << site;
    Request page = ask("GET", "/");  // a link to it is fine
    page.fetch_site = site;
    EXPECT_EQ(status(guard, page), 200U);
  }
  for (const char* site : {"same-origin", "none"}) {
    r.fetch_site = site;
    EXPECT_EQ(status(guard, r), 200U) << site;
  }
}

TEST(HttpGuard, TheTokenIsNeeded) {
  Guard guard({.token = "0123456789abcdef"});
  Request r = ask();
  EXPECT_EQ(status(guard, r), 401U);
  for (const char* wrong :
       {"Bearer", "Bearer ", "Bearer 0123456789abcde", "Bearer 0123456789abcdeg",
        "Bearer 0123456789abcdef0", "Basic 0123456789abcdef", "0123456789abcdef"}) {
    r.authorization = wrong;
    EXPECT_EQ(status(guard, r), 401U) << wrong;
  }
  r.authorization = "bearer 0123456789abcdef";
  EXPECT_EQ(status(guard, r), 200U);
  for (const char* open : {"/", "/healthz", "/readyz", "/openapi.json"})
    EXPECT_EQ(status(guard, ask("GET", open)), 200U) << open;
  for (const char* closed : {"/metrics", "/api/v1/events", "/healthz/../api/v1/streams"})
    EXPECT_EQ(status(guard, ask("GET", closed)), 401U) << closed;
}

TEST(HttpGuard, AClientHasItsRate) {
  Guard guard({.rate = 10});
  const Guard::Clock::time_point start(1h);
  const Request r = ask();
  for (int k = 0; k < 10; ++k) EXPECT_EQ(status(guard, r, start), 200U) << k;
  EXPECT_EQ(status(guard, r, start), 429U);
  Request other = ask();
  other.client = "10.0.0.1";
  EXPECT_EQ(status(guard, other, start), 200U);
  EXPECT_EQ(status(guard, r, start + 150ms), 200U);
  EXPECT_EQ(status(guard, r, start + 150ms), 429U);
  EXPECT_EQ(status(guard, r, start + 1h), 200U);
}

TEST(HttpGuard, LoopbackIsKnown) {
  for (const char* own : {"127.0.0.1", "127.1.2.3", "::1"}) EXPECT_TRUE(is_loopback(own)) << own;
  for (const char* other : {"0.0.0.0", "::", "10.0.0.1", "128.0.0.1"})
    EXPECT_FALSE(is_loopback(other)) << other;
  EXPECT_THROW(is_loopback("localhost"), std::runtime_error);
}

}  // namespace
}  // namespace kalstream::http
