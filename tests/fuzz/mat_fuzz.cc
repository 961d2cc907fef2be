#include "dataset.h"

KALSTREAM_FUZZ(mat) {
  using namespace kalstream;
  fuzz::expect_sound([&] { return open_mat("fuzz", fuzz::as_text(bytes)); });
}
