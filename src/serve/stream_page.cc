#include "serve/stream_page.h"

#include <filesystem>

#include "serve/stream_folder.h"

namespace kalstream::serve {
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
      board_(std::make_shared<Board>(name_for(name), settings.learner, milliseconds_now(), limits,
                                     points_)),
      door_(at(port), static_cast<const Boards&>(*this)) {
  board_->set_options(to_json(settings));
}

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
