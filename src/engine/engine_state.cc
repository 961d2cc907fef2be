// A stream's checkpoints: what is in them, and whose they are.
#include "core/archive.h"
#include "engine/checkpoint.h"
#include "engine/engine.h"
#include "kalstream/settings.h"
#include "kalstream/snapshot.h"
#include "schema/rules.h"

namespace kalstream {
namespace {

/// Describes a learner in words, to be compared with another one. The number of threads is left
/// out: it changes no answer.
std::string text_of(const Recipe& recipe) {
  std::string text = name_of(recipe.options.rule);
  if (recipe.scaled) text += " scaled";
  for (const Setting& s : settings_of(recipe.options))
    if (s.key != "threads") text += ' ' + s.key + '=' + s.value;
  return text + " seed=" + std::to_string(recipe.options.network.seed);
}

}  // namespace

void Engine::require_same_learner(const std::string& there) const {
  const std::string here = text_of(*recipe_);
  if (there == here) return;
  throw SnapshotError(
      "its learner is another than the options say; use the same options as before, "
      "or another checkpoint\n  there: " +
      there + "\n  here:  " + here);
}

void Engine::exchange(Archive& archive) {
  counts_.exchange(archive);
  bool is_settled = settled();
  archive.flag(is_settled);
  if (!is_settled) return;
  Schema fields = schema();
  fields.exchange(archive);
  std::string learner = archive.reading() ? "" : text_of(*recipe_);
  archive.text(learner);
  if (archive.reading()) go_on(std::move(fields), learner);
  scores_->exchange(archive);
}

void Engine::go_on(Schema schema, const std::string& learner) {
  require_choice(schema, options_.fields);
  to_be_checked_ = true;
  begin(std::move(schema));
  require_same_learner(learner);
}

void Engine::set_only_model(std::unique_ptr<StreamModel> model) {
  if (!models_) throw SnapshotError("there is a model of a stream that is not settled");
  require_width(*model);
  models_->put("", std::move(model));
}

CheckpointImage Engine::image(Bytes stream, std::shared_ptr<Learner> copy) const {
  const StreamModel* model = has_keys() || !models_ ? nullptr : models_->only();
  if (model != nullptr && copy) return {std::move(stream), "", *model, std::move(copy)};
  return {std::move(stream), "", model};
}

const Recipe* Engine::large_recipe() const {
  constexpr std::uint64_t large = std::uint64_t{4} << 20;
  if (has_keys() || !models_ || models_->only() == nullptr) return nullptr;
  const bool fits = models_->bytes() < options_.memory / 2;
  return fits && models_->bytes() - beside_ >= large ? models_->only()->learner().recipe()
                                                     : nullptr;
}

void Engine::begin_commit(Models::Give give) {
  if (has_keys() && models_) models_->begin_commit(std::move(give));
}

void Engine::set_memory_beside(std::uint64_t bytes) {
  beside_ = bytes;
  if (models_) models_->set_beside(bytes);
}

void Engine::committed(bool done) {
  if (models_) models_->committed(done);
}

}  // namespace kalstream
