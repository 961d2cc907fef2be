#include "forecast_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "comparison_view.h"
#include "io/results.h"
#include "lines/csv_field.h"
#include "schema/timestamp.h"
#include "view/progress.h"
#include "view/table.h"

namespace kalstream::cli {
namespace {

using ForecastJson = nlohmann::ordered_json;
using view::Align;
using view::Cell;

std::size_t horizon_of(const ForecastReport& r) {
  for (const Outlook& o : r.outlooks)
    if (o.row) return o.value.size() / r.data.n_targets();
  return 0;
}

bool has_times(const ForecastReport& r) {
  return std::ranges::any_of(r.outlooks, [](const Outlook& o) { return !o.times.empty(); });
}

/// Calls act(outlook, lead from 0) for every line of the long table.
void for_each_lead(const ForecastReport& r, const auto& act) {
  for (const Outlook& o : r.outlooks)
    for (std::size_t lead = 0; lead < o.value.size() / r.data.n_targets(); ++lead) act(o, lead);
}

// Leads that show how errors grow, and not all of them.
bool is_shown(std::size_t lead, std::size_t horizon) {
  if (lead == 0 || lead == horizon || lead <= 3 || horizon <= 12) return true;
  for (const std::size_t often : {6, 12, 24, 36, 48, 72, 96, 144, 168, 336, 504, 672})
    if (lead == often) return true;
  return false;
}

/// Of the i-th of the narrower bounds.
const Interval& inner_bounds(const ForecastReport& r, const Outlook& o, std::size_t lead,
                             std::size_t i, std::size_t target) {
  return o.inner[(lead * r.interval.inner.size() + i) * r.data.n_targets() + target];
}

/// Of each target the value of a lead and, where there are bounds, these.
std::vector<double> numbers_of(const ForecastReport& r, const Outlook& o, std::size_t lead) {
  const std::size_t n_d = r.data.n_targets();
  std::vector<double> numbers;
  for (std::size_t k = lead * n_d; k < (lead + 1) * n_d; ++k) {
    numbers.push_back(o.value[k]);
    if (r.interval.widest > 0) numbers.insert(numbers.end(), {o.low[k], o.high[k]});
    for (std::size_t i = 0; i < r.interval.inner.size(); ++i) {
      const Interval& bounds = inner_bounds(r, o, lead, i, k % n_d);
      numbers.insert(numbers.end(), {bounds.low, bounds.high});
    }
  }
  return numbers;
}

std::string key_name(const ForecastReport& r) { return r.data.schema.names(Role::key).front(); }

// What is known of a model, and how good its forecasts of the past were.
ForecastJson model_json(const ForecastReport& r, const Outlook& o) {
  const StreamClock& clock = o.timeline.clock;
  ForecastJson json = ForecastJson::object();
  if (r.has_keys()) json["key"] = o.key;
  json["rows"] = o.history;
  json["step"] = clock.has_started() ? ForecastJson(clock.text()) : ForecastJson();
  json["periods"] = o.periods.empty() ? clock.periods() : o.periods;
  for (const LeadScore& s : o.scores) {
    ForecastJson one{{"lead", s.lead == 0 ? ForecastJson("all") : ForecastJson(s.lead)},
                     {"forecasts", s.count},
                     {"rmse", json_number(s.rmse)}};
    for (std::size_t k = 0; k < o.rivals.size(); ++k)
      one["rivals"][o.rivals[k]] = json_number(s.rival_rmse[k]);
    one["coverage"] = json_number(s.coverage);
    one["width_median"] = json_number(s.median_width);
    json["backtest"].push_back(one);
  }
  return json;
}

// ---- Pictures.

constexpr std::size_t shown_panels = 6;

// Places on the x axis count steps: 0 is the last row that is known.
struct Shown {
  std::vector<double> x;
  std::vector<std::size_t> rows;
};

Shown past_of(const ForecastReport& r, const Outlook& o) {
  const Timeline& line = o.timeline;
  const std::size_t now = r.run.place[*o.row];
  const std::size_t length = std::min(now, std::clamp<std::size_t>(3 * horizon_of(r), 60, 500));
  Shown shown;
  for (std::size_t place = now - length; place <= now; ++place) {
    if (line.row_at[place] == Timeline::none) continue;
    shown.x.push_back(static_cast<double>(place) - static_cast<double>(now));
    shown.rows.push_back(line.row_at[place]);
  }
  return shown;
}

// Days, where a few begin in the picture; else round times of the day; else times at equal
// distances.
std::vector<view::Tick> time_ticks(const ForecastReport& r, const Outlook& o, double from,
                                   double to) {
  if (r.data.times.empty()) return {};
  const auto step = o.timeline.step_at(*o.row);
  const std::int64_t tick = r.data.ticks[*o.row];
  if (!step || tick == Dataset::no_moment || r.data.schema.time_form == TimeForm::number) return {};
  constexpr std::int64_t day = 86'400'000'000'000;
  const auto moment = [&](double place) { return step->after(tick, std::llround(place)); };
  std::vector<view::Tick> days;
  for (double place = from; place <= to; ++place)
    if (moment(place) % day == 0) days.push_back({place, iso_text(moment(place)).substr(0, 10)});
  constexpr std::size_t most = 6;
  constexpr std::size_t fewest = 3;
  std::vector<view::Tick> ticks;
  constexpr std::int64_t second = 1'000'000'000;
  for (const std::int64_t seconds :
       {43200, 21600, 10800, 3600, 1800, 900, 600, 300, 60, 30, 10, 1}) {
    if (days.size() >= fewest) break;
    ticks.clear();
    for (double place = from; place <= to; ++place) {
      if (moment(place) % (seconds * second) != 0) continue;
      std::string text = iso_text(moment(place)).substr(0, seconds < 60 ? 19 : 16);
      std::replace(text.begin(), text.end(), 'T', ' ');
      ticks.push_back({place, text});
    }
    if (ticks.size() >= fewest && ticks.size() <= 2 * most) {
      if (ticks.size() > most)
        for (std::size_t k = 1; k < ticks.size(); ++k)
          ticks.erase(ticks.begin() + static_cast<std::ptrdiff_t>(k));
      return ticks;
    }
  }
  ticks.clear();
  if (days.size() >= fewest) {
    const std::size_t every = (days.size() + most - 1) / most;
    for (std::size_t k = 0; k < days.size(); k += every) ticks.push_back(days[k]);
    return ticks;
  }
  for (std::size_t k = 0; k <= 4; ++k) {
    const double place = std::round(from + (to - from) * static_cast<double>(k) / 4);
    std::string text = iso_text(moment(place)).substr(0, 16);
    std::replace(text.begin(), text.end(), 'T', ' ');
    ticks.push_back({place, text});
  }
  return ticks;
}

view::Panel panel_of(const ForecastReport& r, const Outlook& o, std::size_t k) {
  const std::size_t n_d = r.data.n_targets();
  const Shown past = past_of(r, o);
  view::Series known{.name = "past", .x = past.x, .grey = true};
  for (const std::size_t row : past.rows) known.y.push_back(r.run.target[row * n_d + k]);
  // The line of the forecast goes on from the last value.
  view::Series ahead{.name = r.learner};
  if (!known.y.empty() && std::isfinite(known.y.back())) {
    ahead.x.push_back(known.x.back());
    ahead.y.push_back(known.y.back());
    if (!o.low.empty()) {
      ahead.low.push_back(known.y.back());
      ahead.high.push_back(known.y.back());
    }
  }
  for (std::size_t lead = 0; lead < horizon_of(r); ++lead) {
    ahead.x.push_back(static_cast<double>(lead + 1));
    ahead.y.push_back(o.value[lead * n_d + k]);
    if (o.low.empty()) continue;
    ahead.low.push_back(o.low[lead * n_d + k]);
    ahead.high.push_back(o.high[lead * n_d + k]);
  }
  view::Panel panel{.x_label = "steps after the last row",
                    .y_label = r.data.target_names[k],
                    .series = {std::move(known), std::move(ahead)}};
  panel.title = o.key;
  panel.x_ticks = time_ticks(r, o, past.x.front(), static_cast<double>(horizon_of(r)));
  if (!panel.x_ticks.empty()) panel.x_label = r.data.time_name;
  limit_axis(panel, 1);
  return panel;
}

}  // namespace

std::string forecast_table(const ForecastReport& r) {
  constexpr std::size_t most_lines = 200;  // of many keys; all are in --csv and --json
  std::vector<view::Column> header;
  if (r.has_keys()) header.push_back({key_name(r), Align::left});
  header.push_back({"lead"});
  if (has_times(r)) header.push_back({r.data.time_name, Align::left});
  for (const std::string& target : r.data.target_names) {
    header.push_back({target});
    if (r.interval.widest > 0) header.insert(header.end(), {{"low"}, {"high"}});
    for (const double coverage : r.interval.inner)
      header.insert(header.end(),
                    {{fmt::format("low {}", coverage)}, {fmt::format("high {}", coverage)}});
  }
  view::Table table(header);
  std::size_t lines = 0;
  for_each_lead(r, [&](const Outlook& o, std::size_t lead) {
    if (r.has_keys() && ++lines > most_lines) return;
    std::vector<Cell> cells;
    if (r.has_keys()) cells.emplace_back(o.key);
    cells.emplace_back(fmt::format("{}", lead + 1));
    if (has_times(r)) cells.emplace_back(o.times.empty() ? "" : o.times[lead]);
    for (const double v : numbers_of(r, o, lead)) cells.emplace_back(view::format_number(v, 5));
    table.add_row(std::move(cells));
  });
  std::string all = table.to_text(view::is_terminal(stdout));
  if (lines > most_lines)
    all += fmt::format("… and {} lines more: --csv has them all\n", lines - most_lines);
  return all;
}

std::string backtest_table(const ForecastReport& r, const Outlook& o) {
  std::vector<view::Column> header{{"lead"}, {"forecasts"}, {r.learner}};
  for (const std::string& rival : o.rivals) header.push_back({rival});
  if (r.interval.widest > 0) header.insert(header.end(), {{"coverage"}, {"median width"}});
  view::Table table(header);
  for (const LeadScore& s : o.scores) {
    if (!is_shown(s.lead, horizon_of(r))) continue;
    if (s.lead == 0) table.add_rule();
    double least = s.rmse;
    for (const double rival : s.rival_rmse) least = std::fmin(least, rival);
    std::vector<Cell> cells{s.lead == 0 ? "all" : fmt::format("{}", s.lead),
                            fmt::format("{}", s.count),
                            Cell(view::format_number(s.rmse), s.rmse == least)};
    for (const double rival : s.rival_rmse)
      cells.emplace_back(view::format_number(rival), rival == least);
    if (r.interval.widest > 0) {
      cells.emplace_back(std::isnan(s.coverage) ? "n/a"
                                                : fmt::format("{:.1f} %", 100 * s.coverage));
      cells.emplace_back(view::format_number(s.median_width));
    }
    table.add_row(std::move(cells));
  }
  return table.to_text(view::is_terminal(stdout));
}

std::string forecast_csv(const ForecastReport& r) {
  std::string out = r.has_keys() ? csv_field(key_name(r)) + ",lead" : "lead";
  if (has_times(r)) out += ',' + csv_field(r.data.time_name);
  std::vector<std::string> columns{"forecast"};
  if (r.interval.widest > 0) columns.insert(columns.end(), {"forecast_low", "forecast_high"});
  for (const double coverage : r.interval.inner)
    for (const char* bound : {"low", "high"})
      columns.push_back(fmt::format("forecast_{}_{}", bound, coverage));
  for (const std::string& target : r.data.target_names)
    for (const std::string& what : columns)
      out += ',' + csv_field(r.data.n_targets() == 1 ? what : fmt::format("{}_{}", what, target));
  out += '\n';
  for_each_lead(r, [&](const Outlook& o, std::size_t lead) {
    if (r.has_keys()) out += csv_field(o.key) + ',';
    out += fmt::format("{}", lead + 1);
    if (has_times(r)) out += ',' + (o.times.empty() ? std::string() : csv_field(o.times[lead]));
    for (const double v : numbers_of(r, o, lead))
      out += std::isnan(v) ? "," : fmt::format(",{}", v);
    out += '\n';
  });
  return out;
}

std::string forecast_json(const ForecastReport& r) {
  const std::size_t n_d = r.data.n_targets();
  ForecastJson root{{"source", r.data.source},
                    {"rows", 0},
                    {"targets", r.data.target_names},
                    {"learner", r.learner},
                    {"nominal_coverage",
                     r.interval.widest > 0 ? ForecastJson(r.interval.widest) : ForecastJson()},
                    {"notes", r.notes},
                    {"models", ForecastJson::array()},
                    {"forecast", ForecastJson::array()}};
  std::size_t rows = 0;
  for (const Outlook& o : r.outlooks) {
    rows += o.history;
    root["models"].push_back(model_json(r, o));
  }
  root["rows"] = rows;
  const bool numbers = r.data.schema.time_form >= TimeForm::seconds;
  // One thing per target: itself if there is but one.
  const auto each = [&](const std::vector<double>& values, std::size_t lead) {
    if (n_d == 1) return json_number(values[lead]);
    ForecastJson list = ForecastJson::array();
    for (std::size_t k = 0; k < n_d; ++k) list.push_back(json_number(values[lead * n_d + k]));
    return list;
  };
  for_each_lead(r, [&](const Outlook& o, std::size_t lead) {
    ForecastJson one = ForecastJson::object();
    if (r.has_keys()) one["key"] = o.key;
    one["lead"] = lead + 1;
    if (!o.times.empty()) {
      const ForecastJson as_number =
          numbers ? ForecastJson::parse(o.times[lead], nullptr, false) : ForecastJson();
      one["time"] = as_number.is_number() ? as_number : ForecastJson(o.times[lead]);
    }
    one["value"] = each(o.value, lead);
    if (r.interval.widest > 0) {
      one["low"] = each(o.low, lead);
      one["high"] = each(o.high, lead);
    }
    for (std::size_t i = 0; i < r.interval.inner.size(); ++i) {
      std::vector<double> low;
      std::vector<double> high;
      for (std::size_t k = 0; k < n_d; ++k) {
        const Interval& bounds = inner_bounds(r, o, lead, i, k);
        low.push_back(bounds.low);
        high.push_back(bounds.high);
      }
      one[fmt::format("low_{}", r.interval.inner[i])] = each(low, 0);
      one[fmt::format("high_{}", r.interval.inner[i])] = each(high, 0);
    }
    root["forecast"].push_back(std::move(one));
  });
  return root.dump(2, ' ', false, ForecastJson::error_handler_t::replace) + "\n";
}

std::string forecast_svg(const ForecastReport& r) {
  std::vector<view::Panel> panels;
  for (const Outlook& o : r.outlooks)
    for (std::size_t k = 0; o.row && k < r.data.n_targets() && panels.size() < shown_panels; ++k)
      panels.push_back(panel_of(r, o, k));
  std::string subtitle = fmt::format("the next {} steps", horizon_of(r));
  const Outlook& first = r.outlooks.front();
  if (!first.times.empty() && !r.has_keys())
    subtitle += fmt::format(", until {}", first.times.back());
  if (r.interval.widest > 0)
    subtitle +=
        fmt::format("; the band should hold {:.4g} % of the values", 100 * r.interval.widest);
  if (r.has_keys() && r.outlooks.size() * r.data.n_targets() > shown_panels)
    subtitle += fmt::format("; the first {} of {} keys", shown_panels / r.data.n_targets(),
                            r.outlooks.size());
  return view::line_chart(panels, {.title = fmt::format("Forecast of {}", r.data.name),
                                   .subtitle = subtitle,
                                   .description = "Past values, forecast values and their bounds",
                                   .width = panels.size() == 1 ? 860.0 : 0,
                                   .columns = panels.size() == 1 ? 1U : 2U});
}

std::string forecast_text_chart(const ForecastReport& r, const Outlook& o, std::size_t width,
                                bool colours) {
  const view::Panel panel = panel_of(r, o, 0);
  view::TextChartStyle style{.width = width, .colours = colours};
  const std::size_t first = past_of(r, o).rows.front();
  style.left = r.data.times.empty() ? fmt::format("row {}", first + 1) : r.data.times[first];
  style.right = o.times.empty() ? fmt::format("{} ahead", horizon_of(r)) : o.times.back();
  return view::text_chart(panel, style);
}

}  // namespace kalstream::cli
