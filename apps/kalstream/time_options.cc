#include "time_options.h"

#include <fmt/format.h>

#include "schema/future.h"

namespace kalstream::cli {

void add_time_options(CLI::App& command, TimeChoice& a) {
  command
      .add_option("--period", a.period,
                  "The stream repeats itself after so many samples, e.g. 24,168; or none (default: "
                  "what the times tell, or auto finds)")
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      .add_option("--future", a.future,
                  "Inputs that are known ahead of their time, so that forecasts may use them; "
                  "others are held at their last values")
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      .add_option("--elapsed", a.elapsed,
                  "Whether the time since the sample before is an input (default: in a file, where "
                  "samples come at no regular times; in a live stream, no)")
      ->check(CLI::IsMember({"yes", "no"}));
}

std::string settle_elapsed(const TimeChoice& a, Dataset& data) {
  fill_elapsed(data);
  if (has_elapsed(data.schema) || !a.elapsed.empty() || data.times.empty()) return {};
  const Timeline timeline = timeline_of(data);
  if (!timeline.found.empty() || !timeline.clock.is_irregular()) return {};
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

std::string time_report(const TimeChoice& a, const Timeline& line,
                        const std::vector<double>& found) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
  if (line.clock.has_started()) add("step: " + line.clock.text());
  const auto count = [&](std::size_t n, const char* what) {
    if (n > 0) add(fmt::format("{} {}", n, what));
  };
  count(line.passed(), "missing steps were passed");
  count(line.count(Timeline::Row::late), "late rows were left out");
  count(line.count(Timeline::Row::repeated), "rows of a time that was there were left out");
  count(line.count(Timeline::Row::ahead), "rows are ahead of their time");
  const auto told = periods_of(a);
  const std::vector<double> by_times = line.clock.periods();
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
