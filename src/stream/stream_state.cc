#include "stream/stream_state.h"

#include "core/envelope.h"
#include "kalstream/snapshot.h"

namespace kalstream {
namespace {

// What formats 1 and 2 knew of the fields.
struct OldFields {
  Dialect dialect;
  Schema schema;

  explicit OldFields(Archive& archive) {
    bool settled = false;
    archive.flag(settled);
    std::uint64_t format = 0;
    archive.count(format, static_cast<std::uint64_t>(Format::delimited));
    dialect.format = static_cast<Format>(format);
    std::uint64_t delimiter = 0;
    archive.count(delimiter, 255);
    dialect.delimiter = static_cast<char>(delimiter);
    dialect.decimal = '.';
    std::string id;
    std::string key;
    archive.text(id);
    archive.text(key);
    dialect.columns.resize(archive.length(0));
    for (std::string& column : dialect.columns) archive.text(column);
    dialect.header = !dialect.columns.empty();
    read_parts(archive, Role::input);
    read_parts(archive, Role::target);
    archive.require(!settled || schema.outputs() > 0);
    if (!settled) {
      schema = {};
      return;
    }
    schema.fields.push_back({.name = id, .role = Role::id});
    if (!key.empty()) schema.fields.push_back({.name = key, .role = Role::key});
  }

 private:
  // A list of numbers was one part of some width; now each number is a field.
  void read_parts(Archive& archive, Role role) {
    for (std::size_t n = archive.length(0); n > 0; --n) {
      std::string name;
      std::size_t width = 0;
      archive.text(name);
      archive.count(width, LineRecords::longest_line);
      archive.require(schema.fields.size() + width <= LineRecords::longest_line);
      if (width == 1) schema.fields.push_back({.name = name, .role = role});
      for (std::size_t k = 1; width > 1 && k <= width; ++k)
        schema.fields.push_back({.name = name + '.' + std::to_string(k), .role = role});
    }
  }
};

void restore_old(Archive& from, Source& source, Engine& engine) {
  auto* lines = dynamic_cast<LineRecords*>(&source);  // there was nothing else then
  if (lines == nullptr) throw SnapshotError("it is of a stream of lines");
  Counts counts;
  counts.exchange(from);
  lines->exchange_old_place(from);
  OldFields fields(from);
  lines->set_old(counts.records, std::move(fields.dialect));
  engine.exchange_old(from, counts, std::move(fields.schema));
}

}  // namespace

Bytes checkpoint_at(Source& source, Engine& engine) {
  Checkpoint checkpoint;
  append_text(checkpoint.stream, [&] {
    Archive to(checkpoint.stream);
    source.exchange(to);
  });
  Archive to(checkpoint.stream);
  engine.exchange(to);
  if (auto model = engine.only_model()) checkpoint.model = std::move(*model);
  return to_bytes(checkpoint);
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

StreamSummary summary_of(const Checkpoint& checkpoint) {
  StreamSummary summary;
  Archive from = stream_of(checkpoint);
  if (checkpoint.format < 3) {
    summary.counts.exchange(from);
    std::uint64_t place = 0;
    for (int k = 0; k < 3; ++k) from.word(place);
    summary.schema = OldFields(from).schema;
    return summary;
  }
  std::string_view place;
  from.text(place);
  summary.counts.exchange(from);
  bool settled = false;
  from.flag(settled);
  if (settled) summary.schema.exchange(from);
  return summary;
}

}  // namespace kalstream
