#include "serve/door.h"

#include <pthread.h>

#include <csignal>

namespace kalstream::serve {

using namespace std::chrono_literals;

Door::Door(http::ServerOptions options, Service& service)
    : Door(std::move(options), service, &service) {}

Door::Door(http::ServerOptions options, const Boards& boards)
    : Door(std::move(options), boards, nullptr) {}

Door::Door(http::ServerOptions options, const Boards& boards, Service* service)
    : service_(service),
      events_(boards),
      readers_(1),
      api_(boards, service, events_, readers_),
      server_(std::move(options),
              [this](const Api::Exchange& exchange) { api_.handle(exchange); }) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  clock_ = std::thread([this] { watch_clock(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Door::~Door() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  clock_.join();
}

void Door::close(std::chrono::milliseconds most) { server_.stop(most); }

// Twenty times a second: as fast as anybody looks.
void Door::watch_clock() {
  constexpr auto step = 50ms;
  constexpr int steps_in_a_second = 20;
  std::unique_lock lock(mutex_);
  for (int k = 1; !changed_.wait_for(lock, step, [this] { return ends_; }); ++k) {
    lock.unlock();
    const bool second = k % steps_in_a_second == 0;
    if (service_ != nullptr) service_->tick(second);
    events_.tick(second);
    lock.lock();
  }
}

}  // namespace kalstream::serve
