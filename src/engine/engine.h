// A stream's learning, from records to answers: without descriptor, file or clock.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/lanes.h"
#include "engine/answer.h"
#include "engine/engine_options.h"
#include "engine/listener.h"
#include "engine/models.h"
#include "engine/ports.h"
#include "engine/scores.h"
#include "engine/turn.h"
#include "kalstream/learner.h"
#include "kalstream/schema.h"
#include "schema/arrival.h"
#include "schema/sample.h"

namespace kalstream {

/// Settles the schema by the first record that can, has a model or one for every key, and the
/// stream's counts and scores. What it has become depends on the records alone.
class Engine final : private StreamListener {
 public:
  using Listeners = std::vector<StreamListener*>;

  /// `store` may be nullptr; models that do not fit in memory go there. The engine tells its
  /// listeners what models take and learn; the rest of their events is told by the Session.
  Engine(EngineOptions options, StateStore* store, Listeners listeners = {});
  const Listeners& listeners() const { return listeners_; }

  /// Predicts, and counts: the answer to a record, or none if it says nothing. Its views live until
  /// the next call. Throws std::invalid_argument if the learner cannot be made for the stream that
  /// the first record shows, SchemaError if it is not the stream that was learnt from before; never
  /// later. Throws StoreError if the store cannot give a model now: then the record can be given
  /// again.
  const Answer* take(const Arrival& arrival);
  /// Learns what the last record has brought; take() does so first if nobody has. Apart from it, so
  /// that an answer can go out before the time this takes.
  void learn();

  // Many at a time: by several threads, but for what has to be in order. All that comes of it is
  // the same to the bit as if they had been taken, answered and learnt one by one.
  /// Whether it can: the fields are settled, and there is a model for every key.
  bool takes_many() const { return is_ready() && has_keys(); }
  /// Called for each answer but refusals, by any thread and in any order.
  using Answered = std::function<void(std::size_t k, const Answer& answer)>;
  /// Takes the first few of these, and learns from them. Returns how many: 0 if there are none.
  /// Throws StoreError as take() does: then it has taken none.
  std::size_t take_many(std::span<const Arrival> arrivals, Workers& workers,
                        const Answered& answered);
  /// To be called for each record of a batch, in their order: tells its events, and returns what
  /// take() would have returned. Then learnt() is called for the same record.
  const Answer* answer(std::size_t k);
  /// Tells the events of learning from the record.
  void learnt(std::size_t k) { turns_[k].events_later.replay(*this); }

  /// What is expected of a key's model (of the only one, where there are no keys) so many samples
  /// ahead, with these records of future inputs, in their order: what is missing in them is held.
  /// Nothing if there is no such model. Learns nothing, and no later answer depends on it. Throws
  /// std::invalid_argument, naming the record that cannot be used; StoreError.
  std::optional<Foresight> foresee(const std::string& key, std::size_t horizon,
                                   std::span<Record> inputs);

  /// The inputs of the n-th sample after the last one of its key are known ahead of their time.
  void announce(const Sample& sample, std::uint64_t n);

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
  /// The same with the place of the stream's source, which `place` writes or reads …
  using ExchangePlace = std::function<void(Archive&)>;
  Bytes stream_state(const ExchangePlace& place);
  /// … and back, with the only model where there are no keys.
  void restore(const Checkpoint& checkpoint, const ExchangePlace& place);
  void set_only_model(std::unique_ptr<StreamModel> model);
  /// What comes is known to be the stream of the checkpoint: the fields of the first record need
  /// not tell, and it is taken as any other.
  void go_on_without_check() { to_be_checked_ = false; }

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
  /// The model of a key, as it is in memory; nullptr if it is not.
  const StreamModel* model_in_memory(const std::string& key) const;
  /// The learner of the only model, which is gone then; nothing if there is none.
  std::optional<CalibratedLearner> take_learner();
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
  // Whether the next record can be read: the stream's fields are known, and those of a checkpoint
  // have been found to be the stream's.
  bool is_ready() const { return settled() && !to_be_checked_; }
  bool settle(const Record& record, Turn& turn);
  bool is_early_verdict(const Arrival& arrival) const;
  void begin(Schema schema);
  CalibratedLearner make() const;
  std::uint64_t bytes_of_a_model() const;
  Recipe recipe() const;
  std::string recipe_text() const;
  void settle_classes();
  void settle_future();
  void require_width(const StreamModel& model) const;
  void go_on(Schema schema, const std::string& learner);
  void exchange_last_time(Archive& archive);
  void require_same_learner(const std::string& there) const;

  TurnRules rules() const { return {options_, *reader_, make_}; }
  void admit(Turn& turn);
  const Answer* count(Turn& turn);
  void remark(std::string text);
  void took(std::span<const double> x) override;
  void scored(std::uint64_t sample, std::span<const double> d_hat,
              std::span<const Interval> interval, std::span<const double> d) override;
  void stepped(std::uint64_t sample, const StepReport& report) override;

  void read_many(std::span<const Arrival> arrivals, Workers& workers);
  std::size_t admit_many(std::span<const Arrival> arrivals);
  void work(std::span<Turn> turns, Workers& workers, const Answered& answered);

  EngineOptions options_;
  StateStore* store_;
  Listeners listeners_;
  std::optional<SampleReader> reader_;
  bool to_be_checked_ = false;  // the schema is that of a checkpoint: is the stream's the same?
  std::optional<Recipe> recipe_;
  Models::MakeLearner make_ = [this] { return make(); };
  std::optional<Models> models_;
  std::optional<Scores> scores_;
  Counts counts_;
  StepReport last_step_;
  std::vector<Turn> turns_;  // under way; one but for batches
  Turn* owing_ = nullptr;    // has something to learn
  struct {
    std::string text;
    bool is_text = true;
    std::optional<std::int64_t> tick;
  } last_time_;  // of the last sample
  std::uint64_t beside_ = 0;
  std::vector<std::string> remarks_;  // that nobody has taken yet
  std::set<std::string> said_;        // where there are many models, each but once

  // Of batches.
  std::vector<std::optional<SampleReader>> readers_;  // for each thread its own
  std::vector<std::pair<const StreamModel*, std::size_t>> by_model_;
  std::vector<Lanes::Task> tasks_;
  Lanes lanes_;
};

}  // namespace kalstream
