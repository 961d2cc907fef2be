#include "table.h"

KALSTREAM_FUZZ(mat) {
  const kalstream::reading::TextFile file{"fuzz.mat", kalstream::fuzz::as_text(bytes)};
  kalstream::fuzz::expect_sound([&] { return kalstream::reading::read_mat(file, SIZE_MAX); });
}
