#include "engine/checkpoint.h"

#include "core/envelope.h"
#include "kalstream/snapshot.h"
#include "recipes/state.h"

namespace kalstream {
namespace {

constexpr Envelope checkpoint_envelope{
    {0x89, 'K', 'A', 'L', 'C', '\r', '\n', 0x1a}, /*format=*/6, "checkpoint"};

/// What is in it, where it lies.
struct Contents {
  std::string_view stream;
  std::string_view key;
  std::string_view model;
};

Contents contents_of(std::span<const std::byte> bytes, Checksum checksum) {
  Archive from = open(checkpoint_envelope, bytes, checksum);
  Contents in;
  for (std::string_view* part : {&in.stream, &in.key, &in.model}) from.text(*part);
  from.require(from.left() == 0 && (!in.stream.empty() || !in.model.empty()));
  return in;
}

std::unique_ptr<StreamModel> load(std::span<const std::byte> model, const ModelOptions* options) {
  Archive from(model);
  auto loaded = StreamModel::load(from, options);
  from.require(from.left() == 0);
  return loaded;
}

}  // namespace

Bytes to_bytes(const Checkpoint& checkpoint) {
  Bytes bytes;
  const std::size_t begins = begin(checkpoint_envelope, bytes);
  Archive to(bytes);
  for (std::string_view part :
       {as_text(checkpoint.stream), std::string_view(checkpoint.key), as_text(checkpoint.model)})
    to.text(part);
  close(bytes, begins);
  seal(bytes);
  return bytes;
}

CheckpointImage::CheckpointImage(Bytes stream, std::string key, const StreamModel* model,
                                 Bytes buffer)
    : stream_(std::move(stream)), key_(std::move(key)), bytes_(std::move(buffer)) {
  bytes_.clear();
  if (model != nullptr) {
    beside_ = model->beside_learner();
    write(&model->learner());
  } else {
    write(nullptr);
  }
}

CheckpointImage::CheckpointImage(Bytes stream, std::string key, const StreamModel& model,
                                 std::shared_ptr<Learner> copy)
    : stream_(std::move(stream)),
      key_(std::move(key)),
      copy_(std::move(copy)),
      beside_(model.beside_learner()) {
  copy_state(model.learner(), *copy_);
}

// What to_bytes() and StreamModel::to_bytes() give, in one go.
void CheckpointImage::write(const Learner* learner) {
  const std::size_t begins = begin(checkpoint_envelope, bytes_);
  Archive to(bytes_);
  for (std::string_view part : {as_text(stream_), std::string_view(key_)}) to.text(part);
  append_text(bytes_, [&] {
    if (learner == nullptr) return;
    append_text(bytes_, [&] { learner_at_ = append_unsealed(*learner, {}, bytes_); });
    learner_size_ = bytes_.size() - learner_at_;
    bytes_.insert(bytes_.end(), beside_.begin(), beside_.end());
  });
  close(bytes_, begins);
  stream_ = {};
  beside_ = {};
}

Bytes CheckpointImage::finish() && {
  if (copy_) write(copy_.get());
  copy_.reset();
  if (learner_size_ > 0)
    seal_both(bytes_, std::span(bytes_).subspan(learner_at_, learner_size_));
  else
    seal(bytes_);
  return std::move(bytes_);
}

Checkpoint checkpoint_of(std::span<const std::byte> bytes) {
  const Contents in = contents_of(bytes, Checksum::checked);
  const auto copy = [](std::string_view text) {
    return Bytes(as_bytes(text).begin(), as_bytes(text).end());
  };
  return {copy(in.stream), std::string(in.key), copy(in.model)};
}

bool is_checkpoint(std::span<const std::byte> bytes) {
  return begins_like(checkpoint_envelope, bytes);
}

Archive stream_of(const Checkpoint& checkpoint) { return Archive(std::span(checkpoint.stream)); }

StreamSummary summary_of(const Checkpoint& checkpoint) {
  StreamSummary summary;
  Archive from = stream_of(checkpoint);
  std::string_view place;
  from.text(place);
  summary.counts.exchange(from);
  bool settled = false;
  from.flag(settled);
  if (settled) summary.schema.exchange(from);
  return summary;
}

std::unique_ptr<StreamModel> model_of(const Checkpoint& checkpoint, const ModelOptions* options) {
  return load(checkpoint.model, options);
}

std::unique_ptr<StreamModel> model_in(std::span<const std::byte> bytes, const std::string& key,
                                      const ModelOptions* options, Checksum checksum) {
  const Contents in = contents_of(bytes, checksum);
  if (in.key != key) throw SnapshotError("it is the model of another key");
  return load(as_bytes(in.model), options);
}

PackedModel::PackedModel(const CheckpointImage& image)
    : pages_(image.bytes_), learner_at_(image.learner_at_), learner_size_(image.learner_size_) {}

CheckpointImage PackedModel::image(const std::string& key) const {
  CheckpointImage image;
  image.key_ = key;
  image.bytes_.assign(pages_.bytes().begin(), pages_.bytes().end());
  image.learner_at_ = learner_at_;
  image.learner_size_ = learner_size_;
  return image;
}

std::unique_ptr<StreamModel> PackedModel::unpacked(const std::string& key,
                                                   const ModelOptions* options) const {
  return model_in(pages_.bytes(), key, options, Checksum::passed_over);
}

Learnt learnt_of(std::span<const std::byte> bytes) {
  if (!is_checkpoint(bytes)) return {load(bytes), describe(bytes).schema};
  const Checkpoint checkpoint = checkpoint_of(bytes);
  if (checkpoint.model.empty()) throw SnapshotError("there is no learner in this checkpoint");
  Learnt learnt{model_of(checkpoint)->learner().clone(), {}};
  if (!checkpoint.stream.empty()) learnt.schema = summary_of(checkpoint).schema;
  return learnt;
}

}  // namespace kalstream
