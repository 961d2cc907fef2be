// Models that have left memory, for the time being.
#pragma once

#include <filesystem>

#include "engine/ports.h"
#include "stores/database.h"

namespace kalstream {

/// A database of its own for those that left between two commits, so that all of them can be
/// forgotten at once: the file goes with it. It is neither synced nor of use to another process.
class Spill {
 public:
  /// `after`: the number of commits that had begun. Throws std::runtime_error.
  Spill(std::filesystem::path path, std::uint64_t after, System& system);
  ~Spill();
  Spill(const Spill&) = delete;
  Spill& operator=(const Spill&) = delete;

  std::uint64_t after() const { return after_; }

  void put(const std::vector<KeyedState>& models);
  std::optional<Bytes> get(const std::string& key);  ///< empty: forgotten
  enum class Word : std::uint8_t { none, model, forgotten };
  Word word_of(const std::string& key);  ///< what it has to say of the key

  /// All of them, one by one, when no more will be put: the one behind `place`, which then is its
  /// own; from 0 on. Nothing after the last.
  std::optional<KeyedState> next(std::int64_t& place);

 private:
  struct Tables;

  std::filesystem::path path_;
  std::uint64_t after_;
  System& system_;
  std::unique_ptr<Tables> tables_;
};

/// A place for models that do not fit in memory: a file that means nothing to another process.
/// The file is there from the first model on that has to leave memory until this one goes.
class SpillStore final : public StateStore {
 public:
  explicit SpillStore(std::filesystem::path file, System& system = System::real());

  std::optional<Bytes> get(const std::string& key) override;
  bool holds(const std::string& key) override;
  std::size_t models() const override { return models_; }
  void put(std::vector<KeyedState> models) override;
  bool takes_models() const override { return true; }

  // It outlives nothing.
  std::optional<Bytes> stream() override { return {}; }
  std::uint64_t begin_commit() override { return 0; }
  using StateStore::commit;
  void commit(std::uint64_t, Bytes, const NextState&) override {}

 private:
  System& system_;
  std::filesystem::path file_;
  std::unique_ptr<Spill> spill_;
  std::size_t models_ = 0;
};

}  // namespace kalstream
