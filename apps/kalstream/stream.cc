#include "stream.h"

#include <stdexcept>

#include "data/generators.h"
#include "data/reader.h"

namespace kalstream::cli {
namespace {

constexpr std::string_view prefix = "gen:";

}  // namespace

bool is_generated(const std::string& data) { return data.starts_with(prefix); }

Dataset load_stream(const StreamArguments& arguments) {
  const std::size_t wanted = arguments.steps == 0 ? 0 : arguments.steps + arguments.horizon;
  if (!is_generated(arguments.data))
    return read_dataset(arguments.data, {.targets = arguments.targets, .max_rows = wanted});
  if (!arguments.targets.empty())
    throw std::invalid_argument("--target chooses columns of a file; a generator has its own");
  return generate(std::string_view(arguments.data).substr(prefix.size()),
                  wanted == 0 ? default_generated_steps + arguments.horizon : wanted);
}

}  // namespace kalstream::cli
