#include "table.h"

KALSTREAM_FUZZ(jsonl) {
  const kalstream::reading::TextFile file{"fuzz.jsonl", kalstream::fuzz::as_text(bytes)};
  kalstream::fuzz::expect_sound([&] { return kalstream::reading::read_jsonl(file, SIZE_MAX); });
}
