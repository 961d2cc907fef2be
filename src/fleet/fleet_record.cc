#include "fleet/fleet_record.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <ranges>

#include "kalstream/version.h"
#include "kernels/dispatch.h"
#include "schema/dataset.h"

namespace kalstream::fleet {
namespace {

using Json = nlohmann::ordered_json;

constexpr int newest_format = 1;

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// What to_string() calls it, or DataError.
template <typename Enum>
Enum named(const std::string& name, Enum last) {
  for (int i = 0; i <= static_cast<int>(last); ++i)
    if (name == to_string(static_cast<Enum>(i))) return static_cast<Enum>(i);
  throw DataError(fmt::format("the fleet's record: '{}' is not known", name));
}

Json json_of(const Schema::Field& field) {
  Json json{{"name", field.name}, {"role", to_string(field.role)}};
  if (!field.reason.empty()) json["reason"] = field.reason;
  if (field.later) json["later"] = true;
  if (field.slots > 0) json["slots"] = field.slots;
  if (!field.values.empty()) json["values"] = field.values;
  return json;
}

Schema::Field field_of(const Json& json) {
  Schema::Field field{.name = json.at("name"), .role = named(json.at("role"), Role::id)};
  field.reason = json.value("reason", "");
  field.later = json.value("later", false);
  field.slots = json.value("slots", std::size_t{0});
  field.values = json.value("values", std::vector<std::string>());
  if (field.slots > Schema::category_slots || field.values.size() > field.slots)
    throw DataError(fmt::format("the fleet's record: {} has too many values", field.name));
  return field;
}

FleetRecord fleet_of(const Json& json) {
  return {.input = json.at("input"),
          .output = json.at("output"),
          .settings = settings_from_json(json.at("settings").dump()),
          .kernels = json.at("kernels"),
          .version = json.at("version")};
}

SchemaRecord schema_of(const Json& json) {
  SchemaRecord record{.schema = {}, .experts = json.value("experts", std::uint64_t{0})};
  for (const Json& field : json.at("fields")) record.schema.fields.push_back(field_of(field));
  record.schema.time_form = named(json.at("time_form"), TimeForm::number);
  return record;
}

// Answers do not depend on threads.
StreamSettings without_threads(StreamSettings settings) {
  settings.jobs = 0;
  return settings;
}

std::string shown(const Json& json) {
  if (json.is_null()) return "by default";
  return json.is_string() ? json.get<std::string>() : text_of(json);
}

/// Options that differ. Those which `here` leaves out count only if `all` do.
std::string differences(const StreamSettings& fleet, const StreamSettings& here, bool all) {
  const Json theirs = Json::parse(kalstream::to_json(without_threads(fleet)));
  const Json ours = Json::parse(kalstream::to_json(without_threads(here)));
  std::string text;
  for (const StreamOption& option : stream_options()) {
    std::string name = option.name;
    std::ranges::replace(name, '-', '_');
    const Json a = theirs.contains(name) ? theirs.at(name) : Json();
    const Json b = ours.contains(name) ? ours.at(name) : Json();
    if (a == b || (b.is_null() && !all)) continue;
    text += fmt::format("{}--{} {} (here {})", text.empty() ? "" : ", ", option.name, shown(a),
                        shown(b));
  }
  return text;
}

}  // namespace

std::string to_json(const FleetRecord& record) {
  return text_of({{"kalstream", FleetRecord::message_key},
                  {"format", newest_format},
                  {"version", record.version},
                  {"input", record.input},
                  {"output", record.output},
                  {"kernels", record.kernels},
                  {"settings", Json::parse(kalstream::to_json(record.settings))}});
}

std::string to_json(const SchemaRecord& record) {
  Json fields = Json::array();
  for (const Schema::Field& field : record.schema.fields) fields.push_back(json_of(field));
  Json json{{"kalstream", SchemaRecord::message_key},
            {"format", newest_format},
            {"time_form", to_string(record.schema.time_form)},
            {"fields", std::move(fields)}};
  if (record.experts > 0) json["experts"] = record.experts;
  return text_of(json);
}

FleetRecords records_of(std::span<const std::string> values) {
  FleetRecords records;
  for (const std::string& value : values) try {
      const Json json = Json::parse(value);
      const auto kind = json.at("kalstream").get<std::string>();
      if (const int format = json.at("format"); format > newest_format)
        throw DataError(fmt::format(
            "the fleet's record has format {}, this kalstream ({}) knows {}: use a newer one",
            format, kalstream::version(), newest_format));
      if (kind == FleetRecord::message_key && !records.fleet)
        records.fleet = fleet_of(json);
      else if (kind == SchemaRecord::message_key && !records.schema)
        records.schema = schema_of(json);
    } catch (const Json::exception& error) {
      throw DataError(fmt::format("the fleet's record cannot be read: {}", error.what()));
    } catch (const std::invalid_argument& error) {
      throw DataError(fmt::format("the fleet's record cannot be read: {}", error.what()));
    }
  return records;
}

FleetRecord begin_record(std::string input, std::string output, StreamSettings settings) {
  return {.input = std::move(input),
          .output = std::move(output),
          .settings = without_threads(std::move(settings)),
          .kernels = std::string(kernels::target_name()),
          .version = kalstream::version()};
}

std::string difference(const FleetRecord& fleet, const FleetRecord& here) {
  std::string text;
  const auto compare = [&](const char* name, const std::string& a, const std::string& b) {
    if (a != b) text += fmt::format("{}{} {} (here {})", text.empty() ? "" : ", ", name, a, b);
  };
  compare("--input", fleet.input, here.input);
  compare("--output", fleet.output, here.output);
  const std::string options = differences(fleet.settings, here.settings, true);
  if (!options.empty()) text += (text.empty() ? "" : ", ") + options;
  return text;
}

void require_no_contradiction(const FleetRecord& fleet, const StreamSettings& given) {
  const std::string text = differences(fleet.settings, given, false);
  if (!text.empty())
    throw std::invalid_argument(fmt::format(
        "the fleet was begun with {}; leave such options out, or begin another with --name", text));
}

void use_kernels(const FleetRecord& fleet) {
  if (kernels::target_name() == fleet.kernels || kernels::use_target(fleet.kernels)) return;
  const auto here = kernels::available_targets() | std::views::transform(&kernels::Kernels::name);
  throw std::invalid_argument(fmt::format(
      "the fleet computes with the kernels {}, and this processor has only {}; a fleet for "
      "different machines is begun with KALSTREAM_TARGET=portable (or avx2) kalstream fleet init",
      fleet.kernels, fmt::join(here, ", ")));
}

SchemaRecord propose(const FleetRecord& fleet, Schema schema, const Say& say) {
  SchemaRecord record{.schema = std::move(schema)};
  if (fleet.settings.budget_us > 0) {
    const Recipe recipe = engine_options(fleet.settings, say).recipe_for(record.schema);
    record.experts = std::get<Auto>(recipe.options.rule).experts;
  }
  return record;
}

StreamSettings settings_of(const FleetRecord& fleet, const SchemaRecord& schema) {
  StreamSettings settings = fleet.settings;
  if (schema.experts > 0) {
    settings.budget_us = 0;
    settings.experts = schema.experts;
  }
  return settings;
}

}  // namespace kalstream::fleet
