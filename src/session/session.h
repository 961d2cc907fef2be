// The loop of every door: records go in, answers come out, and the engine learns.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "schema/arrival.h"
#include "session/answers.h"

namespace kalstream {

/// Position of the record being processed; used in messages.
struct RecordPosition {
  std::string source;         ///< its name; empty: there is none to be named
  std::uint64_t line = 0;     ///< counted from 1, or an offset
  const char* unit = "line";  ///< which of them
  std::string text() const { return source + ':' + std::to_string(line); }
};

enum class AnswerFormat : std::uint8_t { none, json, csv };

/// Gives records to an engine, and their answers and all other events to the engine's listeners.
class Session {
 public:
  /// Who writes the header of answers in CSV.
  enum class Header : std::uint8_t {
    session,  ///< comes with the first answer, unless the stream goes on: then it is there already
    door,     ///< the door, by header()
  };

  /// Keeps `position` up to date, for messages of others.
  Session(Engine& engine, RecordPosition& position, Header header)
      : engine_(engine), position_(position), header_(header) {}

  /// Tells the listeners that the fields are known, if they are and nobody has been told. take()
  /// does so as well.
  void begin();

  /// Takes these records in their order. With `workers`, several records of a stream with keys
  /// share them. A record that is taken by itself is answered before it is learnt from: what it
  /// teaches is owed until learn() or the next record. Throws as Engine::take() does; StoreError
  /// only if no listener wants to try again.
  void take(std::span<const Arrival> arrivals, AnswerFormat format, Workers* workers = nullptr);
  void learn() { engine_.learn(); }

  /// The line that names the columns of answers in CSV; empty while they are not known.
  std::string header();

 private:
  std::size_t take_batch(std::span<const Arrival> arrivals, Workers& workers);
  template <class Take>
  auto patiently(const Take& take);
  void deliver(const Answer* answer, std::string& text);
  const AnswerWriter* writer();
  template <class Event>
  void tell(const Event& event) {
    for (StreamListener* listener : engine_.listeners()) event(*listener);
  }

  Engine& engine_;
  RecordPosition& position_;
  Header header_;
  bool begun_ = false;
  bool has_header_ = false;
  AnswerFormat format_ = AnswerFormat::none;
  std::optional<AnswerWriter> json_, csv_;  // once they are needed
  std::string text_;                        // of the answer
  std::vector<std::string> texts_;          // of the answers of a batch
};

}  // namespace kalstream
