#include "dataset.h"

KALSTREAM_FUZZ(jsonl) {
  using namespace kalstream;
  const std::string text = fuzz::as_text(bytes);
  fuzz::expect_sound([&] { return open_text("fuzz", text, {.format = Format::json}, {}); });
}
