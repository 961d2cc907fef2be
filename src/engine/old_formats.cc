#include "engine/old_formats.h"

namespace kalstream {
namespace {

constexpr std::size_t most_numbers = std::size_t{1} << 20;  // of any line

// A list of numbers was one part of some width; now each number is a field.
void read_parts(Archive& archive, Role role, Schema& schema) {
  for (std::size_t n = archive.length(0); n > 0; --n) {
    std::string name;
    std::size_t width = 0;
    archive.text(name);
    archive.count(width, most_numbers);
    archive.require(schema.fields.size() + width <= most_numbers);
    if (width == 1) schema.fields.push_back({.name = name, .role = role});
    for (std::size_t k = 1; width > 1 && k <= width; ++k)
      schema.fields.push_back({.name = name + '.' + std::to_string(k), .role = role});
  }
}

}  // namespace

OldFields old_fields(Archive& archive) {
  OldFields fields;
  Dialect& dialect = fields.dialect;
  Schema& schema = fields.schema;
  bool settled = false;
  archive.flag(settled);
  std::uint64_t format = 0;
  archive.count(format, static_cast<std::uint64_t>(Format::delimited));
  dialect.format = static_cast<Format>(format);
  std::uint64_t delimiter = 0;
  archive.count(delimiter, 127);
  if (dialect.format == Format::delimited) {
    dialect.delimiter = static_cast<char>(delimiter);
    dialect.decimal = '.';
  }
  std::string id;
  std::string key;
  archive.text(id);
  archive.text(key);
  dialect.columns.resize(archive.length(0));
  for (std::string& column : dialect.columns) archive.text(column);
  dialect.header = !dialect.columns.empty();
  read_parts(archive, Role::input, schema);
  read_parts(archive, Role::target, schema);
  archive.require(!settled || schema.outputs() > 0);
  if (!settled) return {};
  schema.fields.push_back({.name = id, .role = Role::id});
  if (!key.empty()) schema.fields.push_back({.name = key, .role = Role::key});
  return fields;
}

}  // namespace kalstream
