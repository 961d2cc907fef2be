// A checkpoint behind its checksum: a stream's part and a model's.
#include <limits>

#include "core/archive.h"
#include "engine/checkpoint.h"
#include "engine/old_formats.h"
#include "fuzz.h"
#include "kalstream/snapshot.h"
#include "schema/dialect.h"

namespace kalstream {
namespace {}  // namespace
}  // namespace kalstream

KALSTREAM_FUZZ(checkpoint) {
  using namespace kalstream;
  constexpr std::uint64_t most_memory = std::uint64_t{4} << 20;
  try {
    summary_of(checkpoint_of(bytes));
  } catch (const SnapshotError&) {
  }
  for (const std::uint64_t format : {std::uint64_t{1}, std::uint64_t{2}, Archive::newest}) {
    try {
      Archive from(bytes, format);
      const auto model = StreamModel::load(from, nullptr, most_memory);
      StreamListener deaf;
      const std::size_t n = model->learner().inputs();
      for (int t = 0; t < 4; ++t) {
        Sample s{.kind = Sample::Kind::inputs, .id = "a", .x = std::vector<double>(n, t)};
        if (t == 0 && n > 0) s.x[0] = std::numeric_limits<double>::quiet_NaN();
        if (t % 2 == 0) s.d.assign(model->learner().outputs(), 0.1 * t);
        if (model->complete(s.x)) model->take(s, deaf);
      }
      model->to_bytes();
    } catch (const SnapshotError&) {
    }
    try {
      summary_of({.stream = {bytes.begin(), bytes.end()}, .format = format});
    } catch (const SnapshotError&) {
    }
    try {
      Archive from(bytes, format);
      Dialect dialect;
      dialect.exchange(from);
    } catch (const SnapshotError&) {
    }
  }
}
