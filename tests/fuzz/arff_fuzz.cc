#include "table.h"

KALSTREAM_FUZZ(arff) {
  const kalstream::reading::TextFile file{"fuzz.arff", kalstream::fuzz::as_text(bytes)};
  kalstream::fuzz::expect_sound([&] { return kalstream::reading::read_arff(file, SIZE_MAX); });
}
