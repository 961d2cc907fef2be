// Delimited text, as .csv, .tsv and .txt are read.
#include "dataset.h"

KALSTREAM_FUZZ(csv) {
  using namespace kalstream;
  const std::string text = fuzz::as_text(bytes);
  const auto open = [&] { return open_text("fuzz", text, {.format = Format::delimited}, {}); };
  fuzz::expect_sound(open);
  fuzz::expect_sound(open, {.fields = {.targets = {"1"}, .categories = {"2"}}, .max_rows = 3});
  fuzz::expect_sound([&] { return open_text("fuzz", text, {}, {"a", "b"}); });
}
