#include "engine/packed_model.h"

namespace kalstream {

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

}  // namespace kalstream
