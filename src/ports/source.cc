#include "ports/arrival.h"
#include "ports/ports.h"

namespace kalstream {

Source::Event Source::next_few(std::vector<Arrival>& to, std::size_t most_records,
                               std::chrono::milliseconds most, Workers&) {
  std::size_t count = 0;
  while (count < most_records) {
    if (to.size() == count) to.emplace_back();
    Arrival& arrival = to[count];
    const Event event = next(arrival.record, count == 0 ? most : std::chrono::milliseconds(0));
    if (event == Event::idle || event == Event::end) {
      if (count > 0) break;
      return event;
    }
    arrival.is_problem = event == Event::problem;
    if (arrival.is_problem) arrival.problem = problem();
    arrival.line = line();
    arrival.since = this->arrival();
    ++count;
  }
  to.resize(count);
  return Event::record;
}

}  // namespace kalstream
