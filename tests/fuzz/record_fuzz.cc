// Lines as records, and records as samples; the first byte chooses what is known before.
#include "core/archive.h"
#include "fuzz.h"
#include "lines/record_reader.h"
#include "schema/dataset.h"
#include "schema/rules.h"
#include "schema/sample.h"

namespace kalstream {
namespace {

bool same(const Dialect& a, const Dialect& b) {
  return a.format == b.format && a.delimiter == b.delimiter && a.decimal == b.decimal &&
         a.header == b.header && a.columns == b.columns;
}

/// What was settled, once through an archive.
Dialect copied(Dialect dialect) {
  std::vector<std::byte> bytes;
  Archive to(bytes);
  dialect.exchange(to);
  Archive from{std::span<const std::byte>(bytes)};
  Dialect copy;
  copy.exchange(from);
  return copy;
}

}  // namespace
}  // namespace kalstream

KALSTREAM_FUZZ(record) {
  using namespace kalstream;
  if (bytes.empty()) return;
  const auto choice = std::to_integer<unsigned>(bytes[0]);
  FieldChoice fields;
  if ((choice & 1) != 0) fields.targets = {"y"};
  if ((choice & 2) != 0) fields.key = "k";
  if ((choice & 4) != 0) fields.categories = {"a"};
  RecordReader reader(
      {}, (choice & 8) != 0 ? std::vector<std::string>{"a", "y"} : std::vector<std::string>{});
  std::optional<SampleReader> samples;
  Record record;
  Sample sample;
  const std::string text = fuzz::as_text(bytes.subspan(1));
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = std::string_view(text).substr(at, end - at);
    at = end + 1;
    const Dialect before = reader.dialect();
    try {
      if (!reader.read(line, record)) continue;
    } catch (const DataError&) {
      fuzz::require(same(reader.dialect(), before));
      continue;
    }
    fuzz::require(!record.empty());
    if (!samples && can_settle(record, fields)) {
      try {
        samples.emplace(settle(record, fields));
      } catch (const SchemaError&) {
        continue;
      }
    }
    if (!samples) continue;
    const bool usable = samples->read(record, sample);
    fuzz::require(usable || !samples->problem().empty());
    const Schema& schema = samples->schema();
    const std::size_t targets =
        schema.has_classes() ? 1 : schema.outputs();  // a class is one number
    fuzz::require(!usable || sample.d.empty() || sample.d.size() == targets);
  }
  fuzz::require(same(copied(reader.dialect()), reader.dialect()));
}
