#include "names.h"

#include <nanobind/operators.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <limits>

#include "core/closest.h"
#include "schema/rules.h"
#include "schema/timestamp.h"

namespace kalstream::python {
namespace {

void set_text(nb::handle text, Value& value) {
  value.text = nb::str(text).c_str();
  value.quoted = true;
  interpret(value.text, '.', value);
}

/// NaN and what pandas has for it: nothing that equals itself, or will not say.
bool is_missing(nb::handle object) {
  PyObject* const differs = PyObject_RichCompare(object.ptr(), object.ptr(), Py_NE);
  const int truth = differs == nullptr ? -1 : PyObject_IsTrue(differs);
  Py_XDECREF(differs);
  if (truth < 0) PyErr_Clear();
  return truth != 0;
}

void set(nb::handle object, Value& value) {
  if (PyFloat_Check(object.ptr()) != 0) return set_number(PyFloat_AsDouble(object.ptr()), value);
  if (object.is_none()) return;
  if (PyBool_Check(object.ptr()) != 0) {
    value.kind = Value::Kind::number;
    value.number = object.is(nb::handle(Py_True)) ? 1 : 0;
    value.text = value.number == 1 ? "true" : "false";
    return;
  }
  if (PyLong_Check(object.ptr()) != 0) {
    value.text = nb::str(object).c_str();
    return interpret(value.text, '.', value);
  }
  if (PyUnicode_Check(object.ptr()) != 0) return set_text(object, value);
  if (is_missing(object)) return;
  if (nb::hasattr(object, "isoformat")) return set_text(object.attr("isoformat")(), value);
  if (nb::hasattr(object, "item") &&  // a scalar of NumPy
      nb::cast<std::string>(object.type().attr("__name__")) != "datetime64")
    return set(object.attr("item")(), value);
  if (nb::hasattr(object, "__float__"))
    return set_number(nb::cast<double>(nb::float_(object)), value);
  set_text(object, value);
}

using Texts = std::vector<std::string>;

Record record_of(nb::handle named) {
  Record record;
  fill(record, named);
  return record;
}

/// "target", or "target.1", "target.2", …
Texts usual_targets(std::size_t count) {
  if (count == 1) return {"target"};
  Texts names;
  for (std::size_t k = 1; k <= count; ++k) names.push_back("target." + std::to_string(k));
  return names;
}

Texts beyond(const Texts& names, const Texts& others) {
  Texts left;
  for (const std::string& name : names)
    if (std::ranges::find(others, name) == others.end()) left.push_back(name);
  return left;
}

/// Throws, naming both sides, if known names are not among those that are given. Others may be
/// there if they are permitted.
void require_names(const char* what, const Texts& known, const Texts& given,
                   const Texts& permitted = {}) {
  const Texts lacking = beyond(known, given);
  const Texts unknown = beyond(beyond(given, known), permitted);
  if (lacking.empty() && unknown.empty()) return;
  std::string text = std::string(what) + ": ";
  if (!lacking.empty())
    text += list_of(lacking) + (lacking.size() == 1 ? " is" : " are") + " missing";
  else
    text += list_of(unknown) + (unknown.size() == 1 ? " is" : " are") + " not known";
  text += "; the learner has " + list_of(known) + ", given: " + list_of(given);
  if (!unknown.empty()) text += did_you_mean(unknown.front(), lacking.empty() ? known : lacking);
  throw nb::value_error(text.c_str());
}

}  // namespace

bool is_named(nb::handle values) {
  PyObject* const p = values.ptr();
  if (PyDict_Check(p) != 0) return true;
  if (PyFloat_Check(p) != 0 || values.is_none() || PyObject_CheckBuffer(p) != 0 ||
      PyLong_Check(p) != 0 || PyList_Check(p) != 0 || PyTuple_Check(p) != 0)
    return false;
  if (!nb::hasattr(values, "items") || !nb::hasattr(values, "keys")) return false;
  for (const nb::handle name : values.attr("keys")()) return PyUnicode_Check(name.ptr()) != 0;
  return false;
}

void fill(Record& record, nb::handle named) {
  record.clear();
  for (const nb::handle item : named.attr("items")()) {
    const auto pair = nb::cast<nb::tuple>(item);
    if (PyUnicode_Check(nb::handle(pair[0]).ptr()) == 0)
      throw nb::type_error("names are text: {\"temp\": 21.5}");
    set(pair[1], record.add(nb::str(nb::handle(pair[0])).c_str()));
  }
}

Columns::Columns(const nb::list& columns) {
  for (const nb::handle item : columns) {
    const auto part = nb::cast<nb::tuple>(item);
    const nb::handle values = part[1];
    Column column{.name = nb::cast<std::string>(part[0]),
                  .values = nb::list(),
                  .is_text = nb::cast<bool>(part[2])};
    Numbers1D numbers;
    Times times;
    std::size_t rows = 0;
    if (nb::try_cast(values, numbers, false)) {
      rows = numbers.size();
      column.values = numbers;
    } else if (nb::try_cast(values, times, false)) {
      rows = times.size();
      column.values = times;
    } else {
      column.values = nb::cast<nb::list>(values);
      rows = nb::len(values);
    }
    if (!columns_.empty() && rows != rows_)
      throw nb::value_error(("the column \"" + column.name + "\" has " + std::to_string(rows) +
                             " rows, \"" + columns_.front().name + "\" has " +
                             std::to_string(rows_))
                                .c_str());
    rows_ = rows;
    columns_.push_back(std::move(column));
  }
}

bool Columns::next(Record& record) {
  if (row_ == rows_) return false;
  record.clear();
  record.is_row = true;
  for (const Column& column : columns_) {
    Value& value = record.add(column.name);
    if (const auto* numbers = std::get_if<Numbers1D>(&column.values)) {
      set_number(numbers->data()[row_], value);
    } else if (const auto* times = std::get_if<Times>(&column.values)) {
      const std::int64_t moment = times->data()[row_];
      if (moment == std::numeric_limits<std::int64_t>::min()) continue;  // not a time
      value.kind = Value::Kind::text;
      value.quoted = true;
      value.text = iso_text(moment);
    } else {
      set(std::get<nb::list>(column.values)[row_], value);
    }
  }
  ++row_;
  return true;
}

std::vector<std::string> Columns::texts() const {
  std::vector<std::string> names;
  for (const Column& column : columns_)
    if (column.is_text || std::holds_alternative<Times>(column.values))
      names.push_back(column.name);
  return names;
}

const Schema& Names::schema() const {
  static const Schema none;
  return reader_ ? reader_->schema() : none;
}

void Names::set(Schema schema) {
  if (schema.inputs() != inputs_ || schema.outputs() != outputs_)
    throw nb::value_error(("the fields are " + std::to_string(schema.inputs()) + " inputs (" +
                           list_of(schema.input_names()) + ") and " +
                           std::to_string(schema.outputs()) + " targets (" +
                           list_of(schema.target_names()) + "), the learner has " +
                           std::to_string(inputs_) + " and " + std::to_string(outputs_))
                              .c_str());
  reader_.emplace(std::move(schema));
  targets_are_open_ = false;
}

void Names::set(const Texts& inputs, const Texts& targets) {
  Schema schema;
  for (const std::string& name : inputs) schema.fields.push_back({name, Role::input});
  const bool open = targets.empty();
  for (const std::string& name : open ? usual_targets(outputs_) : targets)
    schema.fields.push_back({.name = name, .role = Role::target, .later = true});
  for (std::size_t k = 0; k < schema.fields.size(); ++k)
    for (std::size_t j = 0; j < k; ++j)
      if (schema.fields[j].name == schema.fields[k].name)
        throw nb::value_error(
            ("the name " + shown(schema.fields[k].name) + " is there twice").c_str());
  set(std::move(schema));
  targets_are_open_ = open;
}

// By the first sample that has names. As many fields as inputs are the inputs; of more, the rules
// choose.
void Names::settle(nb::handle y, bool with_target) {
  FieldChoice choice;
  choice.id.clear();
  const bool open = !is_named(y);
  if (!open)
    choice.targets = names_of(record_of(y));
  else if (!with_target || outputs_ > 1)
    choice.targets = usual_targets(outputs_);
  if (inputs_ == 0)
    choice.inputs = {"none"};
  else if (record_.fields().size() == inputs_)
    choice.inputs = names_of(record_);
  set(kalstream::settle(record_, choice));
  targets_are_open_ = open && !with_target;
}

// Names for targets that came without until now.
void Names::name_targets(nb::handle y) {
  const Record targets = record_of(y);
  if (targets.fields().size() != outputs_) return;  // it will be told
  Schema schema = reader_->schema();
  std::size_t k = 0;
  for (Schema::Field& f : schema.fields)
    if (f.role == Role::target) f.name = targets.fields()[k++].name;
  set(std::move(schema));
}

bool Names::has_categories() const {
  return std::ranges::any_of(schema().fields, [](const auto& f) { return f.slots > 0; });
}

void Names::require_inputs() const {
  const auto& fields = schema().fields;
  const auto given = record_.fields();
  const auto [field, other] =
      std::ranges::mismatch(fields, given, {}, &Schema::Field::name, &Record::Field::name);
  const auto is_input = [](const Schema::Field& f) { return f.role == Role::input; };
  if (other == given.end() && std::none_of(field, fields.end(), is_input)) return;
  Texts all;
  for (const Schema::Field& f : fields) all.push_back(f.name);
  require_names("x", schema().names(Role::input), names_of(record_), all);
}

std::span<const double> Names::inputs(nb::handle x, bool keeps, nb::handle y, bool with_target) {
  fill(record_, x);
  for (Record::Field& f : record_.fields())  // the learner refuses it, and says so
    if (f.value.kind == Value::Kind::too_large) f.value.kind = Value::Kind::missing;
  record_.is_row = with_target;
  if (!reader_) settle(y, with_target);
  if (targets_are_open_ && is_named(y)) name_targets(y);
  require_inputs();
  std::optional<SampleReader> trial;
  if (!keeps && has_categories()) trial = *reader_;
  SampleReader& reader = trial ? *trial : *reader_;
  if (!reader.read(record_, sample_)) throw nb::value_error(reader.problem().c_str());
  return sample_.x;
}

std::span<const double> Names::targets(nb::handle y) {
  const Record record = record_of(y);
  if (!reader_ && inputs_ == 0) set(Texts{}, names_of(record));
  if (!reader_) throw nb::value_error("y has names, x has none; name both or none of them");
  if (targets_are_open_) name_targets(y);
  const Texts known = schema().target_names();
  require_names("y", known, names_of(record));
  targets_.clear();
  for (const std::string& name : known) {
    std::size_t at = 0;
    const Value& value = *record.find(name, at);
    if (value.kind == Value::Kind::text)
      throw nb::type_error(("y: " + shown(name) + " is text").c_str());
    targets_.push_back(value.kind == Value::Kind::number
                           ? value.number
                           : std::numeric_limits<double>::quiet_NaN());
  }
  return targets_;
}

std::vector<double> Names::table(const nb::list& columns, std::size_t& rows) {
  Columns table(columns);
  rows = table.rows();
  std::optional<SampleReader> trial;
  std::vector<double> all;
  while (table.next(record_)) {
    if (!trial) {
      record_.is_row = false;  // targets may be in other tables
      if (!reader_) settle(nb::none(), false);
      require_inputs();
      trial = *reader_;
    }
    if (!trial->read(record_, sample_)) throw nb::value_error(trial->problem().c_str());
    all.insert(all.end(), sample_.x.begin(), sample_.x.end());
  }
  return all;
}

std::string in_python(std::string message) {
  constexpr std::pair<std::string_view, std::string_view> words[] = {
      {"--target", "target="}, {"--inputs", "inputs="},    {"--category", "category="},
      {"--time", "time="},     {"--key", "key="},          {"--classes", "classes="},
      {"--task ", "task="},    {"--missing ", "missing="}, {"--future", "future="}};
  for (const auto& [option, word] : words)
    for (auto at = message.find(option); at != message.npos; at = message.find(option, at))
      message.replace(at, option.size(), word);
  return message;
}

void bind_schema(nb::module_& m) {
  using Field = Schema::Field;
  nb::class_<Field>(m, "Field", "One field of a stream, and what it is taken for.")
      .def_ro("name", &Field::name)
      .def_prop_ro(
          "role", [](const Field& f) { return to_string(f.role); },
          "'input', 'target', 'time', 'key', 'id' or 'left out'.")
      .def_ro("reason", &Field::reason, "Why it was left out, or what was guessed; may be empty.")
      .def_ro("later", &Field::later, "It was not in the first sample.")
      .def_prop_ro("is_category", [](const Field& f) { return f.slots > 0; })
      .def_ro("values", &Field::values, "Of a category: those seen so far.")
      .def(nb::self == nb::self)
      .def("__repr__", [](const Field& f) {
        std::string text = "Field('" + f.name + "', '" + to_string(f.role) + '\'';
        if (!f.reason.empty()) text += ", reason='" + f.reason + '\'';
        return text + ')';
      });
  nb::class_<Schema>(m, "Schema", "The fields of a stream, in the order they were first written.")
      .def(nb::init<>())
      .def_ro("fields", &Schema::fields)
      .def_prop_ro("inputs", [](const Schema& s) { return s.names(Role::input); })
      .def_prop_ro("targets", [](const Schema& s) { return s.names(Role::target); })
      .def_prop_ro(
          "input_names", &Schema::input_names,
          "One for each number that is learnt from: those of a category are 'weather.1', ...")
      .def_prop_ro(
          "time_form", [](const Schema& s) { return to_string(s.time_form); },
          "How times are written: 'year first', 'seconds', ..., 'none'.")
      .def_prop_ro(
          "remarks", [](const Schema& s) { return remarks(s); },
          "What was left out and why, and what was guessed.")
      .def("__repr__", [](const Schema& s) {
        std::string text;
        for (const Field& f : s.fields)
          text += (text.empty() ? "" : ", ") + f.name + ": " + to_string(f.role);
        return "Schema(" + text + ')';
      });
}

}  // namespace kalstream::python
