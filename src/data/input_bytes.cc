#include "data/input_bytes.h"

#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>

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

/// A file may consist of several compressed parts, one after the other. It expands at most 1032
/// times, and so does the memory that it can ask for.
std::string expanded(const std::string& path, const std::string& bytes) {
  constexpr std::size_t chunk = std::size_t{1} << 20;
  constexpr int gzip = 16 + MAX_WBITS;
  z_stream z{};
  if (inflateInit2(&z, gzip) != Z_OK) fail_at(path, 0, "cannot be expanded: no memory");
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> end(&z, &inflateEnd);
  std::string text;
  std::size_t given = 0;
  int status = Z_OK;
  while (status == Z_OK || status == Z_BUF_ERROR) {
    if (z.avail_in == 0) {
      const std::size_t part = std::min(bytes.size() - given, chunk);
      if (part == 0) fail_at(path, 0, "is compressed and not complete; copy it again");
      z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + given));  // only read
      z.avail_in = static_cast<uInt>(part);
      given += part;
    }
    const std::size_t size = text.size();
    text.resize(size + chunk);
    z.next_out = reinterpret_cast<Bytef*>(text.data() + size);
    z.avail_out = static_cast<uInt>(chunk);
    status = inflate(&z, Z_NO_FLUSH);
    text.resize(text.size() - z.avail_out);
    const bool more = z.avail_in > 0 || given < bytes.size();
    if (status == Z_STREAM_END && more) status = inflateReset(&z);
  }
  if (status != Z_STREAM_END) fail_at(path, 0, "is compressed and damaged; copy it again");
  return text;
}

}  // namespace

std::string read_bytes(const std::string& path) {
  require_file(path);
  std::string bytes = read_all(path);
  return bytes.starts_with("\x1f\x8b") ? expanded(path, bytes) : bytes;
}

}  // namespace kalstream
