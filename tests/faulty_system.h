// A system on which one call, or all of a kind, goes wrong.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <set>
#include <thread>

#include "database_files.h"
#include "system/system.h"

namespace kalstream::test {

enum class Fault { io_error, disk_full, interruption, half_done, end_of_process };

class FaultySystem final : public System {
 public:
  static constexpr int ended = 99;  // exit code of a process that ends so

  /// The call of this number, from 1, meets the fault; those before and after it do not.
  FaultySystem(Fault fault, std::uint64_t number) : fault_(fault), number_(number) {}

  Verdict before(Call call) override {
    if (fault_ == Fault::half_done && call != Call::read && call != Call::write) return {};
    if (++calls_ != number_) return {};
    beside_the_work_ = std::this_thread::get_id() != maker_;
    switch (fault_) {
      case Fault::io_error:
        return {.error = EIO};
      case Fault::disk_full:
        return {.error = ENOSPC};
      case Fault::interruption:
        return {.error = EINTR};
      case Fault::half_done:
        return {.in_part = true};
      case Fault::end_of_process:
        ::_exit(ended);
    }
    return {};
  }

  const char* database_files() override { return files_.name(); }

  bool met() const { return calls_ >= number_; }
  /// It was met by another thread than the one that made this: by the one that writes checkpoints.
  bool met_beside_the_work() const { return beside_the_work_; }

 private:
  Fault fault_;
  std::uint64_t number_;
  std::thread::id maker_ = std::this_thread::get_id();
  std::atomic<std::uint64_t> calls_ = 0;
  std::atomic<bool> beside_the_work_ = false;
  DatabaseFiles files_{*this};
};

/// As long as it is broken, calls of these kinds fail with this error.
class BrokenSystem final : public System {
 public:
  BrokenSystem(int error, std::set<Call> calls) : error_(error), calls_(std::move(calls)) {}

  Verdict before(Call call) override {
    return {.error = broken && calls_.contains(call) ? error_ : 0};
  }

  const char* database_files() override { return files_.name(); }

  std::atomic<bool> broken = false;

 private:
  int error_;
  std::set<Call> calls_;
  DatabaseFiles files_{*this};
};

}  // namespace kalstream::test
