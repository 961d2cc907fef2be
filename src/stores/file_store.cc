#include "stores/file_store.h"

#include "core/envelope.h"
#include "engine/checkpoint.h"
#include "io/atomic_file.h"
#include "io/snapshot_file.h"
#include "kalstream/snapshot.h"

namespace kalstream {

namespace fs = std::filesystem;

FileStore::FileStore(fs::path path) : path_(std::move(path)) { require_writable(path_); }

std::optional<Bytes> FileStore::stream() {
  if (!fs::exists(path_)) return {};
  const fs::path previous = path_.string() + ".previous";
  std::string wrong;
  for (const fs::path& path : {path_, previous}) {
    try {
      Bytes bytes = read_bytes(path);
      checkpoint_of(bytes);
      if (!wrong.empty())
        remark_ = path_.string() + ": " + wrong + "; going on from the one before it, " +
                  previous.string();
      return bytes;
    } catch (const SnapshotError& error) {
      if (wrong.empty()) wrong = error.what();
    }
  }
  throw SnapshotError(path_.string() + ": " + wrong);
}

void FileStore::commit(Bytes stream, std::vector<KeyedState>) {
  write_file_and_keep(path_, as_text(stream));
}

}  // namespace kalstream
