#include "kalstream/schema.h"

#include <algorithm>
#include <array>

#include "core/archive.h"
#include "schema/dialect.h"

namespace kalstream {
namespace {

constexpr std::size_t most_numbers = 1'000'000;  // more than any line holds

std::size_t width(const Schema::Field& f) {
  if (f.slots == 0) return 1;
  return f.role == Role::target ? 2 : f.slots;
}

std::size_t total_width(const Schema& schema, Role role) {
  std::size_t sum = 0;
  for (const Schema::Field& f : schema.fields)
    if (f.role == role) sum += width(f);
  return sum;
}

}  // namespace

const char* to_string(Role role) {
  constexpr std::array names{"left out", "input", "target", "time", "key", "id"};
  return names[static_cast<std::size_t>(role)];
}

const char* to_string(TimeForm form) {
  constexpr std::array names{"none",         "year first",  "day first",
                             "month first",  "seconds",     "milliseconds",
                             "microseconds", "nanoseconds", "number"};
  return names[static_cast<std::size_t>(form)];
}

std::size_t Schema::inputs() const { return total_width(*this, Role::input); }
std::size_t Schema::outputs() const { return total_width(*this, Role::target); }

bool Schema::has_classes() const {
  const Field* target = find(Role::target);
  return target != nullptr && target->slots > 0;
}

std::vector<std::string> Schema::input_names() const {
  std::vector<std::string> names;
  for (const Field& f : fields) {
    if (f.role != Role::input) continue;
    if (f.slots == 0) names.push_back(f.name);
    for (std::size_t k = 1; k < f.slots; ++k) names.push_back(f.name + '.' + std::to_string(k));
    if (f.slots > 0) names.push_back(f.name + ".other");
  }
  return names;
}

std::vector<std::string> Schema::target_names() const { return names(Role::target); }

std::vector<std::string> Schema::names(Role role) const {
  std::vector<std::string> names;
  for (const Field& f : fields)
    if (f.role == role) names.push_back(f.name);
  return names;
}

const Schema::Field* Schema::find(Role role) const {
  const auto found = std::ranges::find(fields, role, &Field::role);
  return found == fields.end() ? nullptr : &*found;
}

void Schema::exchange(Archive& archive) {
  fields.resize(archive.length(fields.size()));
  for (Field& f : fields) {
    archive.text(f.name);
    auto role = static_cast<std::uint64_t>(f.role);
    archive.count(role, static_cast<std::uint64_t>(Role::id));
    f.role = static_cast<Role>(role);
    archive.text(f.reason);
    archive.flag(f.later);
    archive.count(f.slots, f.role == Role::target ? most_classes : category_slots);
    f.values.resize(archive.length(f.values.size()));
    archive.require(f.values.empty() || (f.role == Role::input && f.values.size() < f.slots));
    for (std::string& value : f.values) archive.text(value);
  }
  auto form = static_cast<std::uint64_t>(time_form);
  archive.count(form, static_cast<std::uint64_t>(TimeForm::number));
  time_form = static_cast<TimeForm>(form);
  archive.require(fields.empty() || outputs() > 0);
  archive.require(!has_classes() || target_names().size() == 1);
  archive.require(inputs() + outputs() <= most_numbers);
}

const char* to_string(Format format) {
  switch (format) {
    case Format::json:
      return "json";
    case Format::delimited:
      return "delimited";
    default:
      return "table";
  }
}

void Dialect::exchange(Archive& archive) {
  // A character that is one of `allowed`, or 0.
  const auto mark = [&](char& c, std::string_view allowed) {
    std::uint64_t code = static_cast<unsigned char>(c);
    archive.count(code, 127);
    c = static_cast<char>(code);
    archive.require(c == 0 || allowed.find(c) != allowed.npos);
  };
  auto kind = static_cast<std::uint64_t>(format);
  archive.count(kind, static_cast<std::uint64_t>(Format::delimited));
  format = static_cast<Format>(kind);
  mark(delimiter, delimiters);
  mark(decimal, ".,");
  archive.flag(header);
  columns.resize(archive.length(columns.size()));
  for (std::string& column : columns) archive.text(column);
}

}  // namespace kalstream
