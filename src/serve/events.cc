#include "serve/events.h"

#include <fmt/format.h>

#include <algorithm>

namespace kalstream::serve {
namespace {

constexpr std::size_t most_at_once = 500;  // events of a channel, some times a second
constexpr int still_here = 15;             // seconds

void send(const std::vector<std::shared_ptr<http::EventStream>>& to, std::string text,
          std::size_t events) {
  const auto shared = std::make_shared<const std::string>(std::move(text));
  for (const auto& listener : to) listener->send(shared, events);
}

std::string event(const char* name, const std::string& data) {
  return fmt::format("event: {}\ndata: {}\n\n", name, data);
}

}  // namespace

void Events::listen(const std::string& stream, View view, Listener listener) {
  const auto board = stream.empty() ? nullptr : boards_.board(stream);
  std::string first = ": kalstream\n\n" + event("streams", boards_.streams_json());
  if (board) first += event("status", board->stream_json(Board::Detail::experts));
  const std::lock_guard lock(mutex_);
  if (channels_.empty()) {
    warnings_since_.clear();
    for (const auto& one : boards_.boards()) warnings_since_[one->name()] = one->events();
  }
  Channel& channel = channels_[{stream, view.key, view.target}];
  channel.view = std::move(view);
  if (channel.listeners.empty() && board) channel.since = board->events();
  listener->send(std::make_shared<const std::string>(std::move(first)), 1);
  channel.listeners.push_back(std::move(listener));
}

std::size_t Events::listeners() const {
  const std::lock_guard lock(mutex_);
  std::size_t n = 0;
  for (const auto& [name, channel] : channels_) n += channel.listeners.size();
  return n;
}

void Events::tick(bool a_second_has_passed) {
  const std::lock_guard lock(mutex_);
  for (auto it = channels_.begin(); it != channels_.end();) {
    auto& [name, channel] = *it;
    std::erase_if(channel.listeners, [](const Listener& l) { return l->is_gone(); });
    if (channel.listeners.empty()) {
      it = channels_.erase(it);
      continue;
    }
    const std::string& stream = std::get<0>(name);
    if (!stream.empty()) send_news(stream, channel);
    if (!stream.empty() && a_second_has_passed) send_status(stream, channel);
    ++it;
  }
  if (!a_second_has_passed || channels_.empty()) return;
  send_streams();
  if (++seconds_ % still_here != 0) return;
  for (auto& [name, channel] : channels_) send(channel.listeners, ": still here\n\n", 0);
}

void Events::send_news(const std::string& stream, Channel& channel) {
  const auto board = boards_.board(stream);
  if (!board || board->events() == channel.since) return;
  Board::News news = board->news(channel.view, channel.since, most_at_once);
  channel.since = news.last;
  if (news.left_out > 0)
    news.text = event("skipped", fmt::format("{{\"events\":{}}}", news.left_out)) + news.text;
  if (!news.text.empty()) send(channel.listeners, std::move(news.text), news.events);
}

void Events::send_status(const std::string& stream, Channel& channel) {
  const auto board = boards_.board(stream);
  if (!board) return;
  const std::uint64_t now = board->events();
  if (std::exchange(channel.status_since, now) != now)
    send(channel.listeners, event("status", board->stream_json(Board::Detail::experts)), 1);
}

// To all; warnings of any stream to those who do not listen to one.
void Events::send_streams() {
  const auto boards = boards_.boards();
  std::uint64_t now = boards.size();
  std::string warnings;
  std::size_t events = 0;
  std::map<std::string, std::uint64_t> since;
  for (const auto& board : boards) {
    now = now * 31 + board->events();
    const auto before = warnings_since_.find(board->name());
    const Board::News news = board->warnings(before == warnings_since_.end() ? 0 : before->second);
    since[board->name()] = news.last;
    warnings += news.text;
    events += news.events;
  }
  warnings_since_ = std::move(since);
  for (auto& [name, channel] : channels_)
    if (std::get<0>(name).empty() && events > 0) send(channel.listeners, warnings, events);
  if (std::exchange(streams_since_, now) == now) return;
  const auto text = std::make_shared<const std::string>(event("streams", boards_.streams_json()));
  for (auto& [name, channel] : channels_)
    for (const Listener& listener : channel.listeners) listener->send(text, 1);
}

}  // namespace kalstream::serve
