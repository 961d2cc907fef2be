#include "data/input_bytes.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "data/inflate.h"
#include "data/record_file.h"

namespace kalstream {
namespace {

namespace fs = std::filesystem;

void require_file(const std::string& path) {
  std::error_code ignored;  // A file of unknown status fails when it is opened.
  const fs::file_status status = fs::status(path, ignored);
  if (status.type() == fs::file_type::not_found) fail_at(path, 0, "does not exist; check the path");
  if (fs::is_directory(status)) fail_at(path, 0, "is a directory; name a file in it");
}

/// Chunk by chunk, since a pipe has no size.
std::string read_all(const std::string& path) {
  constexpr std::size_t chunk = std::size_t{1} << 20;
  std::ifstream in(path, std::ios::binary);
  if (!in) fail_at(path, 0, "cannot be opened; check its permissions");
  std::string bytes;
  while (in) {
    const std::size_t size = bytes.size();
    bytes.resize(size + chunk);
    in.read(bytes.data() + size, chunk);
    bytes.resize(size + static_cast<std::size_t>(in.gcount()));
  }
  if (in.bad()) fail_at(path, 0, "cannot be read to its end; check the disk and try again");
  return bytes;
}

/// A file may consist of several compressed parts, one after the other.
std::string expanded(const std::string& path, std::string_view bytes) {
  std::string text;
  do {
    const Inflated part = inflate(bytes, Wrapping::gzip);
    if (part.end == Inflated::End::damaged)
      fail_at(path, 0, "is compressed and damaged; copy it again");
    if (part.end == Inflated::End::cut_short)
      fail_at(path, 0, "is compressed and not complete; copy it again");
    text += part.text;
    bytes.remove_prefix(part.used);
  } while (!bytes.empty());
  return text;
}

}  // namespace

std::string read_bytes(const std::string& path) {
  require_file(path);
  std::string bytes = read_all(path);
  return bytes.starts_with("\x1f\x8b") ? expanded(path, bytes) : bytes;
}

}  // namespace kalstream
