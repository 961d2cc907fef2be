// The format is described in docs/snapshots.md; what each learner puts into it, by its exchange().
#include "kalstream/snapshot.h"

#include <map>
#include <new>
#include <string>

#include "core/archive.h"
#include "core/envelope.h"
#include "core/fields.h"
#include "learner/footprint.h"
#include "recipes/state.h"
#include "rules/rule.h"

namespace kalstream {
namespace {

constexpr Envelope snapshot_envelope{
    {0x89, 'K', 'A', 'L', 'S', '\r', '\n', 0x1a}, /*format=*/6, "snapshot"};
constexpr std::size_t word_size = 8;
constexpr std::uint64_t largest_size = 1'000'000;  // of anything that is counted in the options

// ---- Values of options, by their kind.

struct Exchange {
  Archive& a;

  void operator()(double* v) const { a.number(*v); }
  void operator()(std::size_t* v) const { a.count(*v, largest_size); }
  void operator()(bool* v) const { a.flag(*v); }
  void operator()(const Word& v) const { a.word(*v.where); }
  void operator()(const Choice& v) const {
    std::uint64_t n = v.get(v.where);
    a.count(n, v.names.size() - 1);
    v.set(v.where, static_cast<std::size_t>(n));
  }
  void operator()(Schedule* v) const {
    auto kind = static_cast<std::uint64_t>(v->kind);
    a.count(kind, static_cast<std::uint64_t>(Schedule::Kind::exponential));
    v->kind = static_cast<Schedule::Kind>(kind);
    for (double* number : {&v->from, &v->to, &v->steps}) a.number(*number);
  }
  void operator()(std::optional<double>* v) const {
    bool set = v->has_value();
    a.flag(set);
    if (!set) return v->reset();
    if (!*v) *v = 0;
    a.number(**v);
  }
  void operator()(std::vector<double>* v) const {
    std::uint64_t size = v->size();
    a.count(size, a.reading() ? a.left() / word_size : largest_size);
    v->resize(static_cast<std::size_t>(size));
    for (double& one : *v) a.number(one);
  }
};

void exchange(Archive& a, std::string& v) { a.text(v); }
void exchange(Archive& a, Schema& v) { v.exchange(a); }
void exchange(Archive& a, const FieldValue& v) { std::visit(Exchange{a}, v); }

// ---- Fields: every option by name, so that later versions can have more of them.

/// Named values; written and read by the same calls, f(name, value). A name that is not there is
/// younger than the snapshot: its value stays as it is.
class NamedValues {
 public:
  NamedValues() = default;  // writes
  explicit NamedValues(Archive from) : reads_(true) {
    while (from.left() > 0) {
      std::string_view name;
      std::string_view value;
      from.text(name);
      from.text(value);
      const bool is_new =
          values_.emplace(name, std::vector(as_bytes(value).begin(), as_bytes(value).end())).second;
      from.require(is_new);
    }
  }

  template <class Value>
  void operator()(const std::string& name, Value&& value) {
    if (!reads_) {
      Archive to(values_[name]);
      return kalstream::exchange(to, value);
    }
    const auto found = values_.find(name);
    if (found == values_.end()) return;
    Archive from{std::span<const std::byte>(found->second)};
    kalstream::exchange(from, value);
    from.require(from.left() == 0);
    values_.erase(found);
  }

  /// Written only if it is there.
  template <class Value>
  void if_there(const std::string& name, Value&& value, bool there) {
    if (reads_ || there) (*this)(name, value);
  }

  void write(Archive& to) const {
    for (const auto& [name, value] : values_) {
      std::string_view n = name;
      std::string_view v = as_text(value);
      to.text(n);
      to.text(v);
    }
  }

  /// After reading: the name of a value that nobody asked for. Empty if there is none.
  std::string left_over() const { return values_.empty() ? "" : values_.begin()->first; }

