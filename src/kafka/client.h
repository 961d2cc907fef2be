// The owner of a connection to Kafka: what consumers, producers and administrators have in common.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kafka/configuration.h"
#include "kafka/error.h"
#include "kafka/message.h"

namespace kalstream::kafka {

using Milliseconds = std::chrono::milliseconds;

/// A broker that is gone makes a client complain many times a second. Of each kind the first is
/// told at once, then one in a while, with the number of those that were not.
class LogFilter {
 public:
  using Clock = std::chrono::steady_clock;

  explicit LogFilter(Clock::duration interval = std::chrono::seconds(30)) : interval_(interval) {}

  /// The line to tell, or nothing. `level` is that of syslog: 3 errors, 4 warnings, 6 news.
  std::optional<std::string> add(int level, std::string_view facility, std::string_view text,
                                 Clock::time_point now);

 private:
  struct Facility {
    Clock::time_point next;
    std::uint64_t held = 0;
  };

  Clock::duration interval_;
  std::map<std::string, Facility, std::less<>> facilities_;
};

/// A handle of librdkafka with the callbacks that all kinds need. What it logs goes to `say`, the
/// same but once in a while.
class Client {
 public:
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  rd_kafka_t* handle() const { return handle_.get(); }
  /// Throws a fatal KafkaError if the client has met one.
  void require_sound() const;
  /// What connections have complained of lately, and its code; 0: of nothing.
  std::pair<int, std::string> last_complaint() const;
  /// The settings it was made with.
  const Configuration& configuration() const { return configuration_; }
  const Say& say() const { return say_; }

  /// Offsets at which partitions begin (TopicPartition::beginning) or end, as readers of committed
  /// messages see it.
  std::vector<TopicPartition> offsets_at(std::vector<TopicPartition> partitions,
                                         Milliseconds timeout) const;

 protected:
  enum class Kind : std::uint8_t { consumer, producer };

  /// Sets the callbacks that only this kind of client has.
  using Prepare = void (*)(rd_kafka_conf_t*);

  Client(Kind kind, Configuration configuration, Say say, Prepare prepare);
  ~Client() = default;

  void note_complaint(int code, const std::string& text);

  /// Throws what `error` says, and destroys it; does nothing for nullptr. `doing` begins the text:
  /// "the transaction cannot be committed".
  void require(rd_kafka_error_t* error, const std::string& doing) const;
  void require(int code, const std::string& doing) const;
  /// What a call has written into the list; throws for the first partition that it failed for.
  /// `doing` has {} in the places of topic and partition.
  std::vector<TopicPartition> require(const PartitionList& list, const char* doing) const;
  [[noreturn]] void fail(int code, KafkaError::Kind kind, const std::string& doing,
                         const std::string& details) const;
  /// What a callback has thrown, since that must not go through librdkafka.
  void rethrow() {
    if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
  }
  std::exception_ptr thrown_;

 private:
  // Who wants to leave a group in order has closed the consumer before.
  struct Destroy {
    void operator()(rd_kafka_t* handle) const {
      rd_kafka_destroy_flags(handle, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
    }
  };

  void log(int level, const char* facility, const char* text);

  Configuration configuration_;
  Say say_;
  mutable std::mutex mutex_;  // callbacks come from any thread
  LogFilter filter_;
  int complaint_code_ = 0;
  LogFilter::Clock::time_point complained_;
  std::string complaint_;
  std::unique_ptr<rd_kafka_t, Destroy> handle_;  // last: goes first, and its callbacks with it
};

}  // namespace kalstream::kafka
