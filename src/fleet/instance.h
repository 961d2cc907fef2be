// The name of a worker among others, and its own folder.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "stores/lock.h"

namespace kalstream::fleet {

/// For as long as it lives, no other process of this machine has the name. A worker that is started
/// again gets the name it had, so that the group gives it what it had.
struct Instance {
  std::string name;
  std::filesystem::path folder;
  std::unique_ptr<Lock> lock;
};

/// `name` empty: HOST-N, with the smallest N that is free here. Throws std::runtime_error if the
/// name is in use, or the folder cannot be.
Instance take_instance(const std::string& name, const std::filesystem::path& cache);

/// Of this machine.
std::string host_name();

/// Where a fleet of this name keeps what can be had again, if nobody says where.
std::filesystem::path default_cache(const std::string& fleet);

}  // namespace kalstream::fleet
