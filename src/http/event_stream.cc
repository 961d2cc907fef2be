#include "http/event_stream.h"

#include <fmt/format.h>
#include <microhttpd.h>

#include <algorithm>
#include <cstring>

namespace kalstream::http {

bool EventStream::send(Text text, std::size_t events) {
  const std::lock_guard lock(mutex_);
  if (gone_ || finished_) return false;
  if (bytes_ > 0 && bytes_ + text->size() > most) {
    skipped_ += events;
    return false;
  }
  if (skipped_ > 0) {
    const std::string say = fmt::format("event: skipped\ndata: {{\"events\":{}}}\n\n", skipped_);
    skipped_ = 0;
    bytes_ += say.size();
    texts_.push_back(std::make_shared<const std::string>(say));
  }
  bytes_ += text->size();
  texts_.push_back(std::move(text));
  wake();
  return true;
}

void EventStream::finish() {
  const std::lock_guard lock(mutex_);
  finished_ = true;
  wake();
}

bool EventStream::is_gone() const {
  const std::lock_guard lock(mutex_);
  return gone_;
}

void EventStream::wake() {
  if (!suspended_ || connection_ == nullptr) return;
  suspended_ = false;
  MHD_resume_connection(connection_);
}

void EventStream::attach(MHD_Connection* connection) {
  const std::lock_guard lock(mutex_);
  connection_ = connection;
}

void EventStream::detach() {
  const std::lock_guard lock(mutex_);
  connection_ = nullptr;
  gone_ = true;
  texts_.clear();
}

// With nothing to say, the connection is set aside until there is something.
ssize_t EventStream::read(char* to, std::size_t room) {
  const std::lock_guard lock(mutex_);
  std::size_t done = 0;
  while (done < room && !texts_.empty()) {
    const std::string& first = *texts_.front();
    const std::size_t n = std::min(room - done, first.size() - at_);
    std::memcpy(to + done, first.data() + at_, n);
    done += n;
    at_ += n;
    if (at_ < first.size()) continue;
    at_ = 0;
    bytes_ -= first.size();
    texts_.pop_front();
  }
  if (done > 0) return static_cast<ssize_t>(done);
  if (finished_) return MHD_CONTENT_READER_END_OF_STREAM;
  suspended_ = true;
  MHD_suspend_connection(connection_);
  return 0;
}

}  // namespace kalstream::http
