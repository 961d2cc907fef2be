#include "serve/events.h"

#include <fmt/format.h>

#include <algorithm>

#include "serve/json_text.h"

namespace kalstream::serve {
namespace {

constexpr std::size_t most_at_once = 500;  // events of a channel, some times a second
constexpr std::size_t most_streams = 200;  // with news, in a second: some 100 KiB, and …
constexpr std::size_t most_bytes = http::EventStream::most / 2;  // … about so many at most
constexpr int still_here = 15;                                   // seconds

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
  const std::lock_guard lock(mutex_);
  Channel& channel = channels_[{stream, view.key, view.target}];
  if (channel.listeners.empty() && stream.empty()) {
    told_.clear();
    for (const auto& one : boards_.boards()) told_[one->name()] = {one->events(), one->events()};
  }
  std::string first = ": kalstream\n\n";
  if (stream.empty()) first += event("streams", boards_.streams_json("", most_streams, most_bytes));
  if (board) first += event("status", board->stream_json(Board::Detail::experts));
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
    if (a_second_has_passed) stream.empty() ? send_streams(channel) : send_status(stream, channel);
    ++it;
  }
  if (!a_second_has_passed) return;
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

void Events::send_streams(const Channel& channel) {
  const auto boards = boards_.boards();
  std::map<std::string, Told> told;
  std::vector<const Board*> changed;
  std::string warnings;
  std::size_t events = 0;
  for (const auto& board : boards) {
    const auto before = told_.find(board->name());
    Told& now = told[board->name()];
    if (before != told_.end()) now = before->second;
    if (before == told_.end() || board->events() != now.status) changed.push_back(board.get());
    if (warnings.size() > most_bytes) continue;  // in the next second, then
    const Board::News news = board->warnings(now.warnings);
    now.warnings = news.last;
    warnings += news.text;
    events += news.events;
  }
  if (events > 0) send(channel.listeners, std::move(warnings), events);
  std::vector<std::string> removed;
  for (const auto& [name, before] : told_)
    if (!told.contains(name)) {
      if (removed.size() < most_streams)
        removed.push_back(name);
      else
        told[name] = before;
    }
  told_ = std::move(told);
  if (changed.empty() && removed.empty()) return;
  std::rotate(changed.begin(), std::ranges::upper_bound(changed, last_told_, {}, &Board::name),
              changed.end());
  changed.resize(std::min(changed.size(), most_streams));
  std::string data = fmt::format("{{\"total\":{},\"streams\":[", boards.size());
  for (const Board* board : changed) {
    if (data.size() > most_bytes) break;
    last_told_ = board->name();
    told_[last_told_].status = board->events();
    append_comma(data);
    data += board->stream_json();
  }
  data += ']';
  append_field(data, "removed", removed);
  send(channel.listeners, event("streams", data + '}'), 1);
}

}  // namespace kalstream::serve
