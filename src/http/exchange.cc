#include "http/exchange.h"

#include <microhttpd.h>

#include <utility>

namespace kalstream::http {

void Exchange::answer(Response response) {
  const std::lock_guard lock(mutex_);
  if (response_ || events_) return;
  response_ = std::move(response);
  wake();
}

void Exchange::answer(std::shared_ptr<EventStream> events) {
  const std::lock_guard lock(mutex_);
  if (response_ || events_) return;
  events_ = std::move(events);
  wake();
}

std::optional<Response> Exchange::response() {
  const std::lock_guard lock(mutex_);
  return response_;
}

bool Exchange::is_answered() {
  const std::lock_guard lock(mutex_);
  return response_ || events_;
}

void Exchange::wake() {
  if (!suspended_ || connection_ == nullptr) return;
  suspended_ = false;
  MHD_resume_connection(connection_);
}

}  // namespace kalstream::http
