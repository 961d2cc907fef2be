#include "stream/line_records.h"

#include <algorithm>
#include <utility>

#include "core/archive.h"
#include "core/workers.h"
#include "data/dataset.h"

namespace kalstream {

LineRecords::LineRecords(LineOptions options, int wake, System& system)
    : options_(std::move(options)),
      name_(options_.follow.empty() ? "standard input" : options_.follow),
      lines_(options_.follow.empty() ? LineSource(options_.in, wake, longest_line, system)
                                     : LineSource(options_.follow, wake, longest_line, system)),
      reader_({.format = options_.format}, options_.columns) {
  if (options_.leave_unfinished) lines_.leave_unfinished();
}

Source::Event LineRecords::next(Record& record, std::chrono::milliseconds most) {
  while (true) {
    const auto event = lines_.next(most);
    if (event == LineSource::Event::end) return Event::end;
    if (event == LineSource::Event::idle) return Event::idle;
    ++line_;
    if (line_ <= known_) continue;
    try {
      if (reader_.read(lines_.line(), record)) return Event::record;
    } catch (const DataError& error) {
      problem_ = error.what();
      return Event::problem;
    }
  }
}

Source::Event LineRecords::next_few(std::vector<Arrival>& to, std::size_t most_records,
                                    std::chrono::milliseconds most, Workers& workers) {
  if (!reader_.is_settled()) return Source::next_few(to, 1, most, workers);
  std::size_t count = 0;
  while (count < most_records) {
    const auto event = lines_.next(count == 0 ? most : std::chrono::milliseconds(0));
    if (event != LineSource::Event::line) {
      if (count > 0) break;
      return event == LineSource::Event::end ? Event::end : Event::idle;
    }
    ++line_;
    if (line_ <= known_) continue;
    if (to.size() == count) to.emplace_back();
    Arrival& arrival = to[count++];
    arrival.text = lines_.line();
    arrival.line = line_;
    arrival.since = lines_.arrival();
  }
  to.resize(count);
  read(to, workers);
  return Event::record;
}

// A line may change how those behind it are read, as a header does that comes again with its
// columns in another order: then they are read once more, one after the other.
void LineRecords::read(std::span<Arrival> lines, Workers& workers) {
  const auto read_one = [](RecordReader& reader, Arrival& arrival) {
    arrival.is_problem = false;
    try {
      if (!reader.read(arrival.text, arrival.record)) arrival.record.clear();
    } catch (const DataError& error) {
      arrival.is_problem = true;
      arrival.problem = error.what();
    }
  };
  readers_.assign(workers.size(), reader_);
  const std::size_t parts = readers_.size();
  workers.run(parts, [&](std::size_t part) {
    const std::size_t end = lines.size() * (part + 1) / parts;
    for (std::size_t k = lines.size() * part / parts; k < end; ++k)
      read_one(readers_[part], lines[k]);
  });
  const auto is_same = [&](const RecordReader& r) { return r.dialect() == reader_.dialect(); };
  if (std::ranges::all_of(readers_, is_same)) return;
  for (Arrival& arrival : lines) read_one(reader_, arrival);
}

void LineRecords::exchange(Archive& archive) {
  archive.count(line_);
  lines_.exchange(archive);
  Dialect dialect = reader_.dialect();
  dialect.exchange(archive);
  if (archive.reading()) reader_ = RecordReader(std::move(dialect), options_.columns);
}

std::string LineRecords::go_on() {
  if (lines_.go_on()) return ", in " + name_ + " at line " + std::to_string(line_ + 1);
  if (options_.replay) {
    known_ = std::exchange(line_, 0);
    return ", at line " + std::to_string(known_ + 1);
  }
  return lines_.is_file() ? "; " + name_ + " is another file than then" : "";
}

}  // namespace kalstream
