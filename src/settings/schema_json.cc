#include "settings/schema_json.h"

#include <nlohmann/json.hpp>

#include "kalstream/settings.h"

namespace kalstream {
namespace {

using Json = nlohmann::ordered_json;

Json mark(char c) { return c == 0 ? Json() : Json(std::string(1, c)); }

Json field(const Schema::Field& f) {
  Json json{{"name", f.name}, {"role", to_string(f.role)}};
  if (!f.reason.empty()) json["reason"] = f.reason;
  if (f.later) json["later"] = true;
  if (f.slots > 0) json["values"] = f.values;
  return json;
}

// An id that may come is nothing that is there.
Json fields(const Schema& schema) {
  Json list = Json::array();
  for (const Schema::Field& f : schema.fields)
    if (!(f.later && f.role == Role::id)) list.push_back(field(f));
  return list;
}

}  // namespace

std::string schema_json(const Dataset& data) {
  const Json json{
      {"source", data.source},
      {"format", to_string(data.dialect.format)},
      {"delimiter", mark(data.dialect.delimiter)},
      {"decimal", mark(data.dialect.decimal)},
      {"header", data.dialect.format == Format::delimited ? Json(data.dialect.header) : Json()},
      {"time_form", to_string(data.schema.time_form)},
      {"rows", data.rows()},
      {"labels", data.labels.size()},
      {"fields", fields(data.schema)}};
  return json.dump(2) + "\n";
}

std::string schema_json(const Schema& schema, const Learner* learner) {
  Json json{{"learner", nullptr}, {"samples", nullptr}};
  if (learner != nullptr) {
    json["learner"] = name_of(learner->recipe()->options.rule);
    json["samples"] = learner->samples();
  }
  json["time_form"] = to_string(schema.time_form);
  json["fields"] = fields(schema);
  return json.dump(2) + "\n";
}

}  // namespace kalstream
