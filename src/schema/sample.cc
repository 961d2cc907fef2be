#include "schema/sample.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "schema/future.h"
#include "schema/timestamp.h"

namespace kalstream {
namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();  // in the place of a number

}  // namespace

std::optional<bool> verdict_in(const Record& record, std::size_t keys) {
  if (record.is_row || record.fields().size() != 1 + keys) return {};
  std::size_t at = 0;
  const Value* const alarm = record.find("alarm", at);
  if (alarm == nullptr || (alarm->text != "real" && alarm->text != "false")) return {};
  return alarm->text == "real";
}

SampleReader::SampleReader(Schema schema)
    : schema_(std::move(schema)),
      n_inputs_(schema_.inputs()),
      n_outputs_(schema_.outputs()),
      has_classes_(schema_.has_classes()) {
  // In the order of Role.
  const std::array<std::vector<Part>*, 6> parts{nullptr, &inputs_, &targets_, &times_, &key_, &id_};
  for (std::size_t k = 0; k < schema_.fields.size(); ++k)
    if (auto* of_role = parts[static_cast<std::size_t>(schema_.fields[k].role)])
      of_role->push_back({k, k});
}

bool SampleReader::read(const Record& record, Sample& sample) {
  label_.clear();
  if (!take_names(record, sample)) return false;
  if (has_verdicts_ && is_verdict(record, sample)) return true;
  if (!take(record, targets_, target_) || !take(record, inputs_, sample.x)) return false;
  take_time(record, sample);
  const auto is_missing = [](double v) { return std::isnan(v); };
  // The elapsed time, the last of all, is filled in by who knows the sample before.
  const bool elapsed = !inputs_.empty() && is_elapsed(schema_.fields[inputs_.back().field]);
  sample.missing = static_cast<std::size_t>(
      std::count_if(sample.x.begin(), sample.x.end() - (elapsed ? 1 : 0), is_missing));
  sample.label = label_;
  sample.d.clear();
  if (std::none_of(target_.begin(), target_.end(), is_missing)) sample.d = target_;
  const bool label = !inputs_.empty() && present_ == 0 && !sample.id.empty() && !sample.d.empty();
  sample.kind = label ? Sample::Kind::label : Sample::Kind::inputs;
  if (label) sample.missing = 0;
  return true;
}

void SampleReader::expect_verdicts() {
  has_verdicts_ =
      std::ranges::find(schema_.fields, "alarm", &Schema::Field::name) == schema_.fields.end();
}

bool SampleReader::is_verdict(const Record& record, Sample& sample) const {
  const std::optional<bool> is_real = verdict_in(record, key_.size());
  if (!is_real) return false;
  sample = {.kind = Sample::Kind::verdict, .key = std::move(sample.key)};
  sample.is_real_alarm = *is_real;
  return true;
}

// The numbers of these fields, NaN where one is missing.
bool SampleReader::take(const Record& record, std::vector<Part>& parts,
                        std::vector<double>& values) {
  values.clear();
  present_ = 0;
  for (Part& part : parts) {
    Schema::Field& field = schema_.fields[part.field];
    const Value* value = is_elapsed(field) ? nullptr : record.find(field.name, part.at);
    const bool missing = value == nullptr || value->kind == Value::Kind::missing;
    present_ += missing ? 0 : 1;
    if (field.slots > 0 && field.role == Role::target) {
      label_ = missing ? "" : std::string(trim(value->text));
      values.push_back(label_.empty() ? none : 1);
    } else if (field.slots > 0) {
      add_category(field, missing ? nullptr : value, values);
    } else if (missing) {
      values.push_back(none);
    } else if (value->kind == Value::Kind::text) {
      problem_ = shown(value->text, '\'') + " in " + shown(field.name) +
                 " is not a number; write one, or nothing (in JSON null) if it is missing";
      return false;
    } else if (value->kind == Value::Kind::too_large) {
      problem_ = shown(value->text, '\'') + " in " + shown(field.name) +
                 " is infinite or beyond the range of numbers; leave it away if it is missing";
      return false;
    } else {
      values.push_back(value->number);
    }
  }
  return true;
}

// One input for each of the first values that come, one for all others: 1 for this value, else 0. A
// missing value is none of them.
void SampleReader::add_category(Schema::Field& field, const Value* value,
                                std::vector<double>& values) {
  const std::size_t first = values.size();
  values.resize(first + field.slots, 0.0);
  if (value == nullptr) return;
  auto found = std::ranges::find(field.values, value->text);
  if (found == field.values.end() && field.values.size() + 1 < field.slots) {
    field.values.push_back(value->text);
    found = field.values.end() - 1;
  }
  const auto slot = found == field.values.end()
                        ? field.slots - 1
                        : static_cast<std::size_t>(found - field.values.begin());
  values[first + slot] = 1;
}

bool SampleReader::take_names(const Record& record, Sample& sample) {
  sample.id.clear();
  sample.key.clear();
  for (Part& part : id_) {
    const Value* value = record.find(schema_.fields[part.field].name, part.at);
    if (value == nullptr) continue;
    sample.id = value->text;
    sample.id_is_text = value->quoted || value->kind != Value::Kind::number;
  }
  for (Part& part : key_) {
    const std::string& name = schema_.fields[part.field].name;
    const Value* value = record.find(name, part.at);
    if (value == nullptr || value->text.empty()) {
      problem_ = "the field " + shown(name) +
                 " is missing: it tells which model the line is for; write it in every line";
      return false;
    }
    sample.key = value->text;
  }
  return true;
}

// A date and a time of day may stand in two fields; one of them may be missing.
void SampleReader::take_time(const Record& record, Sample& sample) {
  sample.time.clear();
  sample.time_is_text = true;
  sample.has_moment = true;
  sample.moment = 0;
  sample.tick.reset();
  bool any = false;
  bool has_date = false;
  for (Part& part : times_) {
    const Value* value = record.find(schema_.fields[part.field].name, part.at);
    if (value == nullptr || value->kind == Value::Kind::missing) {
      sample.has_moment = false;
      continue;
    }
    if (any) sample.time += ' ';
    any = true;
    sample.time += value->text;
    const bool number = value->kind == Value::Kind::number;
    sample.time_is_text = value->quoted || !number;
    const auto time = number && schema_.time_form >= TimeForm::seconds
                          ? time_of(value->number, schema_.time_form)
                          : parse_time(value->text, schema_.time_form);
    sample.has_moment = sample.has_moment && time.has_value();
    if (time) sample.moment += time->nanoseconds;
    has_date |= time && time->has_date;
    if (schema_.time_form == TimeForm::number) sample.tick = tick_of(value->text);
  }
  sample.has_moment = sample.has_moment && any;
  if (sample.has_moment && has_date) sample.tick = sample.moment;
}

bool SampleReader::has_categories() const {
  return std::ranges::any_of(
      inputs_, [&](const Part& part) { return schema_.fields[part.field].slots > 0; });
}

std::string SampleReader::missing_inputs(const Sample& sample) const {
  std::string missing;
  std::size_t at = 0;
  for (const Part& part : inputs_) {
    const Schema::Field& field = schema_.fields[part.field];
    if (field.slots == 0 && !is_elapsed(field) && at < sample.x.size() && std::isnan(sample.x[at]))
      missing += (missing.empty() ? "" : ", ") + shown(field.name);
    at += field.slots > 0 ? field.slots : 1;
  }
  return missing;
}

}  // namespace kalstream
