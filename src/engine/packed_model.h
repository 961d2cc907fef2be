// A model that is not in use.
#pragma once

#include <memory>
#include <string>

#include "core/pages.h"
#include "engine/checkpoint.h"

namespace kalstream {

/// What its checkpoint would hold, and nothing else: of a large model clearly less than it takes
/// when it lives. Checksums, which take longest, are made only when it leaves the process.
class PackedModel {
 public:
  explicit PackedModel(const CheckpointImage& image);

  std::size_t size() const { return pages_.bytes().size(); }
  /// What it was made of, by the model's key.
  CheckpointImage image(const std::string& key) const;
  /// The model, with these options. Throws SnapshotError.
  std::unique_ptr<StreamModel> unpacked(const std::string& key, const ModelOptions* options) const;

 private:
  Pages pages_;
  std::size_t learner_at_;
  std::size_t learner_size_;
};

}  // namespace kalstream
