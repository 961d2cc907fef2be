// The state of a stream with one model, in one file.
#pragma once

#include <filesystem>

#include "ports/ports.h"

namespace kalstream {

/// The file is replaced whole; the one before it is kept with ".previous" added to its name, and
/// stands in for one that is damaged.
class FileStore final : public StateStore {
 public:
  /// Throws std::runtime_error if it cannot be written there.
  explicit FileStore(std::filesystem::path path);

  /// Throws SnapshotError if there is something, and nothing sound.
  std::optional<Bytes> stream() override;
  std::optional<Bytes> get(const std::string&) override { return {}; }
  bool holds(const std::string&) override { return false; }
  std::size_t models() const override { return 0; }
  void put(std::vector<KeyedState>) override {}
  bool takes_models() const override { return false; }
  void commit(Bytes stream, std::vector<KeyedState> models) override;

  /// What stream() had to do to find one, for people; empty: nothing.
  const std::string& remark() const { return remark_; }

 private:
  std::filesystem::path path_;
  std::string remark_;
};

}  // namespace kalstream
