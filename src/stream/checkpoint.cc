#include "stream/checkpoint.h"

#include "core/envelope.h"
#include "io/snapshot_file.h"

namespace kalstream {
namespace {

constexpr Envelope checkpoint_envelope{
    {0x89, 'K', 'A', 'L', 'C', '\r', '\n', 0x1a}, /*format=*/3, "checkpoint"};

}  // namespace

void StreamCounts::exchange(Archive& archive) {
  for (std::uint64_t* n : {&lines, &refused, &samples, &learnt, &missing, &late, &gated, &rejected})
    archive.count(*n);
  if (archive.format() >= 2) archive.count(held);
}

std::vector<std::byte> to_bytes(const Checkpoint& checkpoint) {
  auto bytes = begin(checkpoint_envelope);
  Archive to(bytes);
  for (std::string_view part :
       {as_text(checkpoint.stream), std::string_view(checkpoint.key), as_text(checkpoint.model)})
    to.text(part);
  finish(bytes);
  return bytes;
}

Checkpoint checkpoint_of(std::span<const std::byte> bytes) {
  Archive from = open(checkpoint_envelope, bytes);
  std::string_view stream;
  std::string_view key;
  std::string_view model;
  for (std::string_view* part : {&stream, &key, &model}) from.text(*part);
  from.require(from.left() == 0 && (!stream.empty() || !model.empty()));
  const auto copy = [](std::string_view text) {
    return std::vector(as_bytes(text).begin(), as_bytes(text).end());
  };
  return {copy(stream), std::string(key), copy(model), from.format()};
}

bool is_checkpoint(std::span<const std::byte> bytes) {
  return begins_like(checkpoint_envelope, bytes);
}

Archive stream_of(const Checkpoint& checkpoint) {
  return Archive(std::span(checkpoint.stream), checkpoint.format);
}

StreamCounts counts_of(const Checkpoint& checkpoint) {
  StreamCounts counts;
  Archive from = stream_of(checkpoint);
  counts.exchange(from);
  return counts;
}

std::unique_ptr<Learner> read_learner(const std::filesystem::path& path) {
  try {
    const auto bytes = read_bytes(path);
    if (!is_checkpoint(bytes)) return load(bytes);
    const Checkpoint checkpoint = checkpoint_of(bytes);
    if (checkpoint.model.empty()) throw SnapshotError("there is no learner in this checkpoint");
    return model_of(checkpoint)->learner().clone();
  } catch (const SnapshotError& error) {
    throw SnapshotError(path.string() + ": " + error.what());
  }
}

std::unique_ptr<StreamModel> model_of(const Checkpoint& checkpoint, const ModelOptions* options) {
  Archive from(std::span(checkpoint.model), checkpoint.format);
  auto model = StreamModel::load(from, options);
  from.require(from.left() == 0);
  return model;
}

}  // namespace kalstream
