// Streams that go on after others: their fields are compared by name.
#include <algorithm>

#include "core/closest.h"
#include "schema/future.h"
#include "schema/rules.h"

namespace kalstream {
namespace {

using Names = FieldNames;

bool same_names(Names a, Names b) {
  std::ranges::sort(a);
  std::ranges::sort(b);
  return a == b;
}

// What the user's words stand for in a schema that is settled.
Names resolved(const Schema& schema, const Names& wanted) {
  Names names;
  for (const Schema::Field& f : schema.fields) names.push_back(f.name);
  Names chosen;
  for (const std::string& w : wanted) {
    const FieldPlaces places = places_of(names, w);
    if (places.empty()) chosen.push_back(w);
    for (const std::size_t k : places) chosen.push_back(names[k]);
  }
  return chosen;
}

void require_same(const std::string& option, const Names& wanted, const Names& there) {
  if (same_names(wanted, there)) return;
  throw SchemaError(option + ' ' + list_of(wanted) + ": what was learnt before has " +
                    list_of(there) + "; use the same, or begin anew");
}

// All but the elapsed time.
Names read_inputs(const Schema& schema) {
  Names names;
  for (const Schema::Field& f : schema.fields)
    if (f.role == Role::input && !is_elapsed(f)) names.push_back(f.name);
  return names;
}

// Inputs and targets are what was learnt from; the user need not name them again.
void require_learnt(const Schema& schema, const FieldChoice& choice) {
  if (!choice.task.empty() && (choice.task == "classify") != schema.has_classes())
    throw SchemaError("--task " + choice.task + ": what was learnt before was " +
                      (schema.has_classes() ? "a class" : "a number") +
                      "; leave --task away, or begin anew");
  if (!choice.targets.empty())
    require_same("--target", resolved(schema, choice.targets), schema.names(Role::target));
  if (!choice.inputs.empty())
    require_same("--inputs", choice.has_no_inputs() ? Names{} : resolved(schema, choice.inputs),
                 read_inputs(schema));
  for (const std::string& category : resolved(schema, choice.categories))
    if (std::ranges::none_of(schema.fields, [&](const Schema::Field& f) {
          return f.name == category && f.slots > 0;
        }))
      throw SchemaError("--category " + shown(category) +
                        ": what was learnt before has no such category; leave it away");
}

}  // namespace

Schema settle_as(const Schema& before, const Record& first, const FieldChoice& choice) {
  require_learnt(before, choice);
  require_fields(before, first);
  FieldChoice same = choice;
  same.targets = before.names(Role::target);
  same.inputs = read_inputs(before);
  if (same.inputs.empty()) same.inputs = {"none"};
  same.elapsed = has_elapsed(before);
  same.task = before.has_classes() ? "classify" : "regress";
  same.categories.clear();
  for (const Schema::Field& f : before.fields)
    if (f.role == Role::input && f.slots > 0) same.categories.push_back(f.name);
  Schema schema = settle(first, same);
  for (Schema::Field& f : schema.fields) {
    if (f.role == Role::left_out && f.reason == not_chosen_reason)
      f.reason = "not learnt from before";
    const auto as_before = std::ranges::find(before.fields, f.name, &Schema::Field::name);
    if (f.slots == 0 || as_before == before.fields.end()) continue;
    f.slots = as_before->slots;
    f.values = as_before->values;
  }
  return schema;
}

void require_choice(const Schema& schema, const FieldChoice& choice) {
  require_learnt(schema, choice);
  const auto one = [](const std::string& name) { return name.empty() ? Names{} : Names{name}; };
  require_same("--key", resolved(schema, one(choice.key)), schema.names(Role::key));
  const Names ids = schema.names(Role::id);
  if (choice.id != FieldChoice{}.id && !ids.empty()) require_same("--id", one(choice.id), ids);
  if (!choice.time.empty() && choice.time != "none")
    require_same("--time", resolved(schema, one(choice.time)), schema.names(Role::time));
}

void require_fields(const Schema& schema, const Record& record) {
  const Names names = names_of(record);
  Names lacking;
  for (const Role role : {Role::input, Role::target})
    for (const Schema::Field& f : schema.fields)
      if (f.role == role && !is_elapsed(f) && std::ranges::find(names, f.name) == names.end() &&
          (record.is_row || role == Role::input))
        lacking.push_back(f.name);
  Names unknown;
  for (const std::string& name : names)
    if (std::ranges::find(schema.fields, name, &Schema::Field::name) == schema.fields.end())
      unknown.push_back(name);
  // Lines of JSON may leave fields away; but one that has others instead calls them by other names.
  if (lacking.empty() || (!record.is_row && unknown.empty())) return;
  throw SchemaError("what was learnt before has " + list_of(lacking) +
                    ", which this stream lacks; it has " + list_of(names) +
                    did_you_mean(lacking.front(), unknown));
}

}  // namespace kalstream
