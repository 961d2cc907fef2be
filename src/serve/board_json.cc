// What a board shows, as the API has it. Text is made when nobody waits for the board any more.
#include <algorithm>
#include <cmath>

#include "serve/board.h"
#include "serve/json_text.h"

namespace kalstream::serve {
namespace {

/// Points as they were at a moment.
struct Shown {
  std::vector<Point> points;
  std::vector<Numbers> numbers;

  Shown() = default;
  Shown(const Points& from, std::size_t first, std::size_t target) {
    points.reserve(from.size() - first);
    numbers.reserve(from.size() - first);
    for (std::size_t k = first; k < from.size(); ++k) {
      points.push_back(from[k]);
      numbers.push_back(from.numbers(k, target));
    }
  }
};

struct ShownForecast {
  std::vector<std::string> time;
  bool time_is_text = false;
  std::vector<double> value;
  std::vector<Interval> interval;

  ShownForecast() = default;
  template <class Forecast>
  ShownForecast(const Forecast& from, std::size_t target, std::size_t targets)
      : time(from.time), time_is_text(from.time_is_text) {
    for (std::size_t k = target; k < from.value.size(); k += targets) {
      value.push_back(from.value[k]);
      if (k < from.interval.size()) interval.push_back(from.interval[k]);
    }
  }

