#include "stream/stream_state.h"

#include "core/envelope.h"
#include "engine/old_formats.h"
#include "kalstream/snapshot.h"
#include "stream/line_records.h"

namespace kalstream {
namespace {

void restore_old(Archive& from, Source& source, Engine& engine) {
  auto* lines = dynamic_cast<LineRecords*>(&source);  // there was nothing else then
  if (lines == nullptr) throw SnapshotError("it is of a stream of lines");
  Counts counts;
  counts.exchange(from);
  lines->exchange_old_place(from);
  OldFields fields = old_fields(from);
  lines->set_old(counts.records, std::move(fields.dialect));
  engine.exchange_old(from, counts, std::move(fields.schema));
}

}  // namespace

Bytes stream_state(Source& source, Engine& engine) {
  Bytes state;
  Archive to(state);
  append_text(state, [&] { source.exchange(to); });
  engine.exchange(to);
  return state;
}

void restore(const Checkpoint& checkpoint, Source& source, Engine& engine) {
  Archive from = stream_of(checkpoint);
  if (checkpoint.format < 3) {
    restore_old(from, source, engine);
  } else {
    std::string_view place;
    from.text(place);
    Archive there(as_bytes(place), checkpoint.format);
    source.exchange(there);
    engine.exchange(from);
  }
  from.require(from.left() == 0);
  if (!checkpoint.model.empty())
    engine.set_only_model(model_of(checkpoint, &engine.options().model));
}

}  // namespace kalstream
