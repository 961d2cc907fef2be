#include "io/snapshot_file.h"

#include <cstdint>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include "io/atomic_file.h"

namespace kalstream {
namespace {

constexpr std::uintmax_t most_bytes = std::uintmax_t{8} << 30;  // as much as load takes

}  // namespace

std::vector<std::byte> read_bytes(const std::filesystem::path& path) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error) throw SnapshotError("cannot open the snapshot: " + error.message());
  if (size > most_bytes) throw SnapshotError("too large for a snapshot");
  std::vector<std::byte> bytes(size);
  std::ifstream in(path, std::ios::binary);
  if (!in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size)))
    throw SnapshotError("cannot read the snapshot");
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
