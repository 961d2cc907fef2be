#include "session/answers.h"

#include <algorithm>
#include <cmath>

#include "engine/engine.h"
#include "lines/csv_field.h"
#include "lines/json_text.h"

namespace kalstream {
namespace {

void append(std::string& to, double v, const char* none) {
  if (std::isfinite(v))
    append_json_number(to, v);
  else
    to += none;
}

// What was written without quotes goes out as it came in.
void append_as_written(std::string& to, std::string_view text, bool is_text) {
  if (is_text)
    append_json_text(to, text);
  else
    to += text;
}

// One thing per target: itself if there is but one, else a list.
void append_each(std::string& to, std::size_t n, const auto& one) {
  if (n != 1) to += '[';
  for (std::size_t k = 0; k < n; ++k) {
    if (k > 0) to += ',';
    one(k);
  }
  if (n != 1) to += ']';
}

void append_numbers(std::string& to, std::span<const double> values) {
  append_each(to, values.size(), [&](std::size_t k) { append(to, values[k], "null"); });
}

void append_intervals(std::string& to, std::span<const Interval> intervals) {
  append_each(to, intervals.size(), [&](std::size_t k) {
    to += '[';
    append(to, intervals[k].low, "null");
    to += ',';
    append(to, intervals[k].high, "null");
    to += ']';
  });
}

// The most probable of the classes that have come; nullptr if none has.
const std::string* most_probable(const Answer& a) {
  const std::size_t n = std::min(a.classes.size(), a.prediction.size());
  if (n == 0) return nullptr;
  return &a.classes[static_cast<std::size_t>(
      std::max_element(a.prediction.begin(),
                       a.prediction.begin() + static_cast<std::ptrdiff_t>(n)) -
      a.prediction.begin())];
}

void append_classes(std::string& to, const Answer& a) {
  if (a.prediction.empty()) return;
  const std::string* top = most_probable(a);
  to += ",\"prediction\":";
  append_as_written(to, top == nullptr ? "null" : *top, top != nullptr);
  to += ",\"probabilities\":{";
  for (std::size_t k = 0; k < std::min(a.classes.size(), a.prediction.size()); ++k) {
    if (k > 0) to += ',';
    append_json_text(to, a.classes[k]);
    to += ':';
    append(to, a.prediction[k], "null");
  }
  to += '}';
}

// Of the n_d values at each lead of a forecast.
void append_leads(std::string& to, auto values, std::size_t n_d, const auto& append_one) {
  to += '[';
  for (std::size_t at = 0; at < values.size(); at += n_d) {
    if (at > 0) to += ',';
    append_one(to, values.subspan(at, n_d));
  }
  to += ']';
}

}  // namespace

void append_alarm_fields(std::string& to, const AlarmEvent& alarm,
                         std::span<const std::string> targets) {
  const auto moment = [&](const std::string& what, const AlarmTime& at) {
    if (at.sample == 0) return;
    to += ",\"" + what + "\":" + std::to_string(at.sample);
    if (at.time.empty()) return;
    to += ",\"" + what + "_time\":";
    append_as_written(to, at.time, at.is_text);
  };
  to.append("\"kind\":\"").append(to_string(alarm.kind)).append("\"");
  moment("start", alarm.start);
  moment("end", alarm.end);
  if (targets.size() > 1 && alarm.output < targets.size()) {
    to += ",\"target\":";
    append_json_text(to, targets[alarm.output]);
  }
  to += ",\"value\":";
  append(to, alarm.value, "null");
  to += ",\"severity\":";
  append(to, alarm.severity, "null");
}

AnswerWriter::Shape shape_of(const Engine& engine, bool json) {
  const ModelOptions& model = engine.options().model;
  const Schema& schema = engine.schema();
  return {.json = json,
          .keys = engine.has_keys(),
          .times = schema.find(Role::time) != nullptr,
          .held = engine.options().missing == MissingInputs::hold,
          .intervals = model.coverage > 0 && !schema.has_classes(),
          .inner = schema.has_classes() ? std::vector<double>{} : model.inner,
          .surprise = model.surprise,
          .anomalies = model.alarm_rate > 0,
          .strangeness = model.alarms.strangeness && !schema.has_classes(),
          .alarms = model.alarms.any() && !schema.has_classes(),
          .horizon = model.horizon,
          .targets = schema.target_names(),
          .classes = schema.has_classes()};
}

// "interval_0.8": of the i-th inner coverage.
std::string AnswerWriter::named(const std::string& what, std::size_t i) const {
  std::string name = what + '_';
  append_json_number(name, shape_.inner[i]);
  return name;
}

void AnswerWriter::write_json(const Answer& a, std::string& to) const {
  const std::string line = std::to_string(a.line);
  if (a.status == Answer::Status::refused) {
    const std::string place = shape_.source.empty() ? "" : shape_.source + ':' + line + ": ";
    to.append("{\"").append(shape_.position).append("\":").append(line);
    to += ",\"status\":\"refused\",\"error\":";
    append_json_text(to, place + std::string(a.reason));
    to += '}';
    return;
  }
  to += "{";
  const auto name = [&](std::string_view what) {
    to.append(to.back() == '{' ? "\"" : ",\"").append(what).append("\":");
  };
  const auto text = [&](std::string_view what, std::string_view value, bool is_text) {
    name(what);
    append_as_written(to, value, is_text);
  };
  if (a.sample > 0) text("sample", std::to_string(a.sample), false);
  if (!a.id.empty()) text("id", a.id, a.id_is_text);
  if (shape_.keys) text("key", a.key, true);
  if (!a.time.empty()) text("time", a.time, a.time_is_text);
  text("status", to_string(a.status), true);
  if (!a.reason.empty()) text("reason", a.reason, true);
  if (a.held > 0) text("held", std::to_string(a.held), false);
  const auto part = [&](const char* what, auto values, const auto& append_all) {
    if (values.empty()) return;
    name(what);
    append_all(to, values);
  };
  const std::size_t n_d = std::max<std::size_t>(1, a.prediction.size());
  if (a.of_classes) {
    append_classes(to, a);
    part("target", a.label, append_json_text);
  } else {
    part("prediction", a.prediction, append_numbers);
    part("interval", a.interval, append_intervals);
    for (std::size_t i = 0; i < shape_.inner.size() && !a.inner.empty(); ++i)
      part(named("interval", i).c_str(), a.inner.subspan(i * n_d, n_d), append_intervals);
    part("target", a.target, append_numbers);
  }
  part("surprise", a.surprise, append_numbers);
  if (shape_.anomalies && !a.surprise.empty()) text("anomaly", a.anomaly ? "true" : "false", false);
  part("strangeness", a.strangeness, append_numbers);
  if (a.alarm) write_alarm_json(a, to);
  part("forecast_time", a.forecast_time, [&](std::string&, auto times) {
    to += '[';
    for (std::size_t h = 0; h < times.size(); ++h) {
      if (h > 0) to += ',';
      append_as_written(to, times[h], a.time_is_text);
    }
    to += ']';
  });
  part("forecast", a.forecast,
       [&](std::string&, auto v) { append_leads(to, v, n_d, append_numbers); });
  part("forecast_interval", a.forecast_interval,
       [&](std::string&, auto v) { append_leads(to, v, n_d, append_intervals); });
  const std::size_t of_lead = n_d * shape_.inner.size();
  for (std::size_t i = 0; i < shape_.inner.size(); ++i)
    part(named("forecast_interval", i).c_str(), a.forecast_inner, [&](std::string&, auto v) {
      append_leads(to, v, of_lead, [&](std::string&, auto lead) {
        append_intervals(to, lead.subspan(i * n_d, n_d));
      });
    });
  to += '}';
}

// {"event":"end","kind":"level","start":201,"end":260,"value":6.1,"severity":4.2}
void AnswerWriter::write_alarm_json(const Answer& a, std::string& to) const {
  const AlarmEvent& alarm = a.alarm->alarm;
  to += ",\"alarm\":{\"event\":\"";
  to += alarm.is_over() ? "end" : "start";
  to += "\",";
  append_alarm_fields(to, alarm, shape_.targets);
  to += '}';
}

void AnswerWriter::write_header(std::string& to) const {
  if (shape_.json) return;
  to += "sample,id";
  if (shape_.keys) to += ",key";
  if (shape_.times) to += ",time";
  to += ",status";
  if (shape_.held) to += ",held";
  const bool one = shape_.targets.size() == 1;
  const auto add = [&](const std::string& what) {
    for (const std::string& target : shape_.targets)
      to += ',' + csv_field(one ? what : what + '_' + target);
  };
  const auto add_bounds = [&](const std::string& what) {
    add(what);
    if (!shape_.intervals) return;
    add(what + "_low");
    add(what + "_high");
    for (std::size_t i = 0; i < shape_.inner.size(); ++i) {
      add(named(what + "_low", i));
      add(named(what + "_high", i));
    }
  };
  add("target");
  if (shape_.classes)
    to += ",prediction,probability";
  else
    add_bounds("prediction");
  if (shape_.surprise) add("surprise");
  if (shape_.anomalies) to += ",anomaly";
  if (shape_.strangeness) add("strangeness");
  if (shape_.alarms) to += ",alarm,alarm_kind,alarm_severity";
  for (std::size_t h = 1; h <= shape_.horizon; ++h) {
    if (shape_.times) to += ",forecast_" + std::to_string(h) + "_time";
    add_bounds("forecast_" + std::to_string(h));
  }
  to += '\n';
}

void AnswerWriter::write_csv(const Answer& a, std::string& to) const {
  const std::size_t n_d = shape_.targets.size();
  if (a.sample > 0) to += std::to_string(a.sample);
  const auto add_name = [&](std::string_view text) {
    to += ',';
    if (!text.empty()) to += csv_field(text);
  };
  add_name(a.id);
  if (shape_.keys) add_name(a.status == Answer::Status::refused ? "" : a.key);
  if (shape_.times) add_name(a.time);
  (to += ',') += to_string(a.status);
  if (shape_.held) (to += ',') += std::to_string(a.held);
  const auto add = [&](bool there, const auto& value) {
    for (std::size_t k = 0; k < n_d; ++k) {
      to += ',';
      if (there) append(to, value(k), "");
    }
  };
  const auto add_bounds = [&](std::span<const double> values, std::span<const Interval> bounds,
                              std::span<const Interval> inner) {
    add(!values.empty(), [&](std::size_t k) { return values[k]; });
    if (!shape_.intervals) return;
    add(!bounds.empty(), [&](std::size_t k) { return bounds[k].low; });
    add(!bounds.empty(), [&](std::size_t k) { return bounds[k].high; });
    for (std::size_t i = 0; i < shape_.inner.size(); ++i) {
      add(!inner.empty(), [&](std::size_t k) { return inner[i * n_d + k].low; });
      add(!inner.empty(), [&](std::size_t k) { return inner[i * n_d + k].high; });
    }
  };
  const auto lead = [](auto values, std::size_t h, std::size_t of_lead) {
    return values.empty() ? values : values.subspan(h * of_lead, of_lead);
  };
  if (shape_.classes) {
    const std::string* top = most_probable(a);
    add_name(a.label);
    add_name(top == nullptr ? "" : *top);
    to += ',';
    if (top != nullptr)
      append(to, a.prediction[static_cast<std::size_t>(top - a.classes.data())], "");
  } else {
    add(!a.target.empty(), [&](std::size_t k) { return a.target[k]; });
    add_bounds(a.prediction, a.interval, a.inner);
  }
  if (shape_.surprise) add(!a.surprise.empty(), [&](std::size_t k) { return a.surprise[k]; });
  if (shape_.anomalies) {
    to += ',';
    if (!a.surprise.empty()) to += a.anomaly ? '1' : '0';
  }
  if (shape_.strangeness)
    add(!a.strangeness.empty(), [&](std::size_t k) { return a.strangeness[k]; });
  if (shape_.alarms) {
    if (a.alarm) {
      const AlarmEvent& alarm = a.alarm->alarm;
      to += alarm.is_over() ? ",end," : ",start,";
      to.append(to_string(alarm.kind)).append(",");
      append(to, alarm.severity, "");
    } else {
      to += ",,,";
    }
  }
  for (std::size_t h = 0; h < shape_.horizon; ++h) {
    if (shape_.times)
      add_name(h < a.forecast_time.size() ? std::string_view(a.forecast_time[h]) : "");
    add_bounds(lead(a.forecast, h, n_d), lead(a.forecast_interval, h, n_d),
               lead(a.forecast_inner, h, n_d * shape_.inner.size()));
  }
}

}  // namespace kalstream
