// Threads beside those that wait for signals.
#pragma once

#include <pthread.h>

#include <csignal>
#include <thread>
#include <utility>

namespace kalstream {

/// Starts a thread that takes no signals: they are for others.
template <typename Work>
std::thread start_quiet_thread(Work work) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // a new thread inherits the mask
  std::thread thread(std::move(work));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace kalstream
