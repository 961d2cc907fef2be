#include "serve/folders.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "io/atomic_file.h"

namespace kalstream::serve {
namespace {

[[noreturn]] void fail(const std::string& path, const char* what) {
  throw std::runtime_error(fmt::format("{}: cannot {}: {}", path, what, std::strerror(errno)));
}

}  // namespace

const char* name_of(Mark mark) { return mark == Mark::reset ? "to-be-reset" : "to-be-removed"; }

void mark(const std::string& folder, Mark mark, System& system) {
  write_file(folder + '/' + name_of(mark), "", system);
}

void unmark(const std::string& folder, Mark mark, System& system) {
  const std::string path = folder + '/' + name_of(mark);
  if (system.remove(path) != 0 && errno != ENOENT) fail(path, "be removed");
}

bool is_marked(const std::string& folder, Mark mark, System& system) {
  return system.exists(folder + '/' + name_of(mark));
}

void remove_all_but(const std::string& folder, const std::vector<std::string>& kept,
                    System& system) {
  std::vector<std::string> names;
  if (system.list(folder, names) != 0) fail(folder, "be listed");
  for (const std::string& name : names) {
    if (std::ranges::find(kept, name) != kept.end()) continue;
    const std::string path = folder + '/' + name;
    struct stat found = {};
    if (system.link_status(path, found) != 0) fail(path, "be looked at");
    if (S_ISDIR(found.st_mode))
      remove_folder(path, system);
    else if (system.remove(path) != 0 && errno != ENOENT)
      fail(path, "be removed");
  }
}

void remove_folder(const std::string& folder, System& system) {
  remove_all_but(folder, {name_of(Mark::removed)}, system);
  unmark(folder, Mark::removed, system);
  if (system.remove_folder(folder) != 0 && errno != ENOENT) fail(folder, "be removed");
}

void make_folder(const std::string& path, System& system) {
  if (system.make_folder(path) != 0 && errno != EEXIST) fail(path, "be made");
}

std::string in_hex(std::string_view name) {
  std::string hex;
  for (const unsigned char c : name) hex += fmt::format("{:02x}", c);
  return hex;
}

}  // namespace kalstream::serve
