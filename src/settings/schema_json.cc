#include "settings/schema_json.h"

#include "kalstream/settings.h"
#include "lines/json_text.h"

namespace kalstream {
namespace {

std::string mark(char c) { return c == 0 ? "null" : json_of(std::string(1, c)); }

std::string field(const Schema::Field& f) {
  std::vector<JsonField> json{{"name", json_of(f.name)}, {"role", json_of(to_string(f.role))}};
  if (!f.reason.empty()) json.emplace_back("reason", json_of(f.reason));
  if (f.later) json.emplace_back("later", json_of(true));
  if (f.slots > 0) json.emplace_back("values", json_of(f.values));
  return json_object(json);
}

// An id that may come is nothing that is there.
std::string fields(const Schema& schema) {
  std::vector<std::string> list;
  for (const Schema::Field& f : schema.fields)
    if (!(f.later && f.role == Role::id)) list.push_back(field(f));
  return json_list(list);
}

}  // namespace

std::string schema_json(const Dataset& data) {
  const bool delimited = data.dialect.format == Format::delimited;
  return json_object({{"source", json_of(data.source)},
                      {"format", json_of(to_string(data.dialect.format))},
                      {"delimiter", mark(data.dialect.delimiter)},
                      {"decimal", mark(data.dialect.decimal)},
                      {"header", delimited ? json_of(data.dialect.header) : "null"},
                      {"time_form", json_of(to_string(data.schema.time_form))},
                      {"rows", json_of(std::uint64_t{data.rows()})},
                      {"labels", json_of(std::uint64_t{data.labels.size()})},
                      {"fields", fields(data.schema)}});
}

std::string schema_json(const Schema& schema, const Learner* learner) {
  const bool there = learner != nullptr;
  return json_object(
      {{"learner", there ? json_of(name_of(learner->recipe()->options.rule)) : "null"},
       {"samples", there ? json_of(learner->samples()) : "null"},
       {"time_form", json_of(to_string(schema.time_form))},
       {"fields", fields(schema)}});
}

}  // namespace kalstream
