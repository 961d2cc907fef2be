#include "serve/description.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "core/envelope.h"
#include "http/message.h"
#include "io/atomic_file.h"
#include "io/snapshot_file.h"
#include "serve/folders.h"

namespace kalstream::serve {

bool is_name(std::string_view name) {
  constexpr std::size_t longest = 100;
  const auto permitted = [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  return !name.empty() && name.size() <= longest && name.front() != '.' &&
         std::ranges::all_of(name, permitted);
}

void write_description(const std::string& folder, const std::string& name, std::int64_t created,
                       const StreamSettings& settings, System& system) {
  make_folder(folder, system);
  write_file(folder + "/stream.json",
             fmt::format("{{\"name\":{},\"created\":{},\"options\":{}}}\n", http::quoted(name),
                         created, to_json(settings)),
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

}  // namespace kalstream::serve
