#include "fleet/shard.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/envelope.h"
#include "core/hash.h"
#include "core/workers.h"

namespace kalstream::fleet {
namespace {

// Nodes of the tables that know a key, and what the heap adds.
constexpr std::size_t bytes_of_key = 256;

std::string answer_for(std::string_view key, const char* status) {
  constexpr auto replace = nlohmann::json::error_handler_t::replace;
  return fmt::format(R"({{"key":{},"status":"{}"}})",
                     nlohmann::json(key).dump(-1, ' ', false, replace), status);
}

std::string_view header(const StateRecord& record, std::string_view name) {
  for (const auto& [n, value] : record.headers)
    if (n == name) return value;
  return {};
}

}  // namespace

Shard::Shard(int partition, const ShardOptions& options, StateStore& store,
             const std::optional<Progress>& committed)
    : partition_(partition),
      options_(options),
      position_{.source = fmt::format("{}:{}", options.input, partition), .unit = "offset"},
      engine_(options.engine, &store, {this}),
      session_(engine_, position_, Session::Header::door),
      committed_(committed) {
  if (const Schema::Field* key = engine_.schema().find(Role::key)) key_field_ = key->name;
  if (committed_) next_ = committed_->replay_from;
  if (!committed_ || committed_->state_upto < 0) end_snapshots();
}

// ---- What is committed.

// Most are replaced by others that follow: only the last becomes a model.
void Shard::take_snapshot(const StateRecord& record) {
  constexpr std::size_t most_bytes = std::size_t{64} << 20;
  const std::string key(record.key);
  if (const auto known = keys_.find(key); known != keys_.end()) {
    engine_.forget(key);
    drop(*known);
  }
  if (const auto before = snapshots_read_.find(key); before != snapshots_read_.end()) {
    snapshot_bytes_ -= before->second.state.size();
    snapshots_read_.erase(before);
  }
  if (!record.value) return;
  snapshot_bytes_ += record.value->size();
  snapshots_read_[key] = {.state = std::string(*record.value),
                          .included = std::string(header(record, included_header)),
                          .chain = std::string(header(record, chain_header)),
                          .offset = record.offset};
  if (snapshot_bytes_ > most_bytes) use_snapshots();
}

void Shard::use_snapshots() {
  for (const auto& [key, snapshot] : snapshots_read_) use_snapshot(key, snapshot);
  snapshots_read_.clear();
  snapshot_bytes_ = 0;
}

void Shard::use_snapshot(const std::string& key, const Snapshot& snapshot) {
  try {
    const Offset included = offset_of(snapshot.included);
    const Chain chain = from_hex(snapshot.chain);
    engine_.put_state(key, as_bytes(snapshot.state));
    Entry* const entry = entry_for(key, /*has_model=*/true);
    if (entry == nullptr) throw DataError("it has no key");
    set_chain(*entry, chain);
    entry->second.included = included;
  } catch (const StoreError&) {
    throw;
  } catch (const std::runtime_error& error) {
    const std::string what =
        fmt::format("partition {}: the snapshot of key '{}' at offset {} cannot be used: {}",
                    partition_, key, snapshot.offset, error.what());
    if (!options_.accept_replay) throw DataError(what + "; --accept-replay begins this key anew");
    options_.say(what + "; it begins anew");
  }
}

void Shard::end_snapshots() {
  use_snapshots();
  phase_ = Phase::replay;
  if (!committed_ || next_ >= committed_->offset) return finish_replay();
  const std::string engine = engine_identity();
  if (engine == committed_->engine) return;
  const std::string what = fmt::format(
      "partition {}: {} inputs have to be taken again, but by another engine than before ({}; "
      "now {})",
      partition_, committed_->offset - next_, committed_->engine, engine);
  if (!options_.accept_replay)
    throw ReplayDiffers(what +
                        "; run the engine as before and stop it by SIGTERM, which leaves nothing "
                        "to be taken again, or go on with --accept-replay");
  options_.say(what);
}

void Shard::finish_replay() {
  phase_ = Phase::live;
  if (!committed_) return;
  next_ = committed_->offset;
  if (checksum_ == committed_->checksum) return;
  const std::string what = fmt::format(
      "partition {}: what was restored differs from what was answered before offset {} (checksum "
      "{}, was {}): inputs or snapshots have been changed or deleted, or the program or the "
      "processor computes otherwise than before",
      partition_, next_, hex_of(checksum_), hex_of(committed_->checksum));
  if (!options_.accept_replay)
    throw ReplayDiffers(what + "; --accept-replay goes on with what was restored");
  options_.say(what + "; from now on that counts");
}

// ---- Inputs.

std::size_t Shard::take(std::span<const Input> inputs, std::vector<Message>& to, Workers* workers) {
  const std::size_t records = records_in(inputs);
  inputs_ = inputs.first(workers == nullptr ? 1 : std::max<std::size_t>(records, 1));
  at_ = 0;
  written_ = phase_ == Phase::live ? &to : nullptr;
  const Input& first = inputs_.front();
  if (records > 0)
    take_records(workers);
  else if (!first.value)
    take_tombstone(first);
  else
    take_import(first);
  while (at_ < inputs_.size()) passed(inputs_[at_++]);
  session_.learn();
  return inputs_.size();
}

// How many of them, from the first on, are records, and are to be taken in the same phase.
std::size_t Shard::records_in(std::span<const Input> inputs) const {
  const bool live = phase_ == Phase::live;
  const auto ends = std::ranges::find_if(inputs, [&](const Input& input) {
    return !input.value || input.is_import || (!live && input.offset >= committed_->offset);
  });
  return static_cast<std::size_t>(ends - inputs.begin());
}

void Shard::passed(const Input& input) {
  next_ = input.offset + 1;
  if (phase_ == Phase::live) return;
  ++replayed_;
  if (next_ >= committed_->offset) finish_replay();
}

// Its snapshot has it already.
bool Shard::is_known(std::string_view key, Offset offset) const {
  if (phase_ == Phase::live) return false;
  const auto known = keys_.find(key);
  return known != keys_.end() && offset < known->second.included;
}

void Shard::take_records(Workers* workers) {
  const std::size_t count = inputs_.size();
  const std::size_t parts = workers == nullptr ? 1 : workers->size();
  if (readers_.size() != parts) readers_.assign(parts, RecordReader({.format = Format::json}));
  if (arrivals_.size() < count) arrivals_.resize(count);
  const auto read_part = [&](std::size_t part) {
    std::size_t key_at = 0;
    for (std::size_t k = count * part / parts; k < count * (part + 1) / parts; ++k)
      read(inputs_[k], readers_[part], key_at, arrivals_[k]);
  };
  if (workers == nullptr)
    read_part(0);
  else
    workers->run(parts, read_part);
  session_.take(std::span(arrivals_).first(count), AnswerFormat::json, workers);
}

// What a snapshot includes is not taken again: then the arrival says nothing.
void Shard::read(const Input& input, RecordReader& reader, std::size_t& key_at,
                 Arrival& arrival) const {
  const std::size_t begins =
      std::min(input.value->find_first_not_of(" \t\r\n"), input.value->size());
  arrival.line = static_cast<std::uint64_t>(input.offset);
  arrival.is_problem = true;
  if (!input.key && options_.needs_keys)
    arrival.problem =
        "the message has no key, so that nobody can know which partition it belongs to; "
        "write it with the key of its model";
  else if (!input.value->substr(begins).starts_with('{'))
    arrival.problem = "it is not a JSON object; write one as the value of every message";
  else
    reader.read(*input.value, arrival);
  if (arrival.is_problem || phase_ == Phase::live) return;
  const Value* const key = arrival.record.find(key_field_, key_at);
  if (is_known(key == nullptr ? "" : key->text, input.offset)) arrival.record.clear();
}

// Inputs before this one that are not answered were included in a snapshot. What is refused also
// goes to the dead-letter topic.
void Shard::answered(const Answer& said, std::string_view text) {
  while (inputs_[at_].offset < static_cast<Offset>(position_.line)) passed(inputs_[at_++]);
  const Input& input = inputs_[at_++];
  text.remove_suffix(1);  // the line's end
  answer(input, entry_for(said.key, said.has_model), text);
  if (said.status == Answer::Status::refused && written_ != nullptr)
    written_->push_back({.topic = Topic::dead,
                         .partition = partition_,
                         .key = std::optional<std::string>(input.key),
                         .value = std::optional<std::string>(input.value),
                         .headers = {{reason_header, std::string(said.reason)},
                                     {topic_header, options_.input},
                                     {partition_header, std::to_string(partition_)},
                                     {offset_header, std::to_string(input.offset)}}});
  passed(input);
}

void Shard::take_import(const Input& input) {
  if (!input.key) return refuse(input, "a model to import needs the key it is for");
  if (is_known(*input.key, input.offset)) return;
  const std::string key(*input.key);
  try {
    engine_.put_state(key, as_bytes(*input.value));
  } catch (const StoreError&) {
    throw;
  } catch (const std::runtime_error& error) {
    return refuse(input, fmt::format("the model cannot be imported: {}", error.what()));
  }
  answer(input, entry_for(key, engine_.knows(key)), answer_for(key, "imported"));
}

void Shard::take_tombstone(const Input& input) {
  if (!input.key) return refuse(input, "neither key nor value: there is nothing to forget");
  if (is_known(*input.key, input.offset)) return;
  const std::string key(*input.key);
  engine_.forget(key);
  const auto known = keys_.find(key);
  const bool has_snapshot = known != keys_.end() && known->second.included > 0;
  answer(input, known == keys_.end() ? nullptr : &*known, answer_for(key, "forgotten"));
  if (known != keys_.end()) drop(*known);
  if (has_snapshot && written_ != nullptr)
    written_->push_back({.topic = Topic::state, .partition = partition_, .key = key});
}

// What says nothing of any model.
void Shard::refuse(const Input& input, std::string reason) {
  if (arrivals_.empty()) arrivals_.emplace_back();
  Arrival& arrival = arrivals_.front();
  arrival.is_problem = true;
  arrival.problem = std::move(reason);
  arrival.line = static_cast<std::uint64_t>(input.offset);
  session_.take({&arrival, 1}, AnswerFormat::json);
}

// Writes one answer for every input. `key` is nullptr if there is no model for it.
void Shard::answer(const Input& input, Entry* key, std::string_view text) {
  const Chain chain = chained(key == nullptr ? first_chain : key->second.chain, text);
  if (key != nullptr) {
    set_chain(*key, chain);
    changed(*key, input.offset);
  }
  if (written_ == nullptr) return;
  written_->push_back({.topic = Topic::answers,
                       .partition = partition_,
                       .key = std::optional<std::string>(input.key),
                       .value = std::string(text),
                       .headers = {{input_header, fmt::format("{}:{}", partition_, input.offset)},
                                   {chain_header, hex_of(chain)}}});
}

// ---- Keys.

// nullptr: there is no model of it.
Shard::Entry* Shard::entry_for(std::string_view key, bool has_model) {
  if (key.empty()) return nullptr;
  if (const auto known = keys_.find(key); known != keys_.end()) return &*known;
  if (!has_model) return nullptr;
  Entry& entry = *keys_.emplace(key, Key{}).first;
  key_bytes_ += key.size();
  set_chain(entry, first_chain);
  return &entry;
}

void Shard::set_chain(Entry& key, Chain chain) {
  const std::uint64_t part = part_of_checksum(key.first, chain);
  checksum_ += part - key.second.part;
  key.second.chain = chain;
  key.second.part = part;
}

// Models that came at the same time are not all due at the same time.
void Shard::changed(Entry& key, Offset offset) {
  if (key.second.first_open >= 0) return;
  const Offset half = std::max<Offset>(1, snapshot_every_ / 2);
  const auto jitter = static_cast<Offset>(fnv1a(key.first) >> 1) % half;
  key.second.first_open = offset;
  key.second.due = offset + half + jitter;
  open_.emplace(offset, &key);
  due_.emplace(key.second.due, &key);
}

void Shard::saved(Entry& key, Offset included) {
  if (key.second.first_open >= 0) {
    open_.erase({key.second.first_open, &key});
    due_.erase({key.second.due, &key});
  }
  key.second.first_open = -1;
  key.second.included = included;
}

void Shard::drop(Entry& key) {
  saved(key, 0);
  checksum_ -= key.second.part;
  key_bytes_ -= key.first.size();
  keys_.erase(keys_.find(key.first));
}

// ---- Snapshots.

std::size_t Shard::add_snapshot(Entry& key, std::vector<Message>& to) {
  std::unique_ptr<CheckpointImage> image;
  std::optional<std::string> value;
  if (auto in_memory = engine_.image_of(key.first))
    image = std::make_unique<CheckpointImage>(std::move(*in_memory));
  else if (const auto on_disk = engine_.state_of(key.first))
    value = std::string(as_text(*on_disk));
  else
    throw std::logic_error("a key is known, but not its model");
  saved(key, next_);
  to.push_back({.topic = Topic::state,
                .partition = partition_,
                .key = key.first,
                .value = std::move(value),
                .headers = {{included_header, std::to_string(next_)},
                            {chain_header, hex_of(key.second.chain)},
                            {engine_header, engine_identity()}},
                .image = std::move(image)});
  const Message& written = to.back();
  return written.image ? written.image->written() : written.value->size();
}

std::size_t Shard::add_due_snapshots(std::size_t most_bytes, std::vector<Message>& to) {
  std::size_t bytes = 0;
  while (bytes < most_bytes && has_due_snapshots())
    bytes += add_snapshot(*due_.begin()->second, to);
  return bytes;
}

std::size_t Shard::add_snapshots_of_those_before(Offset offset, std::size_t most_bytes,
                                                 std::vector<Message>& to) {
  std::size_t bytes = 0;
  while (bytes < most_bytes && !open_.empty() && open_.begin()->first < offset)
    bytes += add_snapshot(*open_.begin()->second, to);
  return bytes;
}

Progress Shard::progress() const {
  return {.offset = next_,
          .replay_from = open_.empty() ? next_ : open_.begin()->first,
          .checksum = checksum_,
          .engine = engine_identity()};
}

Offset Shard::to_replay() const { return phase_ == Phase::replay ? committed_->offset - next_ : 0; }

std::uint64_t Shard::memory() const {
  return engine_.memory_of_models() + keys_.size() * bytes_of_key + 2 * key_bytes_;
}

void Shard::set_memory_beside(std::uint64_t bytes) {
  engine_.set_memory_beside(bytes + keys_.size() * bytes_of_key + 2 * key_bytes_);
}

}  // namespace kalstream::fleet
