#include "session/session.h"

#include "schema/rules.h"

namespace kalstream {

void Session::begin() {
  if (begun_ || !engine_.settled()) return;
  begun_ = true;
  json_.reset();  // now it knows the fields
  tell([&](StreamListener& l) { l.began(engine_); });
}

// A store that cannot be read now may be later. Until then the record waits, and all behind it.
template <class Take>
auto Session::patiently(const Take& take) {
  for (int times = 1;; ++times) {
    try {
      return take();
    } catch (const StoreError& error) {
      bool again = false;
      tell([&](StreamListener& l) { again = l.store_failed(error, times) || again; });
      if (!again) throw;
    }
  }
}

void Session::take(std::span<const Arrival> arrivals, AnswerFormat format, Workers* workers) {
  if (!begun_) begin();
  format_ = format;
  while (!arrivals.empty()) {
    if (workers != nullptr && arrivals.size() > 1 && engine_.takes_many()) {
      arrivals = arrivals.subspan(take_batch(arrivals, *workers));
      continue;
    }
    engine_.learn();  // from the record before, while `position_` is still that one's
    position_.line = arrivals.front().line;
    const bool was_settled = engine_.settled();
    const Answer* answer = patiently([&] { return engine_.take(arrivals.front()); });
    if (!was_settled && engine_.settled()) {
      begin();
      for (const std::string& text : remarks(engine_.schema()))
        tell([&](StreamListener& l) { l.remarked(text); });
    }
    text_.clear();
    deliver(answer, text_);
    arrivals = arrivals.subspan(1);
  }
}

// The texts are written by the threads that predict.
std::size_t Session::take_batch(std::span<const Arrival> arrivals, Workers& workers) {
  if (texts_.size() < arrivals.size()) texts_.resize(arrivals.size());
  for (std::string& text : texts_) text.clear();
  const AnswerWriter* writer = this->writer();
  const std::size_t count = patiently([&] {
    return engine_.take_many(arrivals, workers, [&](std::size_t k, const Answer& answer) {
      if (writer != nullptr) writer->write(answer, texts_[k]);
    });
  });
  for (std::size_t k = 0; k < count; ++k) {
    position_.line = arrivals[k].line;
    deliver(engine_.answer(k), texts_[k]);
    engine_.learnt(k);
  }
  return count;
}

// `text` may have been written before. In CSV a refusal cannot be written before the header is, and
// that not before the columns are known.
void Session::deliver(const Answer* answer, std::string& text) {
  for (const std::string& remark : engine_.take_remarks())
    tell([&](StreamListener& l) { l.remarked(remark); });
  if (answer == nullptr) return;
  const bool needs_header =
      format_ == AnswerFormat::csv && header_ == Header::session && !has_header_;
  const bool waits_for_header = needs_header && answer->status == Answer::Status::refused;
  const AnswerWriter* writer = waits_for_header ? nullptr : this->writer();
  if (writer != nullptr) {
    const bool is_first = engine_.counts().samples + engine_.counts().late <= 1;
    if (text.empty()) writer->write(*answer, text);
    if (needs_header && is_first) text.insert(0, header());
    has_header_ = has_header_ || needs_header;
  }
  tell([&](StreamListener& l) { l.answered(*answer, text); });
}

// nullptr: nothing can be written.
const AnswerWriter* Session::writer() {
  if (format_ == AnswerFormat::none) return nullptr;
  const bool json = format_ == AnswerFormat::json;
  if (!json && !engine_.settled()) return nullptr;
  std::optional<AnswerWriter>& writer = json ? json_ : csv_;
  if (!writer) {
    AnswerWriter::Shape shape = shape_of(engine_, json);
    shape.source = position_.source;
    shape.position = position_.unit;
    writer.emplace(std::move(shape));
  }
  return &*writer;
}

std::string Session::header() {
  std::string text;
  if (engine_.settled()) AnswerWriter(shape_of(engine_, /*json=*/false)).write_header(text);
  return text;
}

}  // namespace kalstream
