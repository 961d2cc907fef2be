#include "schema/future.h"

#include <algorithm>
#include <stdexcept>

#include "core/closest.h"
#include "core/number_in.h"
#include "schema/rules.h"

namespace kalstream {

std::optional<std::vector<double>> periods_of(const TimeChoice& choice) {
  if (choice.period.empty()) return {};
  if (choice.period.size() == 1 && choice.period.front() == "none") return std::vector<double>{};
  constexpr double shortest = 2;
  constexpr double longest = 100'000;
  constexpr std::size_t most = 3;
  std::vector<double> periods;
  for (const std::string& text : choice.period) {
    const auto n = number_in<double>(text);
    if (!(n >= shortest && n <= longest))
      throw std::invalid_argument(
          "--period " + text + ": write numbers of samples from 2 to 100000, e.g. 24,168, or none");
    periods.push_back(*n);
  }
  std::ranges::sort(periods);
  if (std::ranges::adjacent_find(periods) != periods.end() || periods.size() > most)
    throw std::invalid_argument("--period: at most 3 different ones");
  return periods;
}

bool is_elapsed(const Schema::Field& field) { return field.role == Role::input && field.later; }

bool has_elapsed(const Schema& schema) { return std::ranges::any_of(schema.fields, is_elapsed); }

void add_elapsed(Schema& schema) {
  std::string name = "elapsed";
  const auto is_taken = [&](const Schema::Field& f) { return f.name == name; };
  while (std::ranges::any_of(schema.fields, is_taken)) name += "_time";
  schema.fields.push_back({.name = name,
                           .role = Role::input,
                           .reason = "seconds since the sample before",
                           .later = true});
}

std::vector<bool> known_ahead(const Schema& schema, const std::vector<std::string>& future) {
  FieldNames names;
  for (const Schema::Field& f : schema.fields) names.push_back(f.name);
  std::vector<bool> chosen(names.size(), false);
  for (const std::string& wanted : future) {
    const FieldPlaces places = places_of(names, wanted);
    for (const std::size_t k : places)
      if (schema.fields[k].role == Role::input) chosen[k] = true;
    if (std::ranges::any_of(places, [&](std::size_t k) { return chosen[k]; })) continue;
    const FieldNames inputs = schema.names(Role::input);
    throw SchemaError("--future " + shown(wanted) + ": is no input; there are " +
                      (inputs.empty() ? std::string("none") : list_of(inputs)) +
                      did_you_mean(wanted, inputs));
  }
  std::vector<bool> known;
  for (std::size_t k = 0; k < names.size(); ++k)
    if (schema.fields[k].role == Role::input)
      known.insert(known.end(), std::max<std::size_t>(1, schema.fields[k].slots), chosen[k]);
  return known;
}

std::string held_ahead(const Schema& schema, const std::vector<bool>& known) {
  FieldNames held;
  std::size_t at = 0;
  for (const Schema::Field& f : schema.fields) {
    if (f.role != Role::input) continue;
    if (at < known.size() && !known[at] && !is_elapsed(f)) held.push_back(f.name);
    at += std::max<std::size_t>(1, f.slots);
  }
  if (held.empty()) return {};
  return "forecasts hold " + list_of(held) + " at " + (held.size() == 1 ? "its" : "their") +
         " last value" + (held.size() == 1 ? "" : "s") + "; name what is known ahead with --future";
}

}  // namespace kalstream
