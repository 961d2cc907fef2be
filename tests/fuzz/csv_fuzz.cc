// Delimited text, as .csv, .tsv and .txt are read.
#include "table.h"

using kalstream::fuzz::expect_sound;
using kalstream::reading::read_csv;

KALSTREAM_FUZZ(csv) {
  const kalstream::reading::TextFile file{"fuzz.csv", kalstream::fuzz::as_text(bytes)};
  expect_sound([&] { return read_csv(file, ",;", false, SIZE_MAX); });
  expect_sound([&] { return read_csv(file, "\t", false, SIZE_MAX); });
  expect_sound([&] { return read_csv(file, ",;\t", true, 3); });
}
