#include "fleet/spill_store.h"

#include "engine/checkpoint.h"
#include "kalstream/snapshot.h"

namespace kalstream::fleet {

SpillStore::SpillStore(std::filesystem::path file, System& system)
    : system_(system), files_(system), file_(std::move(file)) {}

// One that cannot be read must not be taken for one that is no model: it is in the log as well.
std::optional<Bytes> SpillStore::get(const std::string& key) {
  if (!spill_) return {};
  auto state = spill_->get(key);
  if (!state || state->empty()) return {};
  try {
    checkpoint_of(*state);
  } catch (const SnapshotError& error) {
    throw StoreDamaged(file_.string() + ": " + error.what());
  }
  return state;
}

bool SpillStore::holds(const std::string& key) {
  return spill_ && spill_->word_of(key) == Spill::Word::model;
}

void SpillStore::put(std::vector<KeyedState> models) {
  if (!spill_) {
    system_.remove(file_);  // of a process that was killed
    spill_ = std::make_unique<Spill>(file_, 0, files_, system_);
  }
  std::size_t more = 0;
  std::size_t fewer = 0;
  for (const KeyedState& m : models) {
    const bool known = holds(m.key);
    if (m.state.empty())
      fewer += known ? 1 : 0;
    else
      more += known ? 0 : 1;
  }
  spill_->put(models);
  models_ += more;
  models_ -= fewer;
}

}  // namespace kalstream::fleet
