#include "http/message.h"

#include <gtest/gtest.h>

namespace kalstream::http {
namespace {

TEST(HttpMessage, TargetsAreTakenApart) {
  Request r;
  ASSERT_TRUE(set_target(r, "/api/v1/streams/a%2Fb/history?key=x%20y&empty&k=1%2B1&plus=a+b"));
  EXPECT_EQ(r.path, "/api/v1/streams/a%2Fb/history");
  EXPECT_EQ(r.parts, (std::vector<std::string>{"api", "v1", "streams", "a/b", "history"}));
  EXPECT_EQ(r.value("key"), "x y");
  EXPECT_EQ(r.value("empty"), "");
  EXPECT_EQ(r.value("k"), "1+1");
  EXPECT_EQ(r.value("plus"), "a b");
  EXPECT_FALSE(r.value("other"));
  ASSERT_TRUE(set_target(r, "/"));
  EXPECT_EQ(r.parts, std::vector<std::string>{""});
  for (const char* bad : {"", "http://elsewhere/", "*", "api"}) EXPECT_FALSE(set_target(r, bad));
}

TEST(HttpMessage, HalfAnEscapeIsNone) {
  EXPECT_EQ(percent_decoded("%"), "%");
  EXPECT_EQ(percent_decoded("%4"), "%4");
  EXPECT_EQ(percent_decoded("%zz%41"), "%zzA");
  EXPECT_EQ(percent_decoded("a+b"), "a+b");
}

TEST(HttpMessage, ErrorsAreJsonWhateverTheyHold) {
  EXPECT_EQ(error(404, "not_found", "no \"x\"").body,
            "{\"error\":{\"code\":\"not_found\",\"message\":\"no \\\"x\\\"\"}}\n");
}

}  // namespace
}  // namespace kalstream::http
