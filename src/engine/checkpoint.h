// A stream's state as bytes that can be trusted: what a checkpoint file holds (docs/snapshots.md).
#pragma once

#include <memory>
#include <span>
#include <string>

#include "core/envelope.h"
#include "core/pages.h"
#include "engine/model.h"
#include "engine/ports.h"
#include "kalstream/learner.h"
#include "kalstream/schema.h"

namespace kalstream {

/// The stream, a model, or both.
struct Checkpoint {
  Bytes stream;     ///< empty: none
  std::string key;  ///< of the model
  Bytes model;      ///< empty: none
};

Bytes to_bytes(const Checkpoint& checkpoint);

/// The checkpoint of a moment, of which is made at once only what has to be. The rest, which takes
/// most of the time, any thread can do later.
class CheckpointImage {
 public:
  /// Without a model if that is nullptr. It is faster in a buffer that is large enough.
  CheckpointImage(Bytes stream, std::string key, const StreamModel* model, Bytes buffer = {});
  /// The model's learner is copied into `copy`, made by the same recipe, which nobody else may look
  /// at until this is finished or gone: for large ones the shortest way.
  CheckpointImage(Bytes stream, std::string key, const StreamModel& model,
                  std::shared_ptr<Learner> copy);

  const std::string& key() const { return key_; }
  std::size_t memory() const { return bytes_.capacity(); }  ///< that it takes, but for the copy
  std::size_t written() const { return bytes_.size(); }
  /// What to_bytes() gives.
  Bytes finish() &&;
  /// The memory it was written to, for another.
  Bytes buffer() && { return std::move(bytes_); }

 private:
  friend class PackedModel;

  CheckpointImage() = default;
  void write(const Learner* learner);

  Bytes stream_;
  std::string key_;
  std::shared_ptr<Learner> copy_;  // not yet written
  Bytes beside_;                   // what belongs to the model besides
  Bytes bytes_;                    // all but checksums
  std::size_t learner_at_ = 0;     // its snapshot, with a checksum of its own
  std::size_t learner_size_ = 0;
};

/// Throws SnapshotError unless the bytes are a sound checkpoint.
Checkpoint checkpoint_of(std::span<const std::byte> bytes);
bool is_checkpoint(std::span<const std::byte> bytes);

/// What the stream in it had counted, and its fields. Throws SnapshotError.
struct StreamSummary {
  Counts counts;
  Schema schema;
};
StreamSummary summary_of(const Checkpoint& checkpoint);

/// To read the stream in it.
Archive stream_of(const Checkpoint& checkpoint);

/// The model in it, with these options, or as it was. Throws SnapshotError.
std::unique_ptr<StreamModel> model_of(const Checkpoint& checkpoint,
                                      const ModelOptions* options = nullptr);
/// The same straight from the bytes, which must be of this key.
std::unique_ptr<StreamModel> model_in(std::span<const std::byte> bytes, const std::string& key,
                                      const ModelOptions* options,
                                      Checksum checksum = Checksum::checked);

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

struct Learnt {
  std::unique_ptr<Learner> learner;
  Schema schema;  ///< of the stream it has learnt from; empty if that is not known
};

/// Of a snapshot, or a checkpoint with a model. Throws SnapshotError.
Learnt learnt_of(std::span<const std::byte> bytes);

}  // namespace kalstream
