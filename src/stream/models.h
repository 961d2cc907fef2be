// The models of a stream: one, or one for every key.
#pragma once

#include <filesystem>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>

#include "stream/model.h"

namespace kalstream {

/// Models by key. As many as `most` are in memory; beyond that those not used for longest go to
/// files, and come back when their key does. Without a folder there can be no more than `most`.
class Models {
 public:
  using MakeLearner = std::function<std::unique_ptr<Learner>()>;

  Models(MakeLearner make, const ModelOptions& options, std::filesystem::path folder,
         std::size_t most);

  /// The model of the key: made, or brought back, if it is not in memory. Throws DataError if there
  /// may be no more, SnapshotError if its file cannot be used, std::runtime_error if one that has
  /// to go cannot be written.
  StreamModel& of(const std::string& key);

  /// Writes all that were used since they were written last.
  void write();

  /// The one there is, where there are no keys; nullptr before it is made.
  const StreamModel* only() const;
  void put(const std::string& key, std::unique_ptr<StreamModel> model);

  std::size_t in_memory() const { return models_.size(); }
  std::size_t on_disk() const { return files_; }  ///< and not in memory
  std::uint64_t evictions() const { return evictions_; }
  /// Samples that wait for their target, in the models in memory.
  std::size_t pending() const;

  /// The file of a key: its letters and digits as they are, all else by code.
  static std::string file_name(const std::string& key);

 private:
  struct Entry {
    std::string key;
    std::unique_ptr<StreamModel> model;
    bool changed = false;
  };

  std::filesystem::path path_of(const std::string& key) const { return folder_ / file_name(key); }
  std::unique_ptr<StreamModel> bring_back(const std::string& key);
  void make_room();

  MakeLearner make_;
  ModelOptions options_;
  std::filesystem::path folder_;
  std::size_t most_;
  std::list<Entry> models_;  // the last used first
  std::unordered_map<std::string, std::list<Entry>::iterator> by_key_;
  std::size_t files_ = 0;
  std::uint64_t evictions_ = 0;
};

}  // namespace kalstream
