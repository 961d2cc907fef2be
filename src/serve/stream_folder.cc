#include "serve/stream_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "core/envelope.h"
#include "core/hash.h"
#include "io/atomic_file.h"
#include "lines/json_text.h"
#include "serve/board.h"

namespace kalstream::serve {
namespace {

[[noreturn]] void fail(const std::string& path, const char* what) {
  throw std::runtime_error(fmt::format("{}: cannot {}: {}", path, what, std::strerror(errno)));
}

constexpr std::string_view description = "stream.json";
constexpr std::string_view reset_mark = "to-be-reset";
constexpr std::string_view removal = ".to-be-removed";
constexpr std::string_view checksum = ",\"checksum\":";

bool take_digits(std::string_view& text) {
  const std::size_t n = std::min(text.find_first_not_of("0123456789"), text.size());
  text.remove_prefix(n);
  return n > 0;
}

/// Whether a file is called so because this program wrote `stem`: the file, one before it, one on
/// its way, one that was damaged, and those that SQLite has beside its own.
bool is_of(std::string_view name, std::string_view stem, bool is_numbered = false) {
  if (!name.starts_with(stem)) return false;
  name.remove_prefix(stem.size());
  if (is_numbered && !take_digits(name)) return false;
  const auto take = [&](std::string_view end, bool with_number) {
    if (!name.starts_with(end)) return false;
    std::string_view rest = name.substr(end.size());
    if (with_number && !take_digits(rest)) return false;
    name = rest;
    return true;
  };
  while (take(".previous", false) || take(".lock", false) || take(".damaged", false) ||
         take(".db", false) || take(".new", false) || take("-wal", false) || take("-shm", false) ||
         take("-journal", false) || take(".tmp", true) || take("-", true)) {
  }
  return name.empty();
}

bool is_state(std::string_view name) {
  return is_of(name, "inputs-", true) || is_of(name, "state.kal");
}

bool is_of_models(std::string_view name) {
  return name == "lock" || is_of(name, "state.db") || is_of(name, "spill-", true);
}

enum class Kind : std::uint8_t { file, folder, other };

Kind kind_of(const std::string& path, System& system) {
  struct stat found = {};
  if (system.link_status(path, found) != 0) fail(path, "be looked at");
  return S_ISREG(found.st_mode) ? Kind::file : S_ISDIR(found.st_mode) ? Kind::folder : Kind::other;
}

void remove_file(const std::string& path, System& system) {
  if (system.remove(path) != 0 && errno != ENOENT) fail(path, "be removed");
}

std::vector<std::string> names_in(const std::string& folder, System& system) {
  std::vector<std::string> names;
  if (system.list(folder, names) != 0) fail(folder, "be listed");
  return names;
}

/// Files with these names. The paths of all others are added to `left`.
template <class IsMade>
void remove_files(const std::string& folder, const IsMade& is_made, System& system,
                  std::vector<std::string>& left) {
  for (const std::string& name : names_in(folder, system)) {
    const std::string path = folder + '/' + name;
    const Kind kind = kind_of(path, system);
    if (kind == Kind::folder && name == "models") {
      remove_files(path, is_of_models, system, left);
      if (system.remove_folder(path) != 0 && errno != ENOTEMPTY) fail(path, "be removed");
    } else if (kind == Kind::file && is_made(name)) {
      remove_file(path, system);
    } else if (name != description && name != reset_mark) {
      left.push_back(path);
    }
  }
}

}  // namespace

bool is_name(std::string_view name) {
  constexpr std::size_t longest = 100;
  const auto permitted = [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  return !name.empty() && name.size() <= longest && name.front() != '.' &&
         std::ranges::all_of(name, permitted);
}

std::string in_hex(std::string_view name) {
  std::string hex;
  for (const unsigned char c : name) hex += fmt::format("{:02x}", c);
  return hex;
}

std::optional<std::string> name_of(std::string_view folder) {
  std::string name;
  for (std::size_t k = 0; k + 1 < folder.size(); k += 2) {
    unsigned char c = 0;
    std::from_chars(folder.data() + k, folder.data() + k + 2, c, 16);
    name += static_cast<char>(c);
  }
  if (!is_name(name) || in_hex(name) != folder) return {};
  return name;
}

void make_folder(const std::string& path, System& system) {
  if (system.make_folder(path) != 0 && errno != EEXIST) fail(path, "be made");
}

bool is_free(const std::string& path, System& system) {
  return system.remove_folder(path) == 0 || errno == ENOENT;
}

void sync_folder(const std::string& path, System& system) {
  const Descriptor folder(system, system.open(path, O_RDONLY | O_DIRECTORY));
  if (!folder || system.sync(folder.get()) != 0) fail(path, "be made to last");
}

// The checksum is that of the text before it.
void write_description(const std::string& folder, const std::string& name, std::int64_t created,
                       const StreamSettings& settings, System& system) {
  std::string text = "{\"name\":";
  append_json_text(text, name);
  text += fmt::format(",\"created\":{},\"options\":{}", created, to_json(settings));
  text += fmt::format("{}{}}}\n", checksum, fnv1a(as_bytes(text)));
  write_file(fmt::format("{}/{}", folder, description), text, system);
}

Description read_description(const std::string& folder, System& system) {
  const std::string path = fmt::format("{}/{}", folder, description);
  if (!system.exists(path)) throw std::runtime_error(path + ": is not there");
  try {
    if (kind_of(path, system) != Kind::file) throw std::invalid_argument("is no file");
    const auto bytes = read_bytes(path, system);
    const std::string_view text = as_text(bytes);
    const std::size_t end = text.rfind(checksum);
    const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (json.is_discarded() || end == text.npos ||
        json.at("checksum").get<std::uint64_t>() != fnv1a(as_bytes(text.substr(0, end))))
      throw std::invalid_argument("is damaged: its checksum does not fit; put a copy there");
    Description found;
    found.name = json.at("name").get<std::string>();
    found.created = json.at("created").get<std::int64_t>();
    found.settings = settings_from_json(json.at("options").dump());
    if (!folder.ends_with('/' + in_hex(found.name)))
      throw std::invalid_argument("is that of another stream, \"" + found.name + '"');
    return found;
  } catch (const std::exception& error) {
    throw std::runtime_error(path + ": " + error.what());
  }
}

bool is_unfinished(const std::string& folder, System& system) {
  return std::ranges::all_of(names_in(folder, system), [](const std::string& name) {
    return name != description && is_of(name, description);
  });
}

void mark_for_reset(const std::string& folder, System& system) {
  write_file(fmt::format("{}/{}", folder, reset_mark), "", system);
}

bool is_marked_for_reset(const std::string& folder, System& system) {
  return system.exists(fmt::format("{}/{}", folder, reset_mark));
}

std::string name_for_removal(const std::string& folder) {
  return fmt::format("{}.{}{}", folder, milliseconds_now(), removal);
}

bool is_for_removal(std::string_view folder) {
  return folder.ends_with(removal) && name_of(folder.substr(0, folder.find('.')));
}

std::vector<std::string> remove_state(const std::string& folder, System& system) {
  std::vector<std::string> left;
  remove_files(folder, is_state, system, left);
  remove_file(fmt::format("{}/{}", folder, reset_mark), system);
  return left;
}

std::vector<std::string> remove_folder(const std::string& folder, System& system) {
  std::vector<std::string> left;
  const auto is_made = [](std::string_view name) {
    return is_state(name) || is_of(name, description) || is_of(name, reset_mark);
  };
  remove_files(folder, is_made, system, left);
  if (left.empty() && system.remove_folder(folder) != 0) fail(folder, "be removed");
  return left;
}

}  // namespace kalstream::serve
