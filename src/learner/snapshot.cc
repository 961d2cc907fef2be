// The format is described in docs/snapshots.md; what each learner puts into it, by its exchange().
#include "kalstream/snapshot.h"

#include <algorithm>
#include <array>
#include <map>
#include <new>
#include <string>

#include "core/archive.h"
#include "core/envelope.h"
#include "learner/footprint.h"

namespace kalstream {
namespace {

constexpr Envelope snapshot_envelope{
    {0x89, 'K', 'A', 'L', 'S', '\r', '\n', 0x1a}, /*format=*/3, "snapshot"};
constexpr std::size_t word_size = 8;
constexpr std::uint64_t largest_size = 1'000'000;  // of anything that is counted in the options

// ---- Values of options.

template <class Enum>
constexpr Enum last_of{};
template <>
constexpr auto last_of<Schedule::Kind> = Schedule::Kind::exponential;
template <>
constexpr auto last_of<OutputActivation> = OutputActivation::identity;
template <>
constexpr auto last_of<Derivative> = Derivative::rtrl;
template <>
constexpr auto last_of<Cell> = Cell::feedforward;
template <>
constexpr auto last_of<Partition> = Partition::full;
template <>
constexpr auto last_of<Gate> = Gate::bound;
template <>
constexpr auto last_of<Feedback> = Feedback::mixture;

/// Any 64 bits; other whole numbers are sizes.
struct Word {
  std::uint64_t& value;
};

void exchange(Archive& a, Word& v) { a.word(v.value); }
void exchange(Archive& a, std::string& v) {
  std::string_view text = v;
  a.text(text);
  if (a.reading()) v = text;
}
void exchange(Archive& a, bool& v) { a.flag(v); }
void exchange(Archive& a, double& v) { a.number(v); }
void exchange(Archive& a, std::unsigned_integral auto& v) { a.count(v, largest_size); }
void exchange(Archive& a, std::optional<double>& v) {
  bool set = v.has_value();
  a.flag(set);
  if (!set) return v.reset();
  if (!v) v = 0;
  a.number(*v);
}
void exchange(Archive& a, std::vector<double>& v) {
  std::uint64_t size = v.size();
  a.count(size, a.reading() ? a.left() / word_size : largest_size);
  v.resize(static_cast<std::size_t>(size));
  for (double& one : v) a.number(one);
}
template <class Enum>
requires std::is_enum_v<Enum>
void exchange(Archive& a, Enum& v) {
  auto n = static_cast<std::uint64_t>(v);
  a.count(n, static_cast<std::uint64_t>(last_of<Enum>));
  v = static_cast<Enum>(n);
}
void exchange(Archive& a, Schedule& v) {
  exchange(a, v.kind);
  for (double* number : {&v.from, &v.to, &v.steps}) a.number(*number);
}

// ---- Fields: every option by name, so that later versions can have more of them.

/// Named values; written and read by the same calls, f(name, value). A name that is not there is
/// younger than the snapshot: its value stays as it is.
class Fields {
 public:
  Fields() = default;  // writes
  explicit Fields(Archive from) : reads_(true) {
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
      return exchange(to, value);
    }
    const auto found = values_.find(name);
    if (found == values_.end()) return;
    Archive from{std::span<const std::byte>(found->second)};
    exchange(from, value);
    from.require(from.left() == 0);
    values_.erase(found);
  }

  void write(Archive& to) const {
    for (const auto& [name, value] : values_) {
      std::string_view n = name;
      std::string_view v = as_text(value);
      to.text(n);
      to.text(v);
    }
  }

  bool empty() const { return values_.empty(); }  ///< after reading: nothing was left over

