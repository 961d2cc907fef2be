// Snapshots on the local disk, as they are committed: a worker that starts again reads only those
// from the log that came since.
#pragma once

#include <condition_variable>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "fleet/log.h"
#include "stores/database.h"

namespace kalstream::fleet {

/// A database for every partition, written by a thread of its own. Nothing depends on it: what
/// cannot be written or read is said, and done without.
class SnapshotCache {
 public:
  using Say = std::function<void(const std::string&)>;

  /// `fleet` tells it from all others, whose files are not read.
  SnapshotCache(std::filesystem::path folder, std::string fleet, Say say,
                System& system = System::real());
  /// Writes what is left.
  ~SnapshotCache();
  SnapshotCache(const SnapshotCache&) = delete;
  SnapshotCache& operator=(const SnapshotCache&) = delete;

  /// Gives all snapshots of a partition as they were at an offset of the topic of states, which is
  /// returned; nothing, and none was given, if there are none, or of a later offset than this.
  std::optional<Offset> read(int partition, Offset upto,
                             const std::function<void(const StateRecord&)>& take);

  /// What was committed to the topic of states, all that lies before `upto` and was not added
  /// before. From any thread.
  void add(int partition, std::vector<Message> states, Offset upto);

  /// It is not what it should be.
  void discard(int partition, const std::string& why);

 private:
  struct File;
  struct News {
    std::map<std::string, Message> states;  // the last of each key
    Offset upto = -1;
    std::size_t bytes = 0;
  };

  std::filesystem::path path_of(int partition) const;
  void run();
  void write_all();
  void write(int partition, News& news);
  File& file_of(int partition);
  void remove(int partition);
  void give_up(int partition, const std::string& why);

  std::filesystem::path folder_;
  std::string fleet_;
  Say say_;
  System& system_;
  std::mutex writing_;  // of the files
  std::map<int, std::unique_ptr<File>> open_;
  std::set<int> without_;  // those that are done without

  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::map<int, News> news_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace kalstream::fleet
