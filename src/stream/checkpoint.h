// All that a running stream keeps, in files: so that it can stop at any moment and go on.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/archive.h"
#include "data/sample_reader.h"
#include "kalstream/snapshot.h"
#include "stream/line_source.h"
#include "stream/model.h"

namespace kalstream {

/// What the stream has counted since its beginning.
struct StreamCounts {
  std::uint64_t lines = 0;     ///< read, of any kind
  std::uint64_t refused = 0;   ///< could not be used
  std::uint64_t samples = 0;   ///< predicted
  std::uint64_t learnt = 0;    ///< with a target
  std::uint64_t missing = 0;   ///< passed without one
  std::uint64_t late = 0;      ///< targets of samples that did not wait any more
  std::uint64_t gated = 0;     ///< updates the rule held back
  std::uint64_t rejected = 0;  ///< updates that would have done harm
  std::uint64_t held = 0;      ///< missing inputs, the last value taken for each

  void exchange(Archive& archive);
};

/// What a checkpoint file holds (docs/snapshots.md): the stream, a model, or both.
struct Checkpoint {
  std::vector<std::byte> stream;  ///< empty: none
  std::string key;                ///< of the model
  std::vector<std::byte> model;   ///< empty: none
  std::uint64_t format = Archive::newest;
};

std::vector<std::byte> to_bytes(const Checkpoint& checkpoint);

/// Throws SnapshotError unless the bytes are a sound checkpoint.
Checkpoint checkpoint_of(std::span<const std::byte> bytes);
bool is_checkpoint(std::span<const std::byte> bytes);

/// To read the stream in it.
Archive stream_of(const Checkpoint& checkpoint);

/// The model in it, with these options, or as it was. Throws SnapshotError.
std::unique_ptr<StreamModel> model_of(const Checkpoint& checkpoint,
                                      const ModelOptions* options = nullptr);

/// The learner in a file that is a snapshot, or a checkpoint with a model. Throws SnapshotError,
/// naming the path.
std::unique_ptr<Learner> read_learner(const std::filesystem::path& path);

/// What the stream in it had counted.
StreamCounts counts_of(const Checkpoint& checkpoint);

}  // namespace kalstream
