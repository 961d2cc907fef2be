// kalstream top, on a file and on nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "end_to_end/program.h"
#include "end_to_end/terminal.h"

namespace kalstream::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* metrics = R"(# HELP kalstream_info What is running; always 1.
# TYPE kalstream_info gauge
kalstream_info{learner="auto",version="1.0"} 1
kalstream_uptime_seconds 3700
kalstream_lines_read_total 12400
kalstream_samples_predicted_total 12345
kalstream_nse{window="all"} 0.25
kalstream_nse{window="recent"} 0.125
kalstream_latency_seconds{quantile="0.99"} 0.00025
kalstream_expert_weight{expert="ekf"} 0.25
kalstream_expert_weight{expert="rls"} 0.75
kalstream_warnings_total{kind="drift"} 3
)";

TEST(Top, ShowsAFileOnce) {
  const Workplace w;
  w.file("stream.prom", metrics);
  const Ran ran = w.kalstream("top --metrics-file stream.prom --once");
  EXPECT_EQ(ran.exit_code, fine) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("auto"), HasSubstr("up 1 h 1 m"), HasSubstr("12,345"),
                             HasSubstr("0.2500"), HasSubstr("0.1250"), HasSubstr("250 µs"),
                             HasSubstr("3 drift"), HasSubstr("0.750")));
  EXPECT_THAT(ran.out, Not(HasSubstr("\x1b")));
  EXPECT_LT(ran.out.find("rls"), ran.out.find("ekf"));
}

TEST(Top, IsALinePerLookInAFile) {
  const Workplace w;
  w.file("stream.prom", metrics);
  const Ran ran =
      w.kalstream("top --metrics-file stream.prom --every 0.1 | (head -n 2 >log); cat log");
  const std::string line =
      "up 1 h 1 m  12345 samples  NSE 0.2500 (recent 0.1250)  p99 250 µs  3 warnings\n";
  EXPECT_EQ(ran.out, line + line);
}

// Once it has drawn itself it waits, for an hour, for keys and signals.
const std::string wait_on_terminal =
    "'" KALSTREAM_PROGRAM "' top --metrics-file stream.prom --every 3600";

TEST(Top, EndsWithItsTerminal) {
  const Workplace w;
  w.file("stream.prom", metrics);
  OnTerminal top(w.path(""), wait_on_terminal);
  ASSERT_TRUE(top.shows("12,345"));
  top.hang_up();
  EXPECT_TRUE(top.ends());
}

TEST(Top, EndsWhenTold) {
  const Workplace w;
  w.file("stream.prom", metrics);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    OnTerminal top(w.path(""), wait_on_terminal);
    ASSERT_TRUE(top.shows("12,345"));
    top.kill(signal);
    EXPECT_TRUE(top.ends()) << signal;
  }
  OnTerminal top(w.path(""), wait_on_terminal);
  ASSERT_TRUE(top.shows("12,345"));
  top.type("q");
  EXPECT_TRUE(top.ends());
}

TEST(Top, SaysWhatIsWrong) {
  const Workplace w;
  const Ran missing = w.kalstream("top --metrics-file none.prom");
  EXPECT_EQ(missing.exit_code, failure);
  EXPECT_EQ(missing.err,
            "kalstream: none.prom is not there; is kalstream stream running with --metrics-file "
            "none.prom?\n");
  EXPECT_EQ(w.kalstream("top --metrics-file . --once").exit_code, failure);
  w.file("other.txt", "hello, world\n");
  const Ran other = w.kalstream("top --metrics-file other.txt --once");
  EXPECT_EQ(other.exit_code, failure);
  EXPECT_THAT(other.err, HasSubstr("other.txt holds no metrics of kalstream: line 1 is no metric"));
  w.file("foreign.prom", "up 1\n");
  EXPECT_EQ(w.kalstream("top --metrics-file foreign.prom --once").exit_code, failure);
  const Ran nobody = w.kalstream("top --metrics-port 1 --once");
  EXPECT_EQ(nobody.exit_code, failure);
  EXPECT_THAT(nobody.err,
              AllOf(HasSubstr("127.0.0.1:1 cannot be reached"), HasSubstr("--metrics-port 1?")));
  for (const char* arguments : {"--metrics-port 0", "--metrics-port x", "--every 0", "--every nan",
                                "--metrics-port 1 --metrics-file f"})
    EXPECT_EQ(w.kalstream(std::string("top --once ") + arguments).exit_code, usage) << arguments;
}

}  // namespace
}  // namespace kalstream::test
