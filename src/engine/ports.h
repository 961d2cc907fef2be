// What a stream is connected to the world by: its records come from a Source, and what outlives the
// process is in a StateStore.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace kalstream {

class Archive;
class Workers;
struct Arrival;

using Bytes = std::vector<std::byte>;

/// Records, one after the other, each with a place that can be gone back to.
class Source {
 public:
  enum class Event : std::uint8_t {
    records,  ///< there are some
    idle,     ///< nothing yet
    end,      ///< there will be no more
  };

  virtual ~Source() = default;

  virtual const std::string& name() const = 0;
  virtual std::uint64_t line() const = 0;  ///< number of the last one that was read, from 1

  /// Replaces `arrivals` by the next records, of which there are at most so many: waits for the
  /// first no longer than `longest`, or until woken, and for no other. `workers` (nullptr: none)
  /// may share the reading. Throws std::runtime_error if it cannot be read any more.
  virtual Event next(std::vector<Arrival>& arrivals, std::size_t most,
                     std::chrono::milliseconds longest, Workers* workers) = 0;

  virtual bool is_json() const = 0;  ///< how its records are written

  virtual std::uint64_t memory() const { return 0; }  ///< that it takes for what it has read

  /// Where it stands: behind the last record. Read before the first next().
  virtual void exchange(Archive& archive) = 0;
  /// Goes on from where exchange() has read that it stood. What it says of that, for people.
  virtual std::string go_on() = 0;
  /// Whether it can: if so, nothing is lost that was taken after the last commit.
  virtual bool can_go_back() const = 0;
};

/// A model's state, by the key of the model.
struct KeyedState {
  std::string key;
  Bytes state;  ///< empty: the model is forgotten
};

/// What a store throws that cannot do now what may be possible later.
class StoreError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What it holds is damaged. Stores are looked through, and mended, when they are opened.
class StoreDamaged : public StoreError {
 public:
  using StoreError::StoreError;
};

/// One after the other, waiting for each; nothing after the last. Throws std::runtime_error if
/// there will be no last one.
using NextState = std::function<std::optional<KeyedState>()>;

/// State that outlives the process. What it holds after a crash is what the last commit held,
/// whole.
class StateStore {
 public:
  virtual ~StateStore() = default;

  /// Of the stream as a whole, as committed last; nothing before the first time.
  virtual std::optional<Bytes> stream() = 0;
  /// What had to be done to find it, for people; empty: nothing.
  virtual std::string remark() const { return {}; }

  /// A model as it was put or committed last; nothing if there is none. Throws StoreError.
  virtual std::optional<Bytes> get(const std::string& key) = 0;
  virtual bool holds(const std::string& key) = 0;
  virtual std::size_t models() const = 0;  ///< how many it holds
  /// Keys of models that were committed last, in their order, not more than so many; empty: it
  /// cannot tell.
  virtual std::vector<std::string> keys(std::size_t) { return {}; }

  /// Takes models that leave memory. Until the next commit they can be had, but do not last.
  virtual void put(std::vector<KeyedState> models) = 0;
  /// Whether put() has a place for them; if not, all models stay in memory.
  virtual bool takes_models() const = 0;

  /// What is put from now on belongs to a later commit than the one that is given this ticket.
  virtual std::uint64_t begin_commit() = 0;
  /// From now on the state of the stream is this, and that of the models what was put before the
  /// ticket, or comes with it. Throws std::runtime_error, and all stays as it was, if that cannot
  /// be done. May run in another thread than the rest, but only once at a time; nobody waits for it
  /// long.
  virtual void commit(std::uint64_t ticket, Bytes stream, const NextState& next) = 0;
  void commit(std::uint64_t ticket, Bytes stream, std::vector<KeyedState> models) {
    auto at = models.begin();
    commit(ticket, std::move(stream), [&]() -> std::optional<KeyedState> {
      if (at == models.end()) return {};
      return std::move(*at++);
    });
  }

  /// How many commits before the last one the state is from that stands in for a damaged one: what
  /// came after that one has to be kept by whoever can give it again.
  virtual std::size_t commits_to_previous() const { return 1; }

  /// Memory that it takes, about.
  virtual std::uint64_t memory() const { return 0; }
};

}  // namespace kalstream
