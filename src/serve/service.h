// The streams of one process, by name.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "serve/served_stream.h"
#include "stores/lock.h"

namespace kalstream::serve {

/// Streams to look at.
class Boards {
 public:
  virtual ~Boards() = default;
  virtual std::vector<std::shared_ptr<const Board>> boards() const = 0;  ///< by name
  /// nullptr: there is none.
  virtual std::shared_ptr<const Board> board(const std::string& name) const = 0;

  /// {"total":…,"streams":[…],"next":…}: those whose names come after a name, at most `limit` and,
  /// but for the first, no more when there are so many bytes, each as Board::stream_json() tells it
  /// in brief; `next` is the last of their names, null if no more come.
  std::string streams_json(const std::string& after, std::size_t limit,
                           std::size_t bytes = std::string::npos) const;
};

class Service final : public Boards {
 public:
  using Stream = std::shared_ptr<ServedStream>;

  /// Begins to open all streams in the folder, which is made if it is not there. Throws
  /// std::runtime_error if it cannot be used, or another process has it.
  explicit Service(ServiceOptions options, System& system = System::real());
  ~Service() override;

  /// All streams of the folder are open, or have said why not.
  bool is_ready() const { return opening_ == 0; }

  std::vector<std::shared_ptr<const Board>> boards() const override;
  std::shared_ptr<const Board> board(const std::string& name) const override;
  Stream find(const std::string& name) const;  ///< nullptr: there is none

  /// `done` is called when it can be used. Throws Refusal if there is one of other options, or may
  /// be no more; std::invalid_argument if the options mean nothing.
  void make(const std::string& name, StreamSettings settings, ServedStream::Done done);
  /// The stream, made with the default options if there is none.
  Stream find_or_make(const std::string& name);
  void remove(const std::string& name, ServedStream::Done done);

  /// From time to time.
  void tick(bool a_second_has_passed);
  void ask_for_checkpoints();
  /// Checkpoints of all, and waits for them. Nothing can be asked any more.
  void stop();

  std::uint64_t memory_used() const { return memory_used_; }

 private:
  Stream add(const std::string& name, StreamSettings settings, std::int64_t created);
  void open_all();
  bool open_one(const std::string& folder_name);
  std::vector<Stream> streams() const;
  void forget(const std::string& name);
  std::string folder_of(const std::string& name) const;

  System& system_;
  ServiceOptions options_;
  Lock lock_;
  PointBudget points_;
  std::atomic<std::uint64_t> memory_used_{0};
  std::atomic<std::size_t> opening_{0};
  std::atomic<int> commits_{0};
  mutable std::mutex mutex_;  // of what follows
  std::map<std::string, Stream> streams_;
  std::map<std::string, bool> leaving_;   // being removed
  SharedWorkers workers_;                 // beside the threads
  std::unique_ptr<WorkThreads> threads_;  // the first to go
};

}  // namespace kalstream::serve