 private:
  bool reads_ = false;
  std::map<std::string, std::vector<std::byte>> values_;
};

// Another rule than that of this name becomes it, with its defaults.
void become(Rule& rule, std::string_view name) {
  bool found = false;
  for_every_rule([&]<class Options>(const RuleInfo<Options>& info) {
    if (info.stored_as != name) return;
    found = true;
    if (!std::holds_alternative<Options>(rule)) rule = Options{};
  });
  if (!found)
    throw SnapshotError("the snapshot was made by a newer version: this one has no such learner");
}

void exchange(SnapshotInfo& info, NamedValues& f) {
  LearnerOptions& o = info.recipe.options;
  f("samples", FieldValue(Word{&info.samples}));
  f("scaled", FieldValue(&info.recipe.scaled));
  f("lags", FieldValue(&o.lags));
  for (const Field& field : fields_of(o.network))
    f("network." + std::string(field.stored_as), field.value);
  for (const Field& field : fields_of(o.loss))
    f.if_there(std::string(field.stored_as), field.value, o.loss.kind != Loss::Kind::squared);
  f.if_there("schema", info.schema, !info.schema.empty());
  std::string name(with_info(o.rule, [](const auto& rule, auto&) { return rule.stored_as; }));
  f("rule", name);
  become(o.rule, name);
  with_info(o.rule, [&](const auto& rule, auto& options) {
    for (const Field& field : rule.fields(options)) f(std::string(field.stored_as), field.value);
  });
}

// ---- The whole.

struct Parts {
  SnapshotInfo info;
  std::span<const std::byte> state;
};

Parts take_apart(std::span<const std::byte> snapshot, Checksum checksum = Checksum::checked) {
  Archive contents = open(snapshot_envelope, snapshot, checksum);
  std::string_view about;
  std::string_view state;
  contents.text(about);
  contents.text(state);
  contents.require(contents.left() == 0);
  Parts parts{.info = {}, .state = as_bytes(state)};
  NamedValues f{Archive(as_bytes(about))};
  exchange(parts.info, f);
  if (const std::string option = f.left_over(); !option.empty())
    throw SnapshotError(
        "the snapshot was made by another version of kalstream: this one has no "
        "option named " +
        option);
  try {
    parts.info.recipe.options.validate();
  } catch (const std::invalid_argument& error) {
    throw SnapshotError(std::string("the snapshot contradicts itself: ") + error.what());
  }
  return parts;
}

std::unique_ptr<Learner> learner_in(const Parts& parts, std::uint64_t most_memory) {
  const Footprint needs = footprint(parts.info.recipe.options);
  Archive from(parts.state);
  from.require(needs.learnt_bytes <= static_cast<double>(parts.state.size()));
  if (needs.bytes > static_cast<double>(most_memory))
    throw SnapshotError("the learner in the snapshot is too large: it would need " +
                        std::to_string(std::llround(needs.bytes / (1 << 20))) + " MiB, and " +
                        std::to_string(most_memory >> 20) + " are allowed");
  std::unique_ptr<Learner> learner;
  try {
    learner = make_from(parts.info.recipe);
  } catch (const std::bad_alloc&) {
    throw SnapshotError("the learner in the snapshot is too large for the memory there is");
  }
  learner->exchange(from);
  from.require(from.left() == 0 && learner->samples() == parts.info.samples);
  return learner;
}

}  // namespace

std::size_t append_unsealed(const Learner& learner, const Schema& schema,
                            std::vector<std::byte>& snapshot) {
  if (learner.recipe() == nullptr)
    throw std::invalid_argument(
        "only what make_learner, make_scaled_learner or load made can be saved");
  SnapshotInfo info{*learner.recipe(), learner.samples(), schema};
  NamedValues f;
  exchange(info, f);
  const std::size_t begins = begin(snapshot_envelope, snapshot);
  Archive to(snapshot);
  append_text(snapshot, [&] { f.write(to); });
  append_text(snapshot, [&] {
    const_cast<Learner&>(learner).exchange(to);  // NOLINT: writing changes nothing
  });
  close(snapshot, begins);
  return begins;
}

std::vector<std::byte> save(const Learner& learner, const Schema& schema) {
  std::vector<std::byte> snapshot;
  append_unsealed(learner, schema, snapshot);
  seal(snapshot);
  return snapshot;
}

void copy_state(const Learner& from, Learner& to) {
  std::vector<std::byte> small;
  std::vector<std::span<const std::byte>> large;
  Archive write(small, large);
  const_cast<Learner&>(from).exchange(write);  // NOLINT: writing changes nothing
  Archive read(std::span<const std::byte>(small), large);
  to.exchange(read);
}

std::unique_ptr<Learner> load(std::span<const std::byte> snapshot, std::uint64_t most_memory) {
  return learner_in(take_apart(snapshot), most_memory);
}

std::unique_ptr<Learner> load_unsealed(std::span<const std::byte> snapshot,
                                       std::uint64_t most_memory) {
  return learner_in(take_apart(snapshot, Checksum::passed_over), most_memory);
}

SnapshotInfo describe(std::span<const std::byte> snapshot) { return take_apart(snapshot).info; }

}  // namespace kalstream
