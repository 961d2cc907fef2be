// run --save, run --start and inspect.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "end_to_end/program.h"

namespace kalstream::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Rows first … last − 1 of a stream.
std::string rows(int first, int last) {
  std::ostringstream text;
  text.precision(17);
  text << "a,b,y\n";
  for (int t = first; t < last; ++t)
    text << std::sin(0.7 * t) << "," << std::cos(1.1 * t) << ","
         << 40 + 9 * std::sin(0.7 * t + std::cos(1.1 * t)) << "\n";
  return text.str();
}

/// The last column of a CSV file, without its header.
std::vector<std::string> last_column(const std::string& csv) {
  std::istringstream in(csv);
  std::vector<std::string> column;
  for (std::string line; std::getline(in, line);)
    column.push_back(line.substr(line.rfind(',') + 1));
  column.erase(column.begin());
  return column;
}

// Two halves with a snapshot between them are the whole, to the last digit.
TEST(Snapshots, ResumingIsNeverHavingStopped) {
  for (const std::string learner :
       {"alg2 --unscaled --set output=identity --lags 2 --hidden 3", "ekf --hidden 3 --seeds 5..5",
        "rls", "auto --hidden 4", "auto-max --hidden 4"}) {
    const Workplace w;
    w.file("all.csv", rows(0, 160));
    w.file("one.csv", rows(0, 90));
    w.file("two.csv", rows(90, 160));
    const Ran all = w.kalstream("run --data all.csv --learner " + learner + " --csv -");
    ASSERT_EQ(all.exit_code, fine) << all.err;
    const Ran one =
        w.kalstream("run --data one.csv --learner " + learner + " --csv - --save learnt.kal");
    ASSERT_EQ(one.exit_code, fine) << one.err;
    const Ran two = w.kalstream("run --data two.csv --start learnt.kal --csv -");
    ASSERT_EQ(two.exit_code, fine) << two.err;
    auto joined = last_column(one.out);
    const auto rest = last_column(two.out);
    joined.insert(joined.end(), rest.begin(), rest.end());
    EXPECT_EQ(joined, last_column(all.out)) << learner;
  }
}

// The same file may be gone on from and saved to: the one before is kept.
TEST(Snapshots, GoOnInPlace) {
  const Workplace w;
  w.file("d.csv", rows(0, 60));
  ASSERT_EQ(w.kalstream("run --data d.csv --learner rls --save s.kal --quiet").exit_code, fine);
  const Ran again = w.kalstream("run --data d.csv --resume s.kal --save s.kal --json -");
  ASSERT_EQ(again.exit_code, fine) << again.err;
  EXPECT_THAT(again.out, HasSubstr("\"scored\": 60"));  // the first row, too: targets are known
  EXPECT_THAT(w.kalstream("inspect s.kal").out, HasSubstr("rls after 120 samples"));
  EXPECT_THAT(w.kalstream("inspect s.kal.previous").out, HasSubstr("rls after 60 samples"));
  EXPECT_EQ(w.files(), 3U);
}

TEST(Snapshots, InspectExplainsOne) {
  const Workplace w;
  w.file("d.csv", rows(0, 60));
  ASSERT_EQ(w.kalstream("run --data d.csv --learner alg2 --hidden 3 --lags 2 --save s.kal "
                        "--set error_bounds=0.5,0.125")
                .exit_code,
            fine);
  const Ran ran = w.kalstream("inspect s.kal");
  ASSERT_EQ(ran.exit_code, fine) << ran.err;
  EXPECT_THAT(ran.out,
              AllOf(HasSubstr("s.kal: alg2, scaled, after 60 samples"), HasSubstr("KiB"),
                    HasSubstr("2 inputs, 2 past targets, 3 units"), HasSubstr("alg2.error_bounds"),
                    HasSubstr("bound 0.125"), HasSubstr("weight")));
}

TEST(Snapshots, ErrorsSayWhatToDo) {
  const Workplace w;
  w.file("d.csv", rows(0, 40));
  w.file("narrow.csv", "a,y\n1,2\n2,3\n");
  const auto expect = [&](const std::string& arguments, int code, const std::string& text) {
    const Ran ran = w.kalstream(arguments);
    EXPECT_EQ(ran.exit_code, code) << arguments;
    EXPECT_THAT(ran.err + ran.out, HasSubstr(text)) << arguments;
  };
  expect("run --data d.csv --learner rls,ar --save s.kal", usage, "one learner, one seed");
  expect("run --data d.csv --learner rls --seeds 2 --save s.kal", usage, "one learner, one seed");
  expect("run --data d.csv --learner rls --save -", usage, "a file");
  expect("run --data d.csv --learner rls --save d.csv", usage, "overwritten");
  expect("run --data d.csv --learner rls --save no/such/folder", failure, "no/such/folder");
  EXPECT_EQ(w.files(), 2U);
  expect("run --data d.csv --learner rls --save s.kal", fine, "");
  expect("run --data narrow.csv --resume s.kal", bad_data,
         "what was learnt before has \"b\", which this stream lacks; it has \"a\", \"y\"");
  expect("run --data d.csv --resume s.kal --learner ar", usage, "--learner");
  expect("run --data d.csv --resume s.kal --set lags=3", usage, "--set");
  expect("run --data d.csv --resume d.csv", bad_data, "d.csv: this is not a kalstream snapshot");
  expect("run --data d.csv --resume none.kal", bad_data, "none.kal: cannot open");
  expect("inspect d.csv --target y", fine, "40 rows");  // data are as welcome
  expect("inspect none.kal", bad_data, "none.kal: cannot open");
  expect("inspect s.kal --learner ar", usage, "--learner");
}

}  // namespace
}  // namespace kalstream::test
