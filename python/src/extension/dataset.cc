// Streams in memory, as Python gives them or as files have them.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "data/source.h"
#include "eval/timeline.h"
#include "learner.h"
#include "schema/future.h"
#include "schema/rules.h"
#include "settings/schema_json.h"

namespace kalstream::python {
namespace {

using Texts = std::vector<std::string>;

Texts names(std::size_t count, char letter) {
  Texts all;
  for (std::size_t k = 0; k < count; ++k) all.push_back(field_name(k, letter));
  return all;
}

Dataset from_arrays(const Matrix& X, const Matrix& y) {
  Dataset data;
  data.input_names = names(X.shape(1), 'x');
  data.target_names = y.shape(1) == 1 ? Texts{"y"} : names(y.shape(1), 'y');
  data.inputs.assign(X.data(), X.data() + X.size());
  data.targets.assign(y.data(), y.data() + y.size());
  return data;
}

Dataset from_columns(const nb::list& columns, const FieldChoice& choice, const Schema& like) {
  Columns table(columns);
  return collect("row", table, {.fields = choice, .like = like});
}

Dataset from_source(const std::string& source, std::size_t rows, const FieldChoice& choice,
                    const Texts& columns, const Schema& like) {
  return load(source, rows, {.fields = choice, .columns = columns, .like = like});
}

}  // namespace

void bind_dataset(nb::module_& m) {
  using F = FieldChoice;
  nb::class_<F> choice(m, "FieldChoice");
  choice.def(nb::init<>());
  bind_members(choice, "targets", &F::targets, "inputs", &F::inputs, "categories", &F::categories,
               "time", &F::time, "id", &F::id, "key", &F::key, "task", &F::task, "classes",
               &F::classes);
  nb::class_<Dataset>(m, "Dataset")
      .def_static("from_arrays", from_arrays, nb::arg("X").noconvert(), nb::arg("y").noconvert())
      .def_static("from_columns", from_columns, nb::arg("columns"), nb::arg("choice"),
                  nb::arg("like"))
      .def_static("from_source", from_source, nb::arg("source"), nb::arg("rows"), nb::arg("choice"),
                  nb::arg("columns"), nb::arg("like"))
      .def(
          "check_future",
          [](const Dataset& data, const Texts& future) { known_ahead(data.schema, future); },
          nb::arg("future"), "Complains of names that are no inputs.")
      .def(
          "add_elapsed", [](Dataset& data) { add_elapsed(data); },
          "Makes the time since the row before an input.")
      .def_prop_ro("is_irregular",
                   [](const Dataset& data) {
                     const auto clocks = clocks_of(data);
                     return !data.times.empty() && std::ranges::all_of(clocks, [](const auto& c) {
                       return c.second.is_irregular();
                     });
                   })
      .def_prop_ro("rows", &Dataset::rows)
      .def_prop_ro("inputs", &Dataset::n_inputs)
      .def_prop_ro("outputs", &Dataset::n_targets)
      .def_ro("input_names", &Dataset::input_names)
      .def_ro("target_names", &Dataset::target_names)
      .def_prop_ro(
          "lines",
          [](const Dataset& data) {
            return array_of<std::int64_t>({data.lines.begin(), data.lines.end()},
                                          {data.lines.size()});
          },
          "Of a file, or rows of a table, counted from 1; empty for arrays.")
      .def_prop_ro("labels", [](const Dataset& data) { return data.labels.size(); })
      .def_prop_ro("has_classes", [](const Dataset& data) { return data.schema.has_classes(); })
      .def_ro("keys", &Dataset::keys, "Of each row; empty: there is but one model.")
      .def_ro("time_name", &Dataset::time_name)
      .def_ro("times", &Dataset::times)
      .def_prop_ro(
          "moments",
          [](const Dataset& data) { return array_of(data.moments, {data.moments.size()}); })
      .def_ro("schema", &Dataset::schema)
      .def_prop_ro("remarks", [](const Dataset& data) { return remarks(data.schema); })
      .def("describe", [](const Dataset& data) { return schema_json(data); });
}

}  // namespace kalstream::python
