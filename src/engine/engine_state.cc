// A stream's checkpoints: what is in them, and whose they are.
#include <algorithm>
#include <array>

#include "core/archive.h"
#include "engine/checkpoint.h"
#include "engine/engine.h"
#include "kalstream/settings.h"
#include "kalstream/snapshot.h"
#include "schema/rules.h"

namespace kalstream {
namespace {

/// " key=value" of a text of such, cut out: an option that changes no answer.
std::string without(std::string text, const std::string& key) {
  const std::size_t at = text.find(' ' + key + '=');
  if (at != std::string::npos) text.erase(at, text.find(' ', at + 1) - at);
  return text;
}

/// A learner in words, to be compared with another's.
std::string text_of(const Recipe& recipe) {
  std::string text = name_of(recipe.options.rule);
  if (recipe.scaled) text += " scaled";
  // What is younger than some checkpoints is not named as long as it is as it comes.
  constexpr std::array<std::string_view, 4> of_losses{"loss", "loss_threshold", "quantile",
                                                      "link_scale"};
  const bool is_squared = recipe.options.loss.kind == Loss::Kind::squared;
  for (const Setting& s : settings_of(recipe.options)) {
    if (is_squared && std::ranges::find(of_losses, s.key) != of_losses.end()) continue;
    if (s.key == "single_precision" && s.value == "false") continue;
    if (s.key == "lean" && s.value == "true") continue;
    text += ' ' + s.key + '=' + s.value;
  }
  return text + " seed=" + std::to_string(recipe.options.network.seed);
}

}  // namespace

void Engine::require_same_learner(const std::string& before, bool with_seed) const {
  std::string there = without(before, "threads");
  std::string here = without(text_of(*recipe_), "threads");
  if (!with_seed) here = without(here, "seed");
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
  if (archive.reading()) go_on(std::move(fields), learner, /*with_seed=*/true);
  scores_->exchange(archive);
}

void Engine::exchange_old(Archive& archive, const Counts& counts, Schema fields) {
  counts_ = counts;
  std::string learner;
  archive.text(learner);
  if (!fields.empty()) go_on(std::move(fields), learner, /*with_seed=*/false);
  bool has_scores = false;
  archive.flag(has_scores);
  archive.require(!has_scores || scores_.has_value());
  Scores none(1);
  Scores& scores = scores_ ? *scores_ : none;
  if (has_scores)
    scores.exchange(archive);
  else
    scores.exchange_coverage(archive);
}

void Engine::go_on(Schema schema, const std::string& learner, bool with_seed) {
  require_choice(schema, options_.fields);
  to_be_checked_ = true;
  begin(std::move(schema));
  require_same_learner(learner, with_seed);
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
