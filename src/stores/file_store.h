// The state of a stream with one model, in one file.
#pragma once

#include <filesystem>

#include "engine/ports.h"
#include "stores/lock.h"

namespace kalstream {

/// What a checkpoint file holds, or, if it is damaged, the one before it; nothing if there is none.
/// `remark` says what had to be done. Throws SnapshotError if there is something, and nothing
/// sound.
std::optional<Bytes> read_sound(const std::filesystem::path& path, std::string& remark,
                                System& system = System::real());

/// The file is replaced whole; the one before it is kept with ".previous" added to its name, and
/// stands in for one that is damaged.
class FileStore final : public StateStore {
 public:
  /// Throws std::runtime_error if it cannot be written there, or if another process has it.
  explicit FileStore(std::filesystem::path path, System& system = System::real());

  /// Throws SnapshotError if there is something, and nothing sound.
  std::optional<Bytes> stream() override;
  std::optional<Bytes> get(const std::string&) override { return {}; }
  bool holds(const std::string&) override { return false; }
  std::size_t models() const override { return 0; }
  void put(std::vector<KeyedState>) override {}
  bool takes_models() const override { return false; }
  std::uint64_t begin_commit() override { return 0; }
  using StateStore::commit;
  void commit(std::uint64_t ticket, Bytes stream, const NextState& next) override;

  std::string remark() const override { return remark_; }

 private:
  System& system_;
  std::filesystem::path path_;
  Lock lock_;
  std::string remark_;
};

}  // namespace kalstream
