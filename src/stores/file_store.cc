#include "stores/file_store.h"

#include "core/envelope.h"
#include "engine/checkpoint.h"
#include "io/atomic_file.h"
#include "io/snapshot_file.h"
#include "kalstream/snapshot.h"

namespace kalstream {

namespace fs = std::filesystem;

FileStore::FileStore(fs::path path) : path_(std::move(path)), lock_(path_.string() + ".lock") {
  remove_leftovers(path_);
  require_writable(path_);
}

std::optional<Bytes> FileStore::stream() { return read_sound(path_, remark_); }

std::optional<Bytes> read_sound(const fs::path& path, std::string& remark) {
  if (!fs::exists(path)) return {};
  const fs::path previous = path.string() + ".previous";
  std::string wrong;
  for (const fs::path& candidate : {path, previous}) {
    try {
      Bytes bytes = read_bytes(candidate);
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

void FileStore::commit(std::uint64_t, Bytes stream, std::vector<KeyedState>) {
  write_file_and_keep(path_, as_text(stream));
}

}  // namespace kalstream