 private:
  bool reads_ = false;
  std::map<std::string, std::vector<std::byte>> values_;
};

void fields(NetworkOptions& o, auto& f) {
  f("network.inputs", o.inputs);
  f("network.cell", o.cell);
  f("network.hidden", o.hidden);
  f("network.outputs", o.outputs);
  f("network.input_bias", o.input_bias);
  f("network.output_bias", o.output_bias);
  f("network.direct", o.direct);
  f("network.output_activation", o.output_activation);
  f("network.weight_deviation", o.weight_deviation);
  f("network.gate_bias.input", o.gate_bias.input);
  f("network.gate_bias.forget", o.gate_bias.forget);
  f("network.gate_bias.output", o.gate_bias.output);
  f("network.derivative", o.derivative);
  f("network.window", o.window);
  f("network.seed", Word{o.seed});
}
void fields(Sgd& o, auto& f) { f("learning_rate", o.learning_rate); }
void fields(RmsProp& o, auto& f) {
  f("learning_rate", o.learning_rate);
  f("decay", o.decay);
  f("epsilon", o.epsilon);
}
void fields(Adam& o, auto& f) {
  f("learning_rate", o.learning_rate);
  f("first_decay", o.first_decay);
  f("second_decay", o.second_decay);
  f("epsilon", o.epsilon);
}
void kalman_fields(auto& o, auto& f) {
  f("initial_covariance", o.initial_covariance);
  f("measurement_noise", o.measurement_noise);
  f("process_noise", o.process_noise);
}
void fields(Ekf& o, auto& f) {
  kalman_fields(o, f);
  f("threads", o.threads);
}
void fields(Dekf& o, auto& f) {
  kalman_fields(o, f);
  f("partition", o.partition);
  f("output_apart", o.output_apart);
}
void fields(Iekf& o, auto& f) {
  kalman_fields(o, f);
  f("partition", o.partition);
}
void fields(Algorithm1& o, auto& f) {
  f("initial_covariance", o.initial_covariance);
  f("process_noise", o.process_noise);
  f("error_bound", o.error_bound);
  f("noise_floor", o.noise_floor);
  f("noise_factor", o.noise_factor);
  f("gate", o.gate);
  f("process_noise_when_gated", o.process_noise_when_gated);
  f("partition", o.partition);
}
void fields(Algorithm2& o, auto& f) {
  fields(o.expert, f);
  f("error_bounds", o.error_bounds);
  f("prior_weights", o.prior_weights);
  f("mixing_rate", o.mixing_rate);
  f("feedback", o.feedback);
  f("threads", o.threads);
}
void fields(Rls& o, auto& f) {
  f("initial_covariance", o.initial_covariance);
  f("process_noise", o.process_noise);
}
void fields(Ar& o, auto& f) {
  f("past_targets", o.lags);
  f("initial_covariance", o.initial_covariance);
  f("process_noise", o.process_noise);
}
void fields(Naive&, auto&) {}
void fields(Mean&, auto&) {}
void fields(Auto& o, auto& f) {
  f("experts", o.experts);
  f("past_targets", o.lags);
  f("full_ekf", o.full_ekf);
  f("threads", o.threads);
}

// In the order of the variant.
constexpr std::array rule_names{"sgd",   "rmsprop",    "adam",       "ekf", "dekf",
                                "iekf",  "algorithm1", "algorithm2", "rls", "ar",
                                "naive", "mean",       "auto"};
static_assert(rule_names.size() == std::variant_size_v<Rule>);

template <std::size_t... N>
Rule rule_of(std::size_t index, std::index_sequence<N...>) {
  Rule rule;
  ((N == index ? void(rule.emplace<N>()) : void()), ...);
  return rule;
}

void fields(SnapshotInfo& info, Fields& f) {
  f("samples", Word{info.samples});
  f("scaled", info.recipe.scaled);
  LearnerOptions& o = info.recipe.options;
  f("lags", o.lags);
  fields(o.network, f);
  std::string name = rule_names[o.rule.index()];
  f("rule", name);
  const auto found = std::find(rule_names.begin(), rule_names.end(), name);
  if (found == rule_names.end())
    throw SnapshotError("the snapshot was made by a newer version: this one has no such learner");
  const auto index = static_cast<std::size_t>(found - rule_names.begin());
  if (index != o.rule.index())
    o.rule = rule_of(index, std::make_index_sequence<rule_names.size()>());
  std::visit([&](auto& rule) { fields(rule, f); }, o.rule);
}

// ---- The whole.

struct Parts {
  SnapshotInfo info;
  std::span<const std::byte> state;
  std::uint64_t format;
};

Parts take_apart(std::span<const std::byte> snapshot) {
  Archive contents = open(snapshot_envelope, snapshot);
  std::string_view about;
  std::string_view state;
  contents.text(about);
  contents.text(state);
  contents.require(contents.left() == 0);
  Parts parts{.info = {}, .state = as_bytes(state), .format = contents.format()};
  Fields f{Archive(as_bytes(about))};
  fields(parts.info, f);
  if (!f.empty())
    throw SnapshotError("the snapshot was made by a newer version: it has options unknown to this");
  try {
    parts.info.recipe.options.validate();
  } catch (const std::invalid_argument& error) {
    throw SnapshotError(std::string("the snapshot contradicts itself: ") + error.what());
  }
  return parts;
}

}  // namespace

std::vector<std::byte> save(const Learner& learner) {
  if (learner.recipe() == nullptr)
    throw std::invalid_argument(
        "only what make_learner, make_scaled_learner or load made can be saved");
  SnapshotInfo info{*learner.recipe(), learner.samples()};
  Fields f;
  fields(info, f);
  auto snapshot = begin(snapshot_envelope);
  Archive to(snapshot);
  append_text(snapshot, [&] { f.write(to); });
  append_text(snapshot, [&] {
    const_cast<Learner&>(learner).exchange(to);  // NOLINT: writing changes nothing
  });
  finish(snapshot);
  return snapshot;
}

std::unique_ptr<Learner> load(std::span<const std::byte> snapshot, std::uint64_t most_memory) {
  const Parts parts = take_apart(snapshot);
  const Footprint needs = footprint(parts.info.recipe.options);
  Archive from(parts.state, parts.format);
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

SnapshotInfo describe(std::span<const std::byte> snapshot) { return take_apart(snapshot).info; }

}  // namespace kalstream
