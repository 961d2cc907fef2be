#include "data/source.h"

#include <stdexcept>

#include "data/generators.h"
#include "data/reader.h"

namespace kalstream {
namespace {

constexpr std::string_view prefix = "gen:";

}  // namespace

bool is_generated(const std::string& source) { return source.starts_with(prefix); }

Dataset load(const std::string& source, std::size_t rows, const std::vector<std::string>& targets) {
  if (!is_generated(source)) return read_dataset(source, {.targets = targets, .max_rows = rows});
  if (!targets.empty())
    throw std::invalid_argument("--target chooses columns of a file; a generator has its own");
  return generate(std::string_view(source).substr(prefix.size()), rows);
}

}  // namespace kalstream
