#include "time_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "schema/future.h"

namespace kalstream::cli {

std::string settle_elapsed(const TimeChoice& a, Dataset& data) {
  if (has_elapsed(data.schema) || !a.elapsed.empty() || data.times.empty()) return {};
  const auto clocks = clocks_of(data);
  if (!std::ranges::all_of(clocks, [](const auto& c) { return c.second.is_irregular(); }))
    return {};
  add_elapsed(data);
  return "rows come at no regular times: the time since the row before is an input (--elapsed no: "
         "it is not)";
}

std::string period_text(const std::vector<double>& periods) {
  if (periods.empty()) return "none";
  std::string text;
  for (const double p : periods) text += fmt::format("{}{:.6g}", text.empty() ? "" : ", ", p);
  return text;
}

std::string time_report(const TimeChoice& a, const RunResult& run) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
  const bool is_one = run.timelines.size() == 1;
  const StreamClock clock = is_one ? run.timelines.front().clock : StreamClock();
  if (clock.has_started()) add("step: " + clock.text());
  const auto count = [&](std::size_t n, const char* what) {
    if (n > 0) add(fmt::format("{} {}", n, what));
  };
  count(run.passed_steps, "missing steps were passed");
  count(run.late_rows, "late rows were left out");
  count(run.repeated_rows, "rows of a time that was there were left out");
  count(run.ahead_rows, "rows are ahead of their time");
  if (!is_one) return text;
  const std::vector<double>& found = run.periods;
  const auto told = periods_of(a);
  const std::vector<double> by_times = clock.periods();
  if (told)
    add(fmt::format("periods: {} (--period)", period_text(*told)));
  else if (!by_times.empty())
    add(fmt::format("periods: {} (told by the times)", period_text(by_times)));
  if (!found.empty() && !told && by_times.empty())
    add(fmt::format("periods: {} (found)", period_text(found)));
  else if (!found.empty() && found != (told ? *told : by_times))
    add(fmt::format("the learner reckons with {}", period_text(found)));
  return text;
}

}  // namespace kalstream::cli
