// A stream's learning, from records to answers: without descriptor, file, clock or thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/answer.h"
#include "engine/models.h"
#include "engine/scores.h"
#include "kalstream/learner.h"
#include "kalstream/schema.h"
#include "ports/ports.h"
#include "schema/sample.h"

namespace kalstream {

struct EngineOptions {
  FieldChoice fields;
  /// The learner for a stream of so many inputs and outputs. Throws std::invalid_argument.
  std::function<Recipe(std::size_t inputs, std::size_t outputs)> recipe;
  /// Begin with copies of this one instead, which has learnt from a stream of that schema (empty if
  /// it is not known).
  std::shared_ptr<const Learner> start;
  Schema start_schema;

  /// The fields, where they are known before the first record; empty: that one settles them.
  Schema schema;

  /// For a stream of these fields, with the loss that they ask for. Throws std::invalid_argument.
  Recipe recipe_for(const Schema& of) const;

  ModelOptions model;
  bool hold_missing = false;  ///< the last values of missing inputs stand in for them
  /// Fields whose inputs may be known ahead of their time, by name or place.
  std::vector<std::string> future;
  std::size_t max_models = 10'000;
  /// That may be taken, by models with keys and all that belongs to a stream.
  std::uint64_t memory = ModelLimits::none;
};

/// Hears what the engine learns, besides its answers.
class EngineListener {
 public:
  virtual ~EngineListener() = default;
  virtual void took(std::span<const double> /*x*/) {}
  virtual void scored(std::span<const double> /*d_hat*/, std::span<const Interval> /*interval*/,
                      std::span<const double> /*d*/) {}
  virtual void stepped(const StepReport& /*report*/) {}
};

/// Settles the schema by the first record that can, has a model or one for every key, and the
/// stream's counts and scores. What it has become depends on the records alone.
class Engine final : private ModelListener {
 public:
  /// `store` may be nullptr; models that do not fit in memory go there.
  Engine(EngineOptions options, StateStore* store, EngineListener* listener = nullptr);

  /// Predicts: the answer to the record, or none if it says nothing. Its views live until the next
  /// call. Throws std::invalid_argument if the learner cannot be made for the stream that the first
  /// record shows, SchemaError if it is not the stream that was learnt from before; never later.
  /// Throws StoreError if the store cannot give a model now: then the record can be given again.
  const Answer* take(const Record& record);
  /// Learns what the last record has brought; take() does so first if nobody has. Apart from it, so
  /// that an answer can go out before the time this takes.
  void learn();
  /// Counts and answers something that could not even be read as a record.
  const Answer* refuse(std::string reason);

  /// What is expected of a key's model (of the only one, where there are no keys) so many samples
  /// ahead, with these records of future inputs, in their order: what is missing in them is held.
  /// Nothing if there is no such model. Learns nothing, and no later answer depends on it. Throws
  /// std::invalid_argument, naming the record that cannot be used; StoreError.
  std::optional<Foresight> foresee(const std::string& key, std::size_t horizon,
                                   std::span<Record> inputs);

  /// What people should know since the last call: how far samples are apart, and the like.
  std::vector<std::string> take_remarks();

  bool settled() const { return reader_.has_value(); }
  const Schema& schema() const;  ///< empty before
  bool has_keys() const { return !options_.fields.key.empty(); }
  const EngineOptions& options() const { return options_; }

  const Counts& counts() const { return counts_; }
  const Scores* scores() const { return scores_ ? &*scores_ : nullptr; }
  const Models* models() const { return models_ ? &*models_ : nullptr; }
  const StepReport& last_step() const { return last_step_; }

  /// All but the models, to or from a checkpoint, when nothing is left to learn; from one before
  /// the first record. Throws SnapshotError or SchemaError, naming both sides, if it is that of
  /// another learner or stream.
  void exchange(Archive& archive);
  /// The same from a checkpoint of format 1 or 2, whose fields were known by `schema`.
  void exchange_old(Archive& archive, const Counts& counts, Schema schema);
  void set_only_model(std::unique_ptr<StreamModel> model);

  /// The checkpoint of the key's model (of the only one, where there are no keys); nothing if there
  /// is none. Throws StoreError.
  std::optional<Bytes> state_of(const std::string& key);
  /// The same, to be finished by whoever has time; nothing as well if it is not in memory.
  std::optional<CheckpointImage> image_of(const std::string& key);
  /// The key's model is from now on that of this checkpoint, or goes on from this snapshot of a
  /// learner. Throws SnapshotError, and all stays as it was, if it is not one for this stream.
  void put_state(const std::string& key, std::span<const std::byte> state);
  /// Whether there is a model of the key. Throws StoreError.
  bool knows(const std::string& key) { return models_ && models_->holds(key); }
  /// As if the key had never come; false if it has not. Throws StoreError.
  bool forget(const std::string& key);

  /// A checkpoint of this moment, with what exchange() has written as part of `stream`; with the
  /// only model, where there are no keys, by way of `copy` if that is given (CheckpointImage).
  CheckpointImage image(Bytes stream, std::shared_ptr<Learner> copy = nullptr) const;
  /// What to make a copy of the only model by, if it is so large that samples would wait.
  const Recipe* large_recipe() const;
  /// The models with keys as they are at this moment (Models::begin_commit …).
  void begin_commit(Models::Give give);
  bool give_next() { return models_ && models_->give_next(); }
  void committed(bool done);  ///< or failed

  /// Memory that counts against the limit (Models::bytes); others in the process take so much.
  std::uint64_t memory() const { return models_ ? models_->bytes() : beside_; }
  std::uint64_t memory_of_models() const { return memory() - beside_; }
  void set_memory_beside(std::uint64_t bytes);
  /// Hardly any is left.
  bool is_short_of_memory() const { return memory() >= options_.memory - options_.memory / 16; }

 private:
  bool settle(const Record& record);
  void begin(Schema schema);
  std::unique_ptr<Learner> make() const;
  std::uint64_t bytes_of_a_model() const;
  Recipe recipe() const;
  StreamModel* model_for(const Sample& sample);
  void require_width(const StreamModel& model) const;
  const Answer* take(StreamModel& model);
  const Answer* take_in_time(StreamModel& model);
  const Answer* turn_away_incomplete();
  void settle_classes();
  void settle_future();
  void write_forecast_times(const StreamModel& model);
  void remark(std::string text);
  const Answer* answer(Answer answer);
  const Answer* turn_away(std::string reason);
  void go_on(Schema schema, const std::string& learner, bool with_seed);
  void require_same_learner(const std::string& before, bool with_seed) const;
  void scored(std::span<const double> d_hat, std::span<const Interval> interval,
              std::span<const double> d) override;
  void stepped(const StepReport& report) override;

  EngineOptions options_;
  StateStore* store_;
  EngineListener* listener_;
  std::optional<SampleReader> reader_;
  bool to_be_checked_ = false;  // the schema is that of a checkpoint: is the stream's the same?
  std::optional<Recipe> recipe_;
  std::optional<Models> models_;
  std::optional<Scores> scores_;
  Counts counts_;
  StepReport last_step_;
  Sample sample_;
  StreamModel* owing_ = nullptr;  // has something to learn
  Answer answer_;
  std::string reason_;
  std::uint64_t beside_ = 0;
  std::vector<std::string> forecast_times_;
  std::vector<std::string> remarks_;  // that nobody has taken yet
  std::set<std::string> said_;        // where there are many models, each but once
};

}  // namespace kalstream
