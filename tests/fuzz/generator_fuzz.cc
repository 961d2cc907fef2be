// NAME?key=value&…, as it follows gen: on the command line.
#include <cmath>
#include <stdexcept>

#include "data/generators.h"
#include "fuzz.h"

KALSTREAM_FUZZ(generator) {
  using namespace kalstream;
  Dataset data;
  try {
    data = generate(fuzz::as_text(bytes), 20);
  } catch (const std::invalid_argument&) {
    return;
  }
  fuzz::require(data.rows() == 20 && data.inputs.size() == 20 * data.n_inputs());
  for (const double v : data.inputs) fuzz::require(!std::isinf(v));
  for (const double v : data.targets) fuzz::require(!std::isinf(v));
}
