#include "data/inflate.h"

#include <zlib.h>

#include <algorithm>
#include <memory>

namespace kalstream {

Inflated inflate(std::string_view bytes, Wrapping wrapping, std::size_t most) {
  constexpr std::size_t chunk = std::size_t{1} << 20;  // zlib counts in 32 bits
  constexpr int gzip = 16;
  Inflated result;
  z_stream z{};
  if (inflateInit2(&z, MAX_WBITS + (wrapping == Wrapping::gzip ? gzip : 0)) != Z_OK) return result;
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> end(&z, &inflateEnd);
  int status = Z_OK;
  while (status == Z_OK && result.text.size() < most) {
    const auto given = std::min(bytes.size() - result.used, chunk);
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + result.used));  // NOLINT
    z.avail_in = static_cast<uInt>(given);
    const std::size_t size = result.text.size();
    const std::size_t room = std::min(chunk, most - size);
    result.text.resize(size + room);
    z.next_out = reinterpret_cast<Bytef*>(result.text.data() + size);
    z.avail_out = static_cast<uInt>(room);
    status = ::inflate(&z, Z_NO_FLUSH);
    result.text.resize(size + room - z.avail_out);
    result.used += given - z.avail_in;
  }
  const bool more =
      status == Z_OK || status == Z_BUF_ERROR;  // the latter: nothing was left to read
  result.end = status == Z_STREAM_END ? Inflated::End::complete
               : more                 ? Inflated::End::cut_short
                                      : Inflated::End::damaged;
  return result;
}

}  // namespace kalstream
