// The samples of a served stream: taken as they come, and again after a crash.
#include <fmt/format.h>

#include <algorithm>

#include "data/dataset.h"
#include "kalstream/snapshot.h"
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
  } catch (const std::invalid_argument& error) {
    refusal.emplace(422, "cannot_learn", error.what());
  } catch (const SchemaError& error) {
    refusal.emplace(422, "other_fields", error.what());
  } catch (const std::exception& error) {
    fail(error.what());
    refusal.emplace(503, "store_failed",
                    fmt::format("{}; the samples are stored, but not answered", error.what()));
  }
  work.ended = true;
  if (parts_) see_engine();
  work.answered(std::move(work.text), refusal ? &*refusal : nullptr);
  if (parts_) {
    const auto begin = Clock::now();
    parts_->engine.learn();
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

void ServedStream::work_through(Work& work, Clock::time_point until) {
  Parts& p = *parts_;
  const bool list = work.input.kind == Input::Kind::array;
  if (!work.begun) {
    try {
      p.log.append(work.input);
    } catch (const std::exception& error) {
      throw Refusal(503, "not_stored", fmt::format("{}; nothing was learnt", error.what()));
    }
    work.begun = true;
    work.is_several = most_samples(work.input) > 1;
    p.source.entry = p.log.next();
    p.source.open(work.input, work.arrival);
    if (list) work.text = "{\"answers\":[";
  }
  while (!work.ended && Clock::now() < until) {
    const auto before = Clock::now();
    const std::uint64_t records = work.records;
    work.ended = !(work.is_several && p.engine.takes_many() ? take_few(work) : take_next(work));
    const std::uint64_t taken = work.records - records;
    if (taken == 0) continue;
    const double seconds = std::chrono::duration<double>(Clock::now() - before).count();
    work.seconds += seconds;
    for (std::uint64_t k = 0; k < taken; ++k)
      p.monitor.worked(seconds / static_cast<double>(taken));
  }
  if (work.ended && list) work.text += "]}\n";
}

// False: there are no more.
bool ServedStream::take_next(Work& work) {
  Parts& p = *parts_;
  const auto event = p.source.next(p.record);
  if (event == Source::Event::end) return false;
  if (const Answer* answer = take(event)) write(*answer, "", work);
  ++work.records;
  return true;
}

// The same of a few, by several threads.
bool ServedStream::take_few(Work& work) {
  Parts& p = *parts_;
  constexpr float not_long = 5e-3F;  // seconds
  const float records = std::clamp(not_long / work_per_sample_, 4.0F, 512.0F);
  return around_.workers.use([&](Workers& workers) {
    const auto event =
        p.source.next_few(p.arrivals, static_cast<std::size_t>(records), 0ms, workers);
    if (event == Source::Event::end) return false;
    p.texts.resize(std::max(p.texts.size(), p.arrivals.size()));
    const AnswerWriter& writer = p.source.is_json() ? *p.json : *p.csv;
    for (std::span<const Arrival> left = p.arrivals; !left.empty();) {
      for (std::string& text : p.texts) text.clear();
      const auto take = [&] {
        return p.engine.take_many(left, workers, [&](std::size_t k, const Answer& answer) {
          writer.write(answer, p.texts[k]);
        });
      };
      std::size_t count = 0;
      try {
        count = take();
      } catch (const StoreError&) {
        count = take();
      }
      for (std::size_t k = 0; k < count; ++k) {
        p.spot.look_at(&left[k]);
        if (const Answer* answer = p.engine.tell(k)) write(*answer, p.texts[k], work);
        p.engine.tell_learnt(k);
      }
      p.spot.look_at(nullptr);
      work.records += count;
      left = left.subspan(count);
    }
    return true;
  });
}

void ServedStream::write(const Answer& answer, const std::string& prepared, Work& work) {
  Parts& p = *parts_;
  const bool list = work.input.kind == Input::Kind::array;
  Answer placed = answer;
  std::string reason;
  if (answer.status == Answer::Status::refused) {
    reason = p.spot.place() + ": " + std::string(answer.reason);
    placed.reason = reason;
    placed.line = p.spot.line();
  }
  if (list && work.text.back() != '[') work.text += ',';
  const bool json = p.source.is_json();
  if (!json && p.csv && work.text.empty()) p.csv->write_header(work.text);
  if (!prepared.empty())
    work.text += prepared;
  else if (json)
    (p.json ? *p.json : AnswerWriter({.json = true})).write(placed, work.text);
  else if (p.csv)
    p.csv->write(placed, work.text);
  if (list) work.text.pop_back();  // the line's end
  at_ = work.input.at;
  p.monitor.answered(placed, p.engine);
  p.monitor.delivered(p.spot.arrival());
}

// A store that cannot be read now may be in a moment.
const Answer* ServedStream::take(Source::Event event) {
  Parts& p = *parts_;
  const bool was_settled = p.engine.settled();
  const Answer* answer = nullptr;
  if (event == Source::Event::problem) {
    answer = p.engine.refuse(p.source.problem());
  } else {
    try {
      answer = p.engine.take(p.record);
    } catch (const StoreError&) {
      answer = p.engine.take(p.record);
    }
  }
  if (!was_settled && p.engine.settled()) settle();
  return answer;
}

// The same as when it came, but nobody waits for answers.
void ServedStream::replay(const Input& input) {
  Parts& p = *parts_;
  try {
    if (input.kind == Input::Kind::put) {
      p.engine.put_state(std::string(input.key), bytes_of_text(input.body));
    } else if (input.kind == Input::Kind::forget) {
      p.engine.forget(std::string(input.key));
    } else {
      p.source.open(input, Clock::now());
      for (auto event = p.source.next(p.record); event != Source::Event::end;
           event = p.source.next(p.record)) {
        if (const Answer* answer = take(event)) board_.answered(*answer, input.at);
        p.engine.learn();
      }
    }
  } catch (const std::invalid_argument&) {  // nor could it be taken then
  } catch (const SchemaError&) {
  } catch (const SnapshotError&) {
  }
}

void ServedStream::settle() {
  Parts& p = *parts_;
  if (!p.engine.settled()) return;
  p.monitor.begin(p.engine);
  p.json.emplace(shape_of(p.engine, /*json=*/true));
  p.csv.emplace(shape_of(p.engine, /*json=*/false));
  for (const std::string& remark : remarks(p.engine.schema())) p.monitor.say(remark);
}

void ServedStream::see_engine() {
  Parts& p = *parts_;
  for (const std::string& remark : p.engine.take_remarks()) p.monitor.say(remark);
  board_.count(p.engine);
  memory_ = p.engine.memory();
  ++changes_;
}

void ServedStream::began(const Engine& engine) { board_.settle(engine); }

void ServedStream::answered(const Answer& answer, const Engine&) { board_.answered(answer, at_); }

void ServedStream::looked(const Engine&, const StreamStatus& status) { board_.set_status(status); }

void ServedStream::warned(Warning kind, const std::string& text) {
  board_.warned(to_string(kind), text);
}

}  // namespace kalstream::serve
