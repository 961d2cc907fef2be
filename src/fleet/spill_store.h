// A place for models that do not fit in memory: a file that means nothing to another process.
#pragma once

#include <filesystem>
#include <memory>

#include "engine/ports.h"
#include "stores/database_files.h"
#include "stores/spill.h"

namespace kalstream::fleet {

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
  DatabaseFiles files_;
  std::filesystem::path file_;
  std::unique_ptr<Spill> spill_;
  std::size_t models_ = 0;
};

}  // namespace kalstream::fleet
