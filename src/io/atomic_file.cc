#include "io/atomic_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>

namespace kalstream {

void write_file(const std::filesystem::path& path, std::string_view text) {
  const std::string temporary = path.string() + ".tmp" + std::to_string(::getpid());
  const auto fail = [&](const char* what) {
    const std::string reason = std::strerror(errno);
    std::remove(temporary.c_str());
    throw std::runtime_error(path.string() + ": cannot " + what + ": " + reason);
  };
  std::FILE* file = std::fopen(temporary.c_str(), "wb");
  if (file == nullptr) fail("create the file");
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size() &&
                       std::fflush(file) == 0 && ::fsync(::fileno(file)) == 0;
  const bool closed = std::fclose(file) == 0;
  if (!written || !closed) fail("write the file");
  if (std::rename(temporary.c_str(), path.c_str()) != 0) fail("replace the file");
}

}  // namespace kalstream
