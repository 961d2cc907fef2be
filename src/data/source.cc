#include "data/source.h"

#include <stdexcept>

#include "data/generators.h"

namespace kalstream {
namespace {

constexpr std::string_view prefix = "gen:";

}  // namespace

bool is_generated(const std::string& source) { return source.starts_with(prefix); }

Dataset load(const std::string& source, std::size_t rows, const FieldChoice& fields) {
  if (!is_generated(source)) return read_dataset(source, {.fields = fields, .max_rows = rows});
  if (!fields.targets.empty() || !fields.inputs.empty())
    throw std::invalid_argument(
        "--target and --inputs choose columns of a file; a generator has its own");
  return generate(std::string_view(source).substr(prefix.size()), rows);
}

}  // namespace kalstream
