#include "io/snapshot_file.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "io/atomic_file.h"

namespace kalstream {
namespace {

constexpr std::uintmax_t most_bytes = std::uintmax_t{8} << 30;  // as much as load takes

}  // namespace

std::vector<std::byte> read_bytes(const std::filesystem::path& path, System& system) {
  const auto fail = [](const std::string& what) {
    throw SnapshotError(what + ": " + std::strerror(errno));
  };
  const Descriptor file(system, system.open(path, O_RDONLY));
  struct stat status = {};
  if (!file || system.status(file.get(), status) != 0) fail("cannot open the snapshot");
  const auto size = static_cast<std::uintmax_t>(status.st_size);
  if (size > most_bytes) throw SnapshotError("too large for a snapshot");
  std::vector<std::byte> bytes(size);
  if (system.read_at(file.get(), bytes.data(), size, 0) != status.st_size)
    fail("cannot read the snapshot");
  return bytes;
}

void write_snapshot(const std::filesystem::path& path, const Learner& learner,
                    const Schema& schema) {
  const auto bytes = save(learner, schema);
  write_file_and_keep(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

Learnt read_learnt(const std::filesystem::path& path) {
  try {
    return learnt_of(read_bytes(path));
  } catch (const SnapshotError& error) {
    throw SnapshotError(path.string() + ": " + error.what());
  }
}

}  // namespace kalstream
