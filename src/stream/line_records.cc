#include "stream/line_records.h"

#include <utility>

#include "core/archive.h"
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

std::string LineRecords::place() const { return name_ + ':' + std::to_string(line_); }

void LineRecords::exchange(Archive& archive) {
  archive.count(line_);
  lines_.exchange(archive);
  Dialect dialect = reader_.dialect();
  dialect.exchange(archive);
  if (archive.reading()) set_old(line_, std::move(dialect));
}

void LineRecords::set_old(std::uint64_t line, Dialect dialect) {
  line_ = line;
  reader_ = RecordReader(std::move(dialect), options_.columns);
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
