// All that is open of a served stream, and what is asked of it. Internal to src/serve.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "schema/arrival.h"
#include "serve/served_stream.h"
#include "session/session.h"

namespace kalstream::serve {

/// So much may be done while other clients wait: no more than a hundredth of what they would
/// notice.
inline constexpr float cheap = 300e-6F;  // seconds

/// All that is open.
struct ServedStream::Parts {
  Parts(ServedStream& stream, const std::function<void(const std::string&)>& say);

  /// A checkpoint has been made, from which the log goes on at this entry. What comes before the
  /// checkpoint that may have to stand in for it is not needed any more.
  void note_checkpoint(std::uint64_t entry);

  InputLog log;
  BodyRecords source;
  RecordPosition position;
  StreamMonitor monitor;
  std::unique_ptr<StateStore> store;
  Engine engine;
  Session session;
  Checkpoints checkpoints;
  std::vector<Arrival> arrivals;   // being taken
  std::deque<std::uint64_t> kept;  // the log's next entry in each checkpoint, the last one first
  std::uint64_t being_kept = 1;    // the same in the one under way
  bool board_is_kept = true;       // all of it, in the last checkpoint
  bool ends = false;               // the next checkpoint is the last
  std::uint64_t checkpoints_seen = 0;
  std::uint64_t store_failures = 0;
};

struct ServedStream::Work {
  Input input;
  std::shared_ptr<const void> owner;
  Answered answered;
  Clock::time_point arrival = Clock::now();
  bool begun = false;
  bool stored = false;      // it is in the log
  bool is_several = false;  // samples; a single one is answered before it is learnt from
  bool ended = false;
  std::string text;
  std::uint64_t records = 0;
  double seconds = 0;
};

}  // namespace kalstream::serve
