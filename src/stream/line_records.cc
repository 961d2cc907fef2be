#include "stream/line_records.h"

#include <algorithm>
#include <utility>

#include "core/archive.h"
#include "core/workers.h"

namespace kalstream {

LineRecords::LineRecords(LineOptions options, int wake, System& system)
    : options_(std::move(options)),
      name_(options_.follow.empty() ? "standard input" : options_.follow),
      lines_(options_.follow.empty() ? LineSource(options_.in, wake, longest_line, system)
                                     : LineSource(options_.follow, wake, longest_line, system)),
      reader_({.format = options_.format}, options_.columns) {}

// By itself a line is read at once; those that are shared are kept until all are there.
Source::Event LineRecords::next(std::vector<Arrival>& arrivals, std::size_t most,
                                std::chrono::milliseconds longest, Workers* workers) {
  const bool shared =
      workers != nullptr && most > 1 && reader_.is_settled() && !within_line_ && line_ >= known_;
  if (!shared) most = 1;
  std::size_t count = 0;
  while (count < most) {
    const auto event = lines_.next(count == 0 ? longest : std::chrono::milliseconds(0));
    if (event != LineSource::Event::line) {
      if (count > 0) break;
      return event == LineSource::Event::end ? Event::end : Event::idle;
    }
    bool is_rest = std::exchange(within_line_, false);
    std::string_view text = lines_.line();
    line_ += is_rest ? 0 : 1;
    if (line_ < known_) continue;
    if (line_ == known_) {  // of a replay, the last line that was taken
      if (cut_ == 0) continue;
      text.remove_prefix(std::min<std::size_t>(cut_, text.size()));
      is_rest = true;
    }
    if (is_rest && text.find_first_not_of("\r") == std::string_view::npos) continue;
    if (arrivals.size() == count) arrivals.emplace_back();
    Arrival& arrival = arrivals[count];
    arrival.line = line_;
    arrival.since = lines_.arrival();
    if (is_rest)
      be_rest(arrival, text);
    else if (shared)
      arrival.text = text;
    else
      reader_.read(text, arrival);
    count += is_rest || shared || !arrival.is_silent() ? 1 : 0;
  }
  arrivals.resize(count);
  if (shared) read(arrivals, *workers);
  return Event::records;
}

// The line was answered, and learnt, as it stood then.
void LineRecords::be_rest(Arrival& arrival, std::string_view rest) {
  constexpr std::size_t most_shown = 60;
  arrival.is_problem = true;
  arrival.problem =
      "the line had no end yet when it was taken, without what stands behind it now: '" +
      std::string(rest.substr(0, most_shown)) +
      "', which is left out; to learn the line as it is, go on from an earlier checkpoint";
}

// A line may change how those behind it are read, as a header does that comes again with its
// columns in another order: then they are read once more, one after the other.
void LineRecords::read(std::span<Arrival> lines, Workers& workers) {
  readers_.assign(workers.size(), reader_);
  const std::size_t parts = readers_.size();
  workers.run(parts, [&](std::size_t part) {
    const std::size_t end = lines.size() * (part + 1) / parts;
    for (std::size_t k = lines.size() * part / parts; k < end; ++k)
      readers_[part].read(lines[k].text, lines[k]);
  });
  const auto is_same = [&](const RecordReader& r) { return r.dialect() == reader_.dialect(); };
  if (std::ranges::all_of(readers_, is_same)) return;
  for (Arrival& arrival : lines) reader_.read(arrival.text, arrival);
}

void LineRecords::exchange(Archive& archive) {
  const bool reads = archive.reading();
  LinePlace place{line_, reads ? 0 : lines_.cut(), reads ? FilePlace{} : lines_.place(),
                  reader_.dialect()};
  place.exchange(archive);
  if (!reads) return;
  line_ = place.line;
  cut_ = place.cut;
  lines_.set_place(place.file);
  reader_ = RecordReader(std::move(place.dialect), options_.columns);
}

std::string LineRecords::go_on() {
  const bool same = lines_.go_on();
  within_line_ = lines_.goes_on_within_line();
  if (same) return ", in " + name_ + " at line " + std::to_string(line_ + 1);
  if (options_.replay) {
    known_ = std::exchange(line_, 0);
    return ", at line " + std::to_string(known_ + 1);
  }
  return lines_.is_file() ? "; " + name_ + " is another file than then" : "";
}

}  // namespace kalstream
