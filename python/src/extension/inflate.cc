// What zlib or gzip compressed, by Python's own zlib: a wheel needs no library, building it no
// header.
#include "data/inflate.h"

#include <nanobind/nanobind.h>

#include <algorithm>

namespace kalstream {

namespace nb = nanobind;

Inflated inflate(std::string_view bytes, Wrapping wrapping, std::size_t most) {
  constexpr std::size_t chunk = std::size_t{1}
                                << 20;  // what follows is copied, so give it bit by bit
  const nb::gil_scoped_acquire locked;
  const int window = wrapping == Wrapping::gzip ? 31 : 15;
  const nb::object z = nb::module_::import_("zlib").attr("decompressobj")(window);
  Inflated result;
  try {
    bool ended = false;
    while (!ended && result.text.size() < most && result.used < bytes.size()) {
      const std::string_view given = bytes.substr(result.used, chunk);
      const auto text =
          nb::cast<nb::bytes>(z.attr("decompress")(nb::bytes(given.data(), given.size())));
      result.text.append(text.c_str(), std::min(text.size(), most - result.text.size()));
      ended = nb::cast<bool>(z.attr("eof"));
      result.used += given.size() - nb::cast<nb::bytes>(z.attr("unused_data")).size();
    }
    result.end = ended ? Inflated::End::complete : Inflated::End::cut_short;
  } catch (nb::python_error& error) {
    if (!error.matches(nb::module_::import_("zlib").attr("error"))) throw;
    result.end = Inflated::End::damaged;
  }
  return result;
}

}  // namespace kalstream
