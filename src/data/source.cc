#include "data/source.h"

#include <stdexcept>

#include "data/generators.h"

namespace kalstream {
namespace {

constexpr std::string_view prefix = "gen:";

}  // namespace

bool is_generated(const std::string& source) { return source.starts_with(prefix); }

Dataset load(const std::string& source, std::size_t rows, const ReadOptions& options) {
  if (!is_generated(source)) {
    ReadOptions with_rows = options;
    with_rows.max_rows = rows;
    return read_dataset(source, with_rows);
  }
  const FieldChoice& fields = options.fields;
  if (!fields.targets.empty() || !fields.inputs.empty() || !fields.categories.empty())
    throw std::invalid_argument(
        "--target, --inputs and --category choose columns of a file; a generator has its own");
  Dataset data = generate(std::string_view(source).substr(prefix.size()), rows);
  for (const std::string& name : data.input_names)
    data.schema.fields.push_back({.name = name, .role = Role::input});
  for (const std::string& name : data.target_names)
    data.schema.fields.push_back({.name = name, .role = Role::target});
  return data;
}

}  // namespace kalstream
