// State that outlives an engine, but not the process: for tests, and where nothing need be kept.
#pragma once

#include <map>
#include <mutex>

#include "ports/ports.h"

namespace kalstream {

class MemoryStore final : public StateStore {
 public:
  std::optional<Bytes> stream() override {
    const std::lock_guard lock(mutex_);
    return stream_;
  }
  std::optional<Bytes> get(const std::string& key) override {
    const std::lock_guard lock(mutex_);
    for (const auto* models : {&put_, &committed_})
      if (const auto found = models->find(key); found != models->end()) return found->second;
    return {};
  }
  bool holds(const std::string& key) override {
    const std::lock_guard lock(mutex_);
    return put_.contains(key) || committed_.contains(key);
  }
  std::size_t models() const override {
    const std::lock_guard lock(mutex_);
    std::size_t n = committed_.size();
    for (const auto& [key, state] : put_) n += committed_.contains(key) ? 0 : 1;
    return n;
  }
  void put(std::vector<KeyedState> models) override {
    const std::lock_guard lock(mutex_);
    for (KeyedState& m : models) put_[m.key] = std::move(m.state);
  }
  bool takes_models() const override { return true; }
  void commit(Bytes stream, std::vector<KeyedState> models) override {
    const std::lock_guard lock(mutex_);
    stream_ = std::move(stream);
    for (auto& [key, state] : put_) committed_[key] = std::move(state);
    put_.clear();
    for (KeyedState& m : models) committed_[m.key] = std::move(m.state);
  }

  /// What a crash would leave: all but what was put after the last commit.
  void crash() {
    const std::lock_guard lock(mutex_);
    put_.clear();
  }

 private:
  mutable std::mutex mutex_;
  std::optional<Bytes> stream_;
  std::map<std::string, Bytes> committed_;
  std::map<std::string, Bytes> put_;
};

}  // namespace kalstream
