#include "schema/dialect.h"

#include <string_view>

#include "core/archive.h"

namespace kalstream {

const char* to_string(Format format) {
  switch (format) {
    case Format::json:
      return "json";
    case Format::delimited:
      return "delimited";
    default:
      return "table";
  }
}

void Dialect::exchange(Archive& archive) {
  // A character that is one of `allowed`, or 0.
  const auto mark = [&](char& c, std::string_view allowed) {
    std::uint64_t code = static_cast<unsigned char>(c);
    archive.count(code, 127);
    c = static_cast<char>(code);
    archive.require(c == 0 || allowed.find(c) != allowed.npos);
  };
  auto kind = static_cast<std::uint64_t>(format);
  archive.count(kind, static_cast<std::uint64_t>(Format::delimited));
  format = static_cast<Format>(kind);
  mark(delimiter, delimiters);
  mark(decimal, ".,");
  archive.flag(header);
  columns.resize(archive.length(columns.size()));
  for (std::string& column : columns) archive.text(column);
}

}  // namespace kalstream
