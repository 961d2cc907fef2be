#include "fleet/instance.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <stdexcept>

namespace kalstream::fleet {
namespace {

namespace fs = std::filesystem;

/// nullptr: another process has it.
std::unique_ptr<Lock> try_lock(const fs::path& file, std::string& why) {
  try {
    return std::make_unique<Lock>(file);
  } catch (const std::runtime_error& error) {
    why = error.what();
    if (why.find("in use by") == why.npos) throw;
    return nullptr;
  }
}

// Of what people write, what may be in the name of a file.
std::string file_name(std::string name) {
  for (char& c : name)
    if (c == '/' || c == '\0') c = '_';
  return name.starts_with('.') ? '_' + name : name;
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "here";
}

fs::path default_cache(const std::string& fleet) {
  return fs::temp_directory_path() / fmt::format("kalstream-fleet-{}", ::getuid()) /
         file_name(fleet);
}

Instance take_instance(const std::string& name, const fs::path& cache) {
  constexpr int most = 1000;
  fs::create_directories(cache);
  std::string why;
  const auto take = [&](const std::string& one) {
    Instance instance{.name = one, .folder = cache / file_name(one)};
    instance.lock = try_lock(instance.folder.string() + ".lock", why);
    if (instance.lock) fs::create_directories(instance.folder);
    return instance;
  };
  if (!name.empty()) {
    Instance instance = take(name);
    if (!instance.lock)
      throw std::runtime_error(
          fmt::format("another worker of this machine is instance {} ({}); give every worker its "
                      "own --instance",
                      name, why));
    return instance;
  }
  const std::string host = host_name();
  for (int n = 1; n <= most; ++n)
    if (Instance instance = take(fmt::format("{}-{}", host, n)); instance.lock) return instance;
  throw std::runtime_error("there is no name left for a worker: " + why);
}

}  // namespace kalstream::fleet
