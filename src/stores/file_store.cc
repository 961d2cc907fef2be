#include "stores/file_store.h"

#include "core/envelope.h"
#include "engine/checkpoint.h"
#include "io/atomic_file.h"
#include "kalstream/snapshot.h"

namespace kalstream {

namespace fs = std::filesystem;

FileStore::FileStore(fs::path path, System& system)
    : system_(system), path_(std::move(path)), lock_(path_.string() + ".lock", system) {
  remove_leftovers(path_, system_);
  require_writable(path_, system_);
}

// The one that stands in takes its place at once: else the next commit would keep the damaged one
// as the one before it.
std::optional<Bytes> FileStore::stream() {
  auto bytes = read_sound(path_, remark_, system_);
  if (remark_.empty()) return bytes;
  remark_ += "; the damaged one is now " + keep_damaged(path_, system_);
  write_file(path_, as_text(*bytes), system_);
  return bytes;
}

std::optional<Bytes> read_sound(const fs::path& path, std::string& remark, System& system) {
  if (!system.exists(path)) return {};
  const fs::path previous = path.string() + ".previous";
  std::string wrong;
  for (const fs::path& candidate : {path, previous}) {
    try {
      Bytes bytes = read_bytes(candidate, system);
      checkpoint_of(bytes);
      if (!wrong.empty())
        remark = path.string() + ": " + wrong + "; going on from the one before it, " +
                 previous.string();
      return bytes;
    } catch (const SnapshotError& error) {
      if (wrong.empty()) wrong = error.what();
    }
  }
  throw SnapshotError(path.string() + ": " + wrong);
}

void FileStore::commit(std::uint64_t, Bytes stream, const NextState&) {
  lock_.keep();
  write_file_and_keep(path_, as_text(stream), system_);
}

}  // namespace kalstream