  void append(std::string& to) const {
    if (value.empty()) {
      to += "null";
      return;
    }
    to += "{\"time\":";
    append_list(to, value.size(), [&](std::size_t k) {
      append_time(to, k < time.size() ? time[k] : "", time_is_text);
    });
    to += ",\"value\":";
    append_list(to, value.size(), [&](std::size_t k) { append_number(to, value[k]); });
    const bool bounds = interval.size() == value.size();
    to += ",\"low\":";
    append_list(to, value.size(),
                [&](std::size_t k) { append_number(to, bounds ? interval[k].low : NAN); });
    to += ",\"high\":";
    append_list(to, value.size(),
                [&](std::size_t k) { append_number(to, bounds ? interval[k].high : NAN); });
    to += '}';
  }
};

void append_names(std::string& to, const std::vector<std::string>& names) {
  append_list(to, names.size(), [&](std::size_t k) { http::append_quoted(to, names[k]); });
}

void append_experts(std::string& to, const StreamStatus& status) {
  const std::size_t n = std::min(status.expert_names.size(), status.expert_weights.size());
  if (n == 0) {
    to += "null";
    return;
  }
  to += "{\"names\":";
  append_list(to, n, [&](std::size_t k) { http::append_quoted(to, status.expert_names[k]); });
  to += ",\"weights\":";
  append_list(to, n, [&](std::size_t k) { append_number(to, status.expert_weights[k]); });
  to += '}';
}

void append_key(std::string& to, const std::optional<std::string>& key) {
  to += ",\"key\":";
  if (key)
    http::append_quoted(to, *key);
  else
    to += "null";
}

/// Whether the text holds the pattern, in small letters or capitals.
bool holds(std::string_view text, std::string_view pattern) {
  const auto same = [](unsigned char a, unsigned char b) {
    return std::tolower(a) == std::tolower(b);
  };
  return !std::ranges::search(text, pattern, same).empty() || pattern.empty();
}

}  // namespace

std::string Board::stream_json(Detail detail) const {
  const std::lock_guard lock(mutex_);
  std::string to = "{\"name\":";
  http::append_quoted(to, name_);
  append_field(to, "learner", learner_);
  append_field(to, "keys", keys_);
  append_field(to, "created", static_cast<std::uint64_t>(created_));
  append_field(to, "samples", counts_.samples);
  append_field(to, "models", model_count_);
  to += ",\"targets\":";
  append_names(to, targets_);
  append_field(to, "interval", interval_ > 0 ? interval_ : NAN);
  append_field(to, "horizon", static_cast<std::uint64_t>(horizon_));
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
  std::uint64_t warnings = 0;
  for (const std::uint64_t n : status_.warnings) warnings += n;
  append_field(to, "warnings", std::max<std::uint64_t>(warnings, warnings_.size()));
  append_field(to, "last", last_ > 0 ? static_cast<double>(last_) : NAN);
  append_field(to, "rate", status_.samples_per_second);
  to += ",\"latency_ms\":{\"p50\":";
  append_number(to, status_.latency.p50 * 1e3);
  append_field(to, "p99", status_.latency.p99 * 1e3);
  append_field(to, "max", status_.latency.max * 1e3);
  to += '}';
  append_field(to, "refused", counts_.refused);
  append_field(to, "memory_bytes", memory_);
  if (detail == Detail::all) {
    to += ",\"options\":" + options_ + ",\"schema\":" + schema_ + ",\"scores\":{\"samples\":";
    fmt::format_to(std::back_inserter(to), "{}", counts_.samples);
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
  if (detail != Detail::brief) {
    to += ",\"experts\":";
    append_experts(to, status_);
  }
  to += '}';
  return to;
}

std::string Board::experts_json() const {
  const std::lock_guard lock(mutex_);
  std::string to;
  append_experts(to, status_);
  return to;
}

std::string Board::history_json(const View& view, std::size_t most) const {
  Shown shown;
  ShownForecast forecast;
  std::vector<std::string> targets;
  std::string end = ",\"experts\":";
  bool mixed = false;
  {
    const std::lock_guard lock(mutex_);
    targets = targets_;
    mixed = keys_ && !view.key;
    if (const Points* points = points_of(view))
      shown = Shown(*points, points->size() - std::min(most, points->size()), view.target);
    const Model* model = find(view);
    if (model != nullptr)
      forecast =
          ShownForecast(model->forecast, view.target, std::max<std::size_t>(1, targets.size()));
    if (keys_)
      end += "null";
    else
      append_experts(end, status_);
    const bool of_model = keys_ && model != nullptr;
    append_field(end, "nse", of_model ? model->score->all().nse : errors_.nse);
    append_field(end, "nse_recent", of_model ? model->score->recent().nse : recent_errors_.nse);
    double naive = NAN;
    if (model != nullptr)
      naive = model->naive->recent().nse;
    else if (naive_)
      naive = naive_->recent().nse;
    append_field(end, "naive_nse_recent", naive);
    constexpr std::size_t told = 50;
    const std::size_t first = warnings_.size() - std::min(told, warnings_.size());
    end += ",\"warnings\":";
    append_list(end, warnings_.size() - first, [&](std::size_t k) {
      const Warned& warning = warnings_[first + k];
      end += "{\"key\":null";
      append_field(end, "kind", warning.kind);
      append_field(end, "text", warning.text);
      append_field(end, "at", static_cast<std::uint64_t>(warning.at));
      end += '}';
    });
  }
  std::string to = "{\"stream\":";
  http::append_quoted(to, name_);
  append_key(to, view.key);
  append_field(to, "target", view.target < targets.size() ? targets[view.target] : "");
  to += ",\"targets\":";
  append_names(to, targets);
  const std::size_t n = shown.points.size();
  const auto column = [&](const char* name, const auto& one) {
    fmt::format_to(std::back_inserter(to), "\"{}\":", name);
    append_list(to, n, one);
  };
  const auto numbers = [&](const char* name, double Numbers::*which) {
    to += ',';
    column(name, [&](std::size_t k) { append_number(to, shown.numbers[k].*which); });
  };
  const auto whole = [&](auto v) { fmt::format_to(std::back_inserter(to), "{}", v); };
  to += ",\"points\":{";
  column("sample", [&](std::size_t k) { whole(shown.points[k].sample); });
  to += ',';
  column("at", [&](std::size_t k) { whole(shown.points[k].at); });
  to += ',';
  column("time", [&](std::size_t k) {
    append_time(to, shown.points[k].time, shown.points[k].time_is_text);
  });
  numbers("target", &Numbers::target);
  numbers("prediction", &Numbers::prediction);
  numbers("low", &Numbers::low);
  numbers("high", &Numbers::high);
  numbers("surprise", &Numbers::surprise);
  to += ',';
  column("anomaly", [&](std::size_t k) { whole(shown.points[k].anomaly); });
  if (mixed) {
    to += ',';
    column("key", [&](std::size_t k) { http::append_quoted(to, shown.points[k].key); });
  }
  to += "},\"forecast\":";
  forecast.append(to);
  to += end;
  to += '}';
  return to;
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
    to += "{\"key\":";
    http::append_quoted(to, r.key);
    // Nothing more is known of one that was not used since the server started.
    append_field(to, "samples", r.last > 0 ? static_cast<double>(r.samples) : NAN);
    append_field(to, "nse_recent", r.nse);
    append_field(to, "surprise", r.surprise);
    append_field(to, "anomalies", r.anomalies);
    append_field(to, "last", r.last > 0 ? static_cast<double>(r.last) : NAN);
    to += '}';
  });
  to += '}';
  return to;
}

