#include "serve/door.h"

#include <filesystem>

#include "core/quiet_thread.h"
#include "serve/stream_folder.h"

namespace kalstream::serve {

using namespace std::chrono_literals;

Door::Door(http::ServerOptions options, const Boards& boards, Service* service)
    : service_(service),
      events_(boards),
      readers_(1),
      api_(boards, service, events_, readers_),
      server_(std::move(options), [this](const Api::Exchange& exchange) { api_.handle(exchange); }),
      clock_(start_quiet_thread([this] { watch_clock(); })) {}

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

// ---- The page of one stream.

namespace {

constexpr BoardLimits limits{.points = 20'000};
constexpr std::int64_t most_points = 200'000;

/// What can be a stream's name of "/var/log/boiler 1.csv": "boiler_1".
std::string name_for(const std::string& source) {
  constexpr std::size_t longest = 100;
  std::string name = std::filesystem::path(source).stem().string().substr(0, longest);
  for (char& c : name)
    if (!is_name(std::string(1, c)) && c != '.') c = '_';
  return is_name(name) ? name : "stream";
}

http::ServerOptions at(std::uint16_t port) {
  http::ServerOptions options;
  options.port = port;
  options.max_connections = 200;
  return options;
}

}  // namespace

StreamPage::StreamPage(const std::string& name, const StreamSettings& settings, std::uint16_t port)
    : points_(most_points),
      board_(
          std::make_shared<Board>(name_for(name), settings, milliseconds_now(), limits, points_)),
      door_(at(port), *this) {}

void StreamPage::began(const Engine& engine) {
  engine_ = &engine;
  board_->settle(engine);
}

void StreamPage::answered(const Answer& answer, std::string_view) {
  board_->answered(answer, milliseconds_now());
  if (engine_ != nullptr) board_->count(*engine_);
}

void StreamPage::looked(const Engine& engine, const StreamStatus& status) {
  board_->count(engine);
  board_->set_status(status);
}

}  // namespace kalstream::serve
