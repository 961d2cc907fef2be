// What a board shows, as the API has it. Text is made when nobody waits for the board any more.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "serve/board.h"
#include "serve/json_text.h"
#include "session/answers.h"

namespace kalstream::serve {
namespace {

void append_forecast(std::string& to, const Board::Forecast& f, std::size_t target,
                     std::size_t targets) {
  if (f.value.empty()) {
    to += "null";
    return;
  }
  const std::size_t leads = f.value.size() / targets;
  const bool bounds = f.interval.size() == f.value.size();
  const auto column = [&](const char* name, const auto& of) {
    append_name(to, name);
    append_list(to, leads,
                [&](std::size_t lead) { append_value(to, of(lead * targets + target)); });
  };
  to += '{';
  append_name(to, "time");
  append_list(to, leads, [&](std::size_t lead) {
    append_time(to, lead < f.time.size() ? f.time[lead] : "", f.time_is_text);
  });
  column("value", [&](std::size_t k) { return f.value[k]; });
  column("low", [&](std::size_t k) { return bounds ? f.interval[k].low : NAN; });
  column("high", [&](std::size_t k) { return bounds ? f.interval[k].high : NAN; });
  to += '}';
}

void append_experts(std::string& to, const StreamStatus& status) {
  const std::size_t n = std::min(status.expert_names.size(), status.expert_weights.size());
  append_name(to, "experts");
  if (n == 0) {
    to += "null";
    return;
  }
  to += '{';
  append_name(to, "names");
  append_list(to, n, [&](std::size_t k) { append_value(to, status.expert_names[k]); });
  append_name(to, "weights");
  append_list(to, n, [&](std::size_t k) { append_value(to, status.expert_weights[k]); });
  to += '}';
}

/// The end of an object that tells of a warning.
void append_warning(std::string& to, const Board::Warned& warning) {
  append_field(to, "key", std::optional<std::string>());
  append_field(to, "kind", warning.kind);
  append_field(to, "text", warning.text);
  append_field(to, "at", warning.at);
  to += '}';
}

/// Null where that is 0: there was none.
double unless_none(std::int64_t last) { return last > 0 ? static_cast<double>(last) : NAN; }

/// Whether the text holds the pattern, in small letters or capitals.
bool holds(std::string_view text, std::string_view pattern) {
  const auto same = [](unsigned char a, unsigned char b) {
    return std::tolower(a) == std::tolower(b);
  };
  return std::search(text.begin(), text.end(), pattern.begin(), pattern.end(), same) !=
             text.end() ||
         pattern.empty();
}

}  // namespace

std::string Board::stream_json(Detail detail) const {
  const std::lock_guard lock(mutex_);
  std::string to = "{";
  append_field(to, "name", name_);
  append_field(to, "learner", learner_);
  append_field(to, "keys", keys_);
  append_field(to, "created", created_);
  append_field(to, "samples", counts_.samples);
  append_field(to, "models", model_count_);
  append_field(to, "targets", targets_);
  append_field(to, "interval", interval_ > 0 ? interval_ : NAN);
  append_field(to, "horizon", horizon_);
  append_field(to, "nse", errors_.nse);
  append_field(to, "nse_recent", recent_errors_.nse);
  double naive = NAN;
  if (keys_ && naive_)
    naive = naive_->recent().nse;
  else if (!models_.empty())
    naive = models_.front().naive->recent().nse;
  append_field(to, "naive_nse_recent", naive);
  append_field(to, "coverage_recent", coverage_recent_);
  append_field(to, "surprise", surprise_);
  append_field(to, "anomalies", counts_.anomalies);
  append_field(to, "alarms", counts_.alarms);
  const auto& of_kinds = status_.warnings;
  const std::uint64_t warnings =
      std::accumulate(of_kinds.begin(), of_kinds.end(), std::uint64_t{0});
  append_field(to, "warnings", std::max<std::uint64_t>(warnings, warnings_.size()));
  append_field(to, "last", unless_none(last_));
  append_field(to, "rate", status_.samples_per_second);
  append_name(to, "latency_ms");
  to += '{';
  append_field(to, "p50", status_.latency.p50 * 1e3);
  append_field(to, "p99", status_.latency.p99 * 1e3);
  append_field(to, "max", status_.latency.max * 1e3);
  to += '}';
  append_field(to, "refused", counts_.refused);
  append_field(to, "memory_bytes", memory_);
  append_field(to, "failure", failure_.empty() ? std::nullopt : std::optional(failure_));
  if (detail == Detail::all) {
    to += ",\"options\":" + options_ + ",\"schema\":" + schema_ + ",\"scores\":{";
    append_field(to, "samples", counts_.samples);
    append_field(to, "learnt", counts_.learnt);
    append_field(to, "nse", errors_.nse);
    append_field(to, "rmse", errors_.rmse);
    append_field(to, "mae", errors_.mae);
    append_field(to, "nse_recent", recent_errors_.nse);
    append_field(to, "rmse_recent", recent_errors_.rmse);
    append_field(to, "mae_recent", recent_errors_.mae);
    append_field(to, "naive_nse_recent", naive);
    append_field(to, "coverage", status_.coverage);
    append_field(to, "coverage_recent", coverage_recent_);
    to += '}';
  }
  if (detail != Detail::brief) append_experts(to, status_);
  to += '}';
  return to;
}

std::string Board::history_json(const View& view, std::size_t most) const {
  std::vector<ShownPoint> points;
  Forecast forecast;
  std::vector<std::string> targets;
  std::string end = "{";
  bool mixed = false;
  {
    const std::lock_guard lock(mutex_);
    targets = targets_;
    mixed = keys_ && !view.key;
    if (const Points* all = points_of(view))
      points = all->from(all->size() - std::min(most, all->size()), view.target);
    const Model* model = find(view);
    if (model != nullptr) forecast = model->forecast;
    append_experts(end, keys_ ? StreamStatus() : status_);
    const bool of_model = keys_ && model != nullptr;
    append_field(end, "nse", of_model ? model->score->all().nse : errors_.nse);
    append_field(end, "nse_recent", of_model ? model->score->recent().nse : recent_errors_.nse);
    const auto& naive = model != nullptr ? model->naive : naive_;
    append_field(end, "naive_nse_recent", naive ? naive->recent().nse : NAN);
    constexpr std::size_t told = 50;
    const std::size_t first = warnings_.size() - std::min(told, warnings_.size());
    append_name(end, "warnings");
    append_list(end, warnings_.size() - first, [&](std::size_t k) {
      end += '{';
      append_warning(end, warnings_[first + k]);
    });
  }
  std::string to = "{";
  append_field(to, "stream", name_);
  append_field(to, "key", view.key);
  append_field(to, "target", view.target < targets.size() ? targets[view.target] : "");
  append_field(to, "targets", targets);
  append_name(to, "points");
  to += '{';
  const auto column = [&](const char* name, const auto& of) {
    append_name(to, name);
    append_list(to, points.size(),
                [&](std::size_t k) { append_value(to, std::invoke(of, points[k])); });
  };
  column("sample", &Point::sample);
  column("at", &Point::at);
  append_name(to, "time");
  append_list(to, points.size(),
              [&](std::size_t k) { append_time(to, points[k].time, points[k].time_is_text); });
  column("target", &Numbers::target);
  column("prediction", &Numbers::prediction);
  column("low", &Numbers::low);
  column("high", &Numbers::high);
  column("surprise", &Numbers::surprise);
  column("anomaly", &Point::anomaly);
  if (mixed) column("key", &Point::key);
  to += '}';
  append_name(to, "forecast");
  append_forecast(to, forecast, view.target, std::max<std::size_t>(1, targets.size()));
  to += ',';
  return to.append(end, 1) + '}';  // without its brace
}

std::string Board::models_json(const ModelQuery& query) const {
  struct Row {
    std::string key;
    std::uint64_t samples;
    double nse;
    double surprise;
    std::uint64_t anomalies;
    std::int64_t last;
  };
  std::vector<Row> rows;
  {
    const std::lock_guard lock(mutex_);
    for (const Model& m : models_)
      if (holds(m.key, query.search))
        rows.push_back({m.key, m.samples, keys_ ? m.score->recent().nse : recent_errors_.nse,
                        m.surprise, m.anomalies, m.last});
  }
  // What is not known comes last, whichever way they are sorted.
  const auto value = [&](const Row& r) -> double {
    if (query.sort == "error") return r.nse;
    if (query.sort == "surprise") return r.surprise;
    if (r.last == 0 && query.sort != "key") return NAN;
    if (query.sort == "age") return -static_cast<double>(r.last);
    if (query.sort == "samples") return static_cast<double>(r.samples);
    return 0;
  };
  std::ranges::sort(rows, [&](const Row& a, const Row& b) {
    const double x = value(a);
    const double y = value(b);
    if (std::isnan(x) != std::isnan(y)) return std::isnan(y);
    if (!std::isnan(x) && x != y) return query.descending ? x > y : x < y;
    return query.descending && query.sort == "key" ? a.key > b.key : a.key < b.key;
  });
  const std::size_t first = std::min(query.offset, rows.size());
  const std::size_t n = std::min(query.limit, rows.size() - first);
  std::string to = fmt::format("{{\"total\":{},\"models\":", rows.size());
  append_list(to, n, [&](std::size_t k) {
    const Row& r = rows[first + k];
    to += '{';
    append_field(to, "key", r.key);
    // Nothing more is known of one that was not used since the server started.
    append_field(to, "samples", r.last > 0 ? static_cast<double>(r.samples) : NAN);
    append_field(to, "nse_recent", r.nse);
    append_field(to, "surprise", r.surprise);
    append_field(to, "anomalies", r.anomalies);
    append_field(to, "last", unless_none(r.last));
    to += '}';
  });
  to += '}';
  return to;
}

std::string Board::alarms_json(const std::optional<std::string>& key, std::size_t most) const {
  std::vector<const KeptAlarm*> told;
  const std::lock_guard lock(mutex_);
  for (const KeptAlarm& kept : alarms_)
    if (!key || kept.key == *key) told.push_back(&kept);
  const std::size_t n = std::min(most, told.size());
  std::string to = fmt::format("{{\"total\":{},\"alarms\":", counts_.alarms);
  append_list(to, n, [&](std::size_t k) {
    const KeptAlarm& kept = *told[told.size() - n + k];
    to += '{';
    append_field(to, "key", keys_ ? std::optional(kept.key) : std::nullopt);
    to += ',';
    append_alarm_fields(to, kept.alarm, targets_);
    to += '}';
  });
  return to + '}';
}

// ---- Events.

Board::News Board::news(const View& view, std::uint64_t since, std::size_t most) const {
  News news;
  std::vector<ShownPoint> points;
  Forecast forecast;
  std::vector<Label> labels;
  std::size_t targets = 1;
  bool keys = false;
  {
    const std::lock_guard lock(mutex_);
    keys = keys_;
    targets = std::max(targets, targets_.size());
    if (const Points* all = points_of(view)) {
      const std::size_t first = all->after(since);
      const std::size_t fresh = all->size() - first;
      news.left_out = fresh - std::min(fresh, most);
      points = all->from(first + news.left_out, view.target);
    }
    if (const Model* model = find(view); model != nullptr) forecast = model->forecast;
    for (const Label& label : labels_)
      if (label.event > since && (!view.key || label.key == *view.key)) labels.push_back(label);
    add_warnings(news, since);
  }
  std::string to;
  const auto begin = [&](const char* name, std::uint64_t id, const std::string& key) {
    ++news.events;
    begin_event(to, name, id);
    append_field(to, "key", keys ? std::optional(key) : std::nullopt);
  };
  for (const ShownPoint& p : points) {
    begin("point", p.event, view.key ? *view.key : p.key);
    append_field(to, "sample", p.sample);
    append_field(to, "at", p.at);
    append_name(to, "time");
    append_time(to, p.time, p.time_is_text);
    append_field(to, "target", p.target);
    append_field(to, "prediction", p.prediction);
    append_field(to, "low", p.low);
    append_field(to, "high", p.high);
    append_field(to, "surprise", p.surprise);
    append_field(to, "anomaly", p.anomaly);
    append_name(to, "forecast");
    append_forecast(to, &p == &points.back() ? forecast : Forecast(), view.target, targets);
    to += "}\n\n";
  }
  for (const Label& label : labels) {
    begin("label", label.event, label.key);
    const auto of = [&](const std::vector<double>& v) {
      return view.target < v.size() ? v[view.target] : NAN;
    };
    append_field(to, "sample", label.sample);
    append_field(to, "target", of(label.target));
    append_field(to, "surprise", of(label.surprise));
    append_field(to, "anomaly", label.anomaly);
    to += "}\n\n";
  }
  news.text = to + news.text;
  return news;
}

Board::News Board::warnings(std::uint64_t since) const {
  News news;
  const std::lock_guard lock(mutex_);
  add_warnings(news, since);
  return news;
}

void Board::begin_event(std::string& to, const char* name, std::uint64_t id) const {
  fmt::format_to(std::back_inserter(to), "id: {}\nevent: {}\ndata: {{", id, name);
  append_field(to, "stream", name_);
}

void Board::add_warnings(News& news, std::uint64_t since) const {
  news.last = event_;
  for (const Warned& warning : warnings_) {
    if (warning.event <= since) continue;
    ++news.events;
    begin_event(news.text, "warning", warning.event);
    append_warning(news.text, warning);
    news.text += "\n\n";
  }
}

}  // namespace kalstream::serve