// ---- Events.

Board::News Board::news(const View& view, std::uint64_t since, std::size_t most) const {
  News news;
  Shown shown;
  ShownForecast forecast;
  std::vector<Label> labels;
  std::vector<Warned> warnings;
  bool keys = false;
  {
    const std::lock_guard lock(mutex_);
    news.last = event_;
    keys = keys_;
    if (const Points* points = points_of(view)) {
      std::size_t first = points->after(since);
      const std::size_t fresh = points->size() - first;
      if (fresh > most) {
        news.left_out = fresh - most;
        first += news.left_out;
      }
      shown = Shown(*points, first, view.target);
    }
    if (const Model* model = find(view); model != nullptr && !shown.points.empty())
      forecast =
          ShownForecast(model->forecast, view.target, std::max<std::size_t>(1, targets_.size()));
    for (const Label& label : labels_)
      if (label.event > since && (!view.key || label.key == *view.key)) labels.push_back(label);
    for (const Warned& warning : warnings_)
      if (warning.event > since) warnings.push_back(warning);
  }
  std::string& to = news.text;
  const auto begin = [&](const char* name, std::uint64_t id) {
    ++news.events;
    fmt::format_to(std::back_inserter(to), "id: {}\nevent: {}\ndata: {{\"stream\":", id, name);
    http::append_quoted(to, name_);
  };
  const auto add_key = [&](std::string_view key) {
    append_key(to, keys ? std::optional<std::string>(key) : std::nullopt);
  };
  for (std::size_t k = 0; k < shown.points.size(); ++k) {
    const Point& p = shown.points[k];
    const Numbers& n = shown.numbers[k];
    begin("point", p.event);
    add_key(view.key ? *view.key : p.key);
    append_field(to, "sample", p.sample);
    append_field(to, "at", static_cast<std::uint64_t>(p.at));
    to += ",\"time\":";
    append_time(to, p.time, p.time_is_text);
    append_field(to, "target", n.target);
    append_field(to, "prediction", n.prediction);
    append_field(to, "low", n.low);
    append_field(to, "high", n.high);
    append_field(to, "surprise", n.surprise);
    append_field(to, "anomaly", p.anomaly);
    to += ",\"forecast\":";
    if (k + 1 == shown.points.size())
      forecast.append(to);
    else
      to += "null";
    to += "}\n\n";
  }
  for (const Label& label : labels) {
    begin("label", label.event);
    add_key(label.key);
    append_field(to, "sample", label.sample);
    const auto of = [&](const std::vector<double>& v) {
      return view.target < v.size() ? v[view.target] : NAN;
    };
    append_field(to, "target", of(label.target));
    append_field(to, "surprise", of(label.surprise));
    append_field(to, "anomaly", label.anomaly);
    to += "}\n\n";
  }
  append_warnings(news, warnings);
  return news;
}

void Board::append_warnings(News& news, const std::vector<Warned>& warnings) const {
  std::string& to = news.text;
  for (const Warned& warning : warnings) {
    ++news.events;
    fmt::format_to(std::back_inserter(to),
                   "id: {}\nevent: warning\ndata: {{\"stream\":", warning.event);
    http::append_quoted(to, name_);
    to += ",\"key\":null";
    append_field(to, "kind", warning.kind);
    append_field(to, "text", warning.text);
    append_field(to, "at", static_cast<std::uint64_t>(warning.at));
    to += "}\n\n";
  }
}

Board::News Board::warnings(std::uint64_t since) const {
  News news;
  std::vector<Warned> warnings;
  {
    const std::lock_guard lock(mutex_);
    news.last = event_;
    for (const Warned& warning : warnings_)
      if (warning.event > since) warnings.push_back(warning);
  }
  append_warnings(news, warnings);
  return news;
}

}  // namespace kalstream::serve
