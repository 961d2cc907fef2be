#include "stream/answers.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

namespace kalstream {
namespace {

const char* name_of(Answer::Status status) {
  constexpr std::array names{"predicted", "learnt", "labelled", "late"};
  return names[static_cast<std::size_t>(status)];
}

void append(std::string& to, double v, const char* none) {
  if (std::isfinite(v))
    fmt::format_to(std::back_inserter(to), "{}", v);
  else
    to += none;
}

std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\n") == std::string_view::npos) return std::string(text);
  std::string field = "\"";
  for (const char c : text) field += c == '"' ? std::string("\"\"") : std::string(1, c);
  return field + '"';
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

}  // namespace

const std::string& AnswerWriter::answer(const Sample& sample, const Answer& answer) {
  text_.clear();
  if (shape_.json)
    write_json(sample, answer);
  else
    write_csv(sample, answer);
  text_ += '\n';
  return text_;
}

const std::string& AnswerWriter::refusal(std::uint64_t line, std::string_view reason) {
  text_.clear();
  if (shape_.json)
    text_ = fmt::format("{{\"line\":{},\"status\":\"refused\",\"error\":{}}}\n", line,
                        json_text(reason));
  return text_;
}

void AnswerWriter::write_json(const Sample& sample, const Answer& answer) {
  text_ += '{';
  if (answer.sample > 0) text_ += fmt::format("\"sample\":{},", answer.sample);
  if (!sample.id.empty())
    text_ += fmt::format("\"id\":{},", sample.id_is_text ? json_text(sample.id) : sample.id);
  if (shape_.keys) text_ += fmt::format("\"key\":{},", json_text(sample.key));
  text_ += fmt::format("\"status\":\"{}\"", name_of(answer.status));
  if (sample.missing > 0) text_ += fmt::format(",\"held\":{}", sample.missing);
  if (!answer.prediction.empty()) {
    text_ += ",\"prediction\":";
    append_numbers(text_, answer.prediction);
  }
  if (!answer.interval.empty()) {
    text_ += ",\"interval\":";
    append_intervals(text_, answer.interval);
  }
  if (!sample.d.empty()) {
    text_ += ",\"target\":";
    append_numbers(text_, sample.d);
  }
  const std::size_t n_d = answer.prediction.size();
  if (!answer.forecast.empty()) {
    text_ += ",\"forecast\":[";
    for (std::size_t h = 0; h < shape_.horizon; ++h) {
      if (h > 0) text_ += ',';
      append_numbers(text_, answer.forecast.subspan(h * n_d, n_d));
    }
    text_ += ']';
  }
  if (!answer.forecast_interval.empty()) {
    text_ += ",\"forecast_interval\":[";
    for (std::size_t h = 0; h < shape_.horizon; ++h) {
      if (h > 0) text_ += ',';
      append_intervals(text_, answer.forecast_interval.subspan(h * n_d, n_d));
    }
    text_ += ']';
  }
  text_ += '}';
}

void AnswerWriter::write_header() {
  text_ += "sample,id";
  if (shape_.keys) text_ += ",key";
  text_ += ",status";
  if (shape_.held) text_ += ",held";
  const bool one = shape_.targets.size() == 1;
  const auto add = [&](const std::string& what) {
    for (const std::string& target : shape_.targets)
      text_ += ',' + csv_field(one ? what : fmt::format("{}_{}", what, target));
  };
  const auto add_bounds = [&](const std::string& what) {
    add(what);
    if (!shape_.intervals) return;
    add(what + "_low");
    add(what + "_high");
  };
  add("target");
  add_bounds("prediction");
  for (std::size_t h = 1; h <= shape_.horizon; ++h) add_bounds(fmt::format("forecast_{}", h));
  text_ += '\n';
}

void AnswerWriter::write_csv(const Sample& sample, const Answer& answer) {
  if (!header_written_) write_header();
  header_written_ = true;
  const std::size_t n_d = shape_.targets.size();
  if (answer.sample > 0) text_ += fmt::format("{}", answer.sample);
  text_ += ',' + csv_field(sample.id);
  if (shape_.keys) text_ += ',' + csv_field(sample.key);
  text_ += fmt::format(",{}", name_of(answer.status));
  if (shape_.held) text_ += fmt::format(",{}", sample.missing);
  const auto add = [&](bool there, const auto& value) {
    for (std::size_t k = 0; k < n_d; ++k) {
      text_ += ',';
      if (there) append(text_, value(k), "");
    }
  };
  const auto add_bounds = [&](std::span<const double> values, std::span<const Interval> bounds) {
    add(!values.empty(), [&](std::size_t k) { return values[k]; });
    if (!shape_.intervals) return;
    add(!bounds.empty(), [&](std::size_t k) { return bounds[k].low; });
    add(!bounds.empty(), [&](std::size_t k) { return bounds[k].high; });
  };
  add(!sample.d.empty(), [&](std::size_t k) { return sample.d[k]; });
  add_bounds(answer.prediction, answer.interval);
  for (std::size_t h = 0; h < shape_.horizon; ++h)
    add_bounds(answer.forecast.empty() ? answer.forecast : answer.forecast.subspan(h * n_d, n_d),
               answer.forecast_interval.empty() ? answer.forecast_interval
                                                : answer.forecast_interval.subspan(h * n_d, n_d));
}

}  // namespace kalstream
