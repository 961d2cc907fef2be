#include "dataset.h"

KALSTREAM_FUZZ(arff) {
  using namespace kalstream;
  fuzz::expect_sound([&] { return open_arff("fuzz", fuzz::as_text(bytes)); });
}
