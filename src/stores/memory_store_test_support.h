// State that outlives an engine, but not the process: for tests, and where nothing need be kept.
#pragma once

#include <map>
#include <mutex>
#include <set>

#include "engine/ports.h"

namespace kalstream {

class MemoryStore final : public StateStore {
 public:
  std::optional<Bytes> stream() override {
    const std::lock_guard lock(mutex_);
    return stream_;
  }
  std::optional<Bytes> get(const std::string& key) override {
    const std::lock_guard lock(mutex_);
    for (const auto* models : {&put_, &sealed_, &committed_})
      if (const auto found = models->find(key); found != models->end()) {
        if (found->second.empty()) return {};
        return found->second;
      }
    return {};
  }
  bool holds(const std::string& key) override { return get(key).has_value(); }
  std::size_t models() const override {
    const std::lock_guard lock(mutex_);
    std::set<std::string> keys;
    for (const auto* models : {&committed_, &sealed_, &put_})
      for (const auto& [key, state] : *models)
        if (state.empty())
          keys.erase(key);
        else
          keys.insert(key);
    return keys.size();
  }
  void put(std::vector<KeyedState> models) override {
    const std::lock_guard lock(mutex_);
    for (KeyedState& m : models) put_[m.key] = std::move(m.state);
  }
  bool takes_models() const override { return true; }
  std::uint64_t begin_commit() override {
    const std::lock_guard lock(mutex_);
    for (auto& [key, state] : put_) sealed_[key] = std::move(state);
    put_.clear();
    return 0;
  }
  using StateStore::commit;
  void commit(std::uint64_t, Bytes stream, const NextState& next) override {
    std::vector<KeyedState> models;
    while (auto model = next()) models.push_back(std::move(*model));
    const std::lock_guard lock(mutex_);
    stream_ = std::move(stream);
    for (auto& [key, state] : sealed_) committed_[key] = std::move(state);
    sealed_.clear();
    for (KeyedState& m : models) committed_[m.key] = std::move(m.state);
  }

  /// What a crash would leave: all but what was put after the last commit.
  void crash() {
    const std::lock_guard lock(mutex_);
    put_.clear();
    sealed_.clear();
  }

 private:
  mutable std::mutex mutex_;
  std::optional<Bytes> stream_;
  std::map<std::string, Bytes> committed_;
  std::map<std::string, Bytes> put_;
  std::map<std::string, Bytes> sealed_;  // put before the commit that has begun
};

}  // namespace kalstream
