// The samples of a served stream: taken as they come, and again after a crash.
#include <fmt/format.h>

#include <algorithm>

#include "core/envelope.h"
#include "kalstream/snapshot.h"
#include "schema/dataset.h"
#include "schema/rules.h"
#include "serve/served_parts.h"

namespace kalstream::serve {

using namespace std::chrono_literals;

bool ServedStream::step(Work& work, Clock::time_point until) {
  if (work.ended) return true;
  std::optional<Refusal> refusal;
  try {
    require_open();
    work_through(work, until);
    if (!work.ended) return false;
  } catch (const Refusal& error) {
    refusal = error;
  } catch (const std::invalid_argument& error) {  // it would need another learner than can be made
    refusal = undo({422, "cannot_learn", error.what()});
  } catch (const std::exception& error) {
    fail(error.what());
    refusal.emplace(503, "store_failed",
                    fmt::format("{}; {}", error.what(),
                                work.stored ? "the samples are stored, but not answered"
                                            : "nothing was learnt"));
  }
  work.ended = true;
  if (parts_) see_engine();
  work.answered(std::move(work.text), refusal ? &*refusal : nullptr);
  if (parts_) {
    const auto begin = Clock::now();
    const std::uint64_t learnt = parts_->engine.counts().learnt;
    parts_->session.learn();
    if (parts_->engine.counts().learnt != learnt) see_engine();
    work.seconds += std::chrono::duration<double>(Clock::now() - begin).count();
  }
  if (work.records > 0) {
    constexpr float slow = 0.9F;
    const auto now = static_cast<float>(work.seconds / static_cast<double>(work.records));
    work_per_sample_ = slow * work_per_sample_ + (1 - slow) * now;
    if (now > cheap) work_per_sample_ = std::max<float>(work_per_sample_, now);
  }
  return true;
}

// Back to what is on disk, without the request that is refused as a whole. Returns its refusal.
Refusal ServedStream::undo(const Refusal& refusal) {
  try {
    start();
    return refusal;
  } catch (const std::exception& error) {
    fail(error.what());
    return {503, "store_failed", fmt::format("{}; nothing was learnt", error.what())};
  }
}

void ServedStream::store(Work& work) {
  Parts& p = *parts_;
  try {
    p.log.append(work.input);
  } catch (const std::exception& error) {
    const Refusal refusal(503, "not_stored", fmt::format("{}; nothing was learnt", error.what()));
    throw work.begun ? undo(refusal) : refusal;
  }
  work.stored = true;
  p.source.entry = p.log.next();
}

void ServedStream::work_through(Work& work, Clock::time_point until) {
  Parts& p = *parts_;
  const bool list = work.input.kind == Input::Kind::array;
  if (!work.begun) {
    // As long as the stream has no learner, a request may be refused as a whole, because its
    // learner cannot be made. It is stored once that is known, so that it is never learnt later.
    if (p.engine.settled()) store(work);
    work.begun = true;
    work.is_several = most_samples(work.input) > 1;
    p.source.open(work.input, work.arrival);
    if (list) work.text = "{\"answers\":[";
  }
  work_ = &work;
  while (!work.ended && Clock::now() < until) {
    const auto before = Clock::now();
    const std::size_t taken = take_some(work);
    work.ended = taken == 0;
    if (work.ended) break;
    work.records += taken;
    const double seconds = std::chrono::duration<double>(Clock::now() - before).count();
    work.seconds += seconds;
    for (std::size_t k = 0; k < taken; ++k) {
      p.monitor.delivered(work.arrival);
      p.monitor.worked(seconds / static_cast<double>(taken));
    }
  }
  if (!work.ended) return;
  if (!work.stored) store(work);
  if (list) work.text += "]}\n";
}

// The next sample; or as many of several as can be shared by threads, and take a moment. Returns
// how many: 0 at the end.
std::size_t ServedStream::take_some(const Work& work) {
  Parts& p = *parts_;
  constexpr float not_long = 5e-3F;  // seconds
  const bool shared = work.is_several && p.engine.takes_many();
  const float most = shared ? std::clamp(not_long / work_per_sample_, 4.0F, 512.0F) : 1;
  if (p.source.next(p.arrivals, static_cast<std::size_t>(most), 0ms, nullptr) == Source::Event::end)
    return 0;
  const AnswerFormat format = work_ == nullptr     ? AnswerFormat::none
                              : p.source.is_json() ? AnswerFormat::json
                                                   : AnswerFormat::csv;
  at_ = work.input.at;
  if (shared)
    around_.workers.use([&](Workers& workers) { p.session.take(p.arrivals, format, &workers); });
  else
    p.session.take(p.arrivals, format);
  return p.arrivals.size();
}

void ServedStream::answered(const Answer& answer, std::string_view text) {
  board_.answered(answer, at_);
  if (work_ == nullptr) return;
  std::string& all = work_->text;
  const bool list = work_->input.kind == Input::Kind::array;
  if (list && all.back() != '[') all += ',';
  if (all.empty() && work_->input.kind == Input::Kind::csv) all = parts_->session.header();
  all += text;
  if (list) all.pop_back();  // the line's end
}

// The same as when it came, but nobody waits for answers. It was taken then: if it cannot be now,
// nothing may follow it.
void ServedStream::replay(const Input& input) {
  Parts& p = *parts_;
  try {
    if (input.kind == Input::Kind::put) {
      p.engine.put_state(std::string(input.key), as_bytes(input.body));
    } else if (input.kind == Input::Kind::forget) {
      p.engine.forget(std::string(input.key));
    } else {
      Work work;
      work.input = input;
      if (input.kind == Input::Kind::array)
        work.input.elements = elements_of(input.body).value_or(std::vector<std::string_view>{});
      work.is_several = most_samples(work.input) > 1;
      work_ = nullptr;
      p.source.open(work.input, Clock::now());
      while (take_some(work) > 0) {
      }
      p.session.learn();
    }
  } catch (const std::exception& error) {
    throw std::runtime_error(
        fmt::format("what it was given cannot be learnt again now, and is kept: {}", error.what()));
  }
  see_engine();
}

void ServedStream::see_engine() {
  Parts& p = *parts_;
  board_.count(p.engine);
  set_memory(p.engine.memory_of_models());
  ++changes_;
}

void ServedStream::set_memory(std::uint64_t bytes) {
  around_.memory_used += bytes - memory_.exchange(bytes);
}

}  // namespace kalstream::serve
