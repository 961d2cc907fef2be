#include "stream/text_sink.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace kalstream {

TextSink::TextSink(int out, std::optional<bool> json, const Source& source, const Engine& engine,
                   const Signals& signals)
    : out_(out), json_(json), source_(source), engine_(engine), signals_(signals) {}

void TextSink::begin() {
  const ModelOptions& model = engine_.options().model;
  const Schema& schema = engine_.schema();
  writer_.emplace(AnswerWriter::Shape{.json = is_json(),
                                      .keys = engine_.has_keys(),
                                      .times = schema.find(Role::time) != nullptr,
                                      .held = engine_.options().hold_missing,
                                      .intervals = model.coverage > 0,
                                      .surprise = model.surprise,
                                      .anomalies = model.alarm_rate > 0,
                                      .horizon = model.horizon,
                                      .targets = schema.target_names()});
  const bool is_first = engine_.counts().samples + engine_.counts().late <= 1;
  if (is_first) writer_->write_header(text_);
}

void TextSink::write(const Answer& answer) {
  if (!writer_ && engine_.settled() && answer.status != Answer::Status::refused) begin();
  if (writer_)
    writer_->write(answer, text_);
  else if (is_json())
    AnswerWriter({.json = true}).write(answer, text_);
  // In CSV nothing can be said before the columns are known.
}

bool TextSink::flush() {
  std::size_t done = 0;
  while (done < text_.size()) {
    const ssize_t n = ::write(out_, text_.data() + done, text_.size() - done);
    if (n >= 0) {
      done += static_cast<std::size_t>(n);
      continue;
    }
    if (errno != EINTR && errno != EAGAIN)
      throw std::runtime_error(std::string("the answers cannot be written: ") +
                               std::strerror(errno));
    if (signals_.stop()) break;
    std::array<pollfd, 2> of{pollfd{out_, POLLOUT, 0}, pollfd{signals_.descriptor(), POLLIN, 0}};
    ::poll(of.data(), of.size(), -1);
  }
  text_.erase(0, done);
  return text_.empty();
}

}  // namespace kalstream
