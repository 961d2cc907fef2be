#include "serve/stream_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "core/envelope.h"
#include "io/atomic_file.h"
#include "lines/json_text.h"

namespace kalstream::serve {
namespace {

[[noreturn]] void fail(const std::string& path, const char* what) {
  throw std::runtime_error(fmt::format("{}: cannot {}: {}", path, what, std::strerror(errno)));
}

std::string path_of(const std::string& folder, Mark mark) {
  return folder + (mark == Mark::reset ? "/to-be-reset" : "/to-be-removed");
}

void remove_file(const std::string& path, System& system) {
  if (system.remove(path) != 0 && errno != ENOENT) fail(path, "be removed");
}

void remove_all_but(const std::string& folder, const std::vector<std::string>& kept,
                    System& system) {
  std::vector<std::string> names;
  if (system.list(folder, names) != 0) fail(folder, "be listed");
  for (const std::string& name : names) {
    const std::string path = folder + '/' + name;
    if (std::ranges::find(kept, path) != kept.end()) continue;
    struct stat found = {};
    if (system.link_status(path, found) != 0) fail(path, "be looked at");
    if (S_ISDIR(found.st_mode))
      remove_folder(path, system);
    else
      remove_file(path, system);
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

void write_description(const std::string& folder, const std::string& name, std::int64_t created,
                       const StreamSettings& settings, System& system) {
  make_folder(folder, system);
  std::string quoted;
  append_json_text(quoted, name);
  write_file(folder + "/stream.json",
             fmt::format("{{\"name\":{},\"created\":{},\"options\":{}}}\n", quoted, created,
                         to_json(settings)),
             system);
}

std::optional<Description> read_description(const std::string& folder, System& system) {
  const std::string path = folder + "/stream.json";
  if (!system.exists(path)) return {};
  const auto bytes = read_bytes(path, system);
  const auto json = nlohmann::json::parse(as_text(bytes), nullptr, /*allow_exceptions=*/false);
  try {
    Description description;
    description.name = json.at("name").get<std::string>();
    description.created = json.at("created").get<std::int64_t>();
    description.settings = settings_from_json(json.at("options").dump());
    if (!is_name(description.name)) throw std::invalid_argument("the name is none");
    return description;
  } catch (const std::exception& error) {
    throw std::runtime_error(path + ": " + error.what());
  }
}

void mark(const std::string& folder, Mark mark, System& system) {
  write_file(path_of(folder, mark), "", system);
}

bool is_marked(const std::string& folder, Mark mark, System& system) {
  return system.exists(path_of(folder, mark));
}

void make_folder(const std::string& path, System& system) {
  if (system.make_folder(path) != 0 && errno != EEXIST) fail(path, "be made");
}

void remove_state(const std::string& folder, System& system) {
  const std::string last = path_of(folder, Mark::reset);
  remove_all_but(folder, {folder + "/stream.json", last}, system);
  remove_file(last, system);
}

void remove_folder(const std::string& folder, System& system) {
  const std::string last = path_of(folder, Mark::removed);
  remove_all_but(folder, {last}, system);
  remove_file(last, system);
  if (system.remove_folder(folder) != 0 && errno != ENOENT) fail(folder, "be removed");
}

}  // namespace kalstream::serve
