#include "eval/timeline.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include "core/finite.h"
#include "schema/future.h"

namespace kalstream {
namespace {

using Row = Timeline::Row;

/// Goes through the rows as a stream does.
class Following {
 public:
  Following(const Dataset& data, const std::vector<bool>& known_ahead)
      : data_(data), known_(known_ahead), ticks_(ticks_of(data)) {
    const std::size_t rows = data.rows();
    line_.kind.assign(rows, Row::taken);
    line_.missing.assign(rows, 0);
    line_.place.assign(rows, Timeline::none);
    if (has_elapsed(data.schema)) line_.usual_elapsed.assign(rows, 0.0);
    for (std::size_t t = 0; t < rows; ++t)
      if (all_finite(data.d(t))) last_target_ = t;
  }

  Timeline run() {
    for (std::size_t t = 0; t < data_.rows(); ++t) {
      line_.kind[t] = take(t);
      if (const std::string remark = line_.clock.take_remark(); !remark.empty())
        line_.remarks.push_back(remark);
      if (!line_.usual_elapsed.empty()) line_.usual_elapsed[t] = line_.clock.elapsed();
    }
    place_those_ahead();
    return std::move(line_);
  }

 private:
  Row take(std::size_t t) {
    if (is_ahead(t)) {
      if (ticks_.empty())
        line_.row_at.push_back(t);
      else
        ahead_[*ticks_[t]] = t;
      return Row::ahead;
    }
    if (!all_finite(data_.x(t))) return Row::skipped;
    StreamClock& clock = line_.clock;
    if (t < ticks_.size() && ticks_[t]) {
      const std::int64_t before = clock.last();
      const bool calendar = data_.schema.time_form != TimeForm::number;
      const StreamClock::Verdict verdict = clock.take(*ticks_[t], calendar);
      if (verdict.kind == StreamClock::Kind::late) return Row::late;
      if (verdict.kind == StreamClock::Kind::repeated) return Row::repeated;
      pass(t, verdict.missing, before);
      ahead_.erase(ahead_.begin(), ahead_.upper_bound(*ticks_[t]));
      if (clock.step() != step_) find(t);
    } else if (t < ticks_.size()) {
      clock.take_undated();
    }
    line_.place[t] = line_.row_at.size();
    line_.row_at.push_back(t);
    return Row::taken;
  }

  void find(std::size_t t) {
    step_ = line_.clock.step();
    Timeline::Found found{.row = t, .step = step_, .periods = line_.clock.periods()};
    found.is_news = step_ && told_ != found.periods;
    if (found.is_news) told_ = found.periods;
    line_.found.push_back(std::move(found));
  }

  bool is_ahead(std::size_t t) const {
    if (known_.empty() || all_finite(data_.d(t))) return false;
    if (ticks_.empty() ? t <= last_target_ : !ticks_[t] || !is_later(*ticks_[t])) return false;
    bool brings = false;
    bool lacks = false;
    bool all = true;
    for (std::size_t k = 0; k < known_.size(); ++k) {
      const bool there = !std::isnan(data_.x(t)[k]);
      brings |= known_[k] && there;
      lacks |= !known_[k] && !there;
      all &= known_[k];
    }
    return brings && (lacks || all);
  }

  bool is_later(std::int64_t moment) const {
    const StreamClock& clock = line_.clock;
    return !clock.is_off() && (!clock.has_started() || moment > clock.last());
  }

  void pass(std::size_t t, std::uint64_t missing, std::int64_t before) {
    line_.missing[t] = static_cast<std::size_t>(missing);
    for (std::uint64_t k = 1; k <= missing; ++k)
      line_.row_at.push_back(near(step_->after(before, static_cast<std::int64_t>(k))));
  }

  // The row ahead of its time that is for this moment.
  std::size_t near(std::int64_t moment) const {
    const auto later = ahead_.lower_bound(moment);
    const auto is_near = [&](auto row) {
      return std::abs(step_->between(row->first, moment)) < 0.5;
    };
    if (later != ahead_.end() && is_near(later)) return later->second;
    if (later != ahead_.begin() && is_near(std::prev(later))) return std::prev(later)->second;
    return Timeline::none;
  }

  // Rows ahead at the end tell of places behind the last row.
  void place_those_ahead() {
    if (!step_) return;
    const std::size_t end = line_.row_at.size();
    for (const auto& [moment, row] : ahead_) {
      const double steps = std::round(step_->between(line_.clock.last(), moment));
      if (!(steps >= 1 && steps <= static_cast<double>(StreamClock::longest_gap))) continue;
      const std::size_t place = end + static_cast<std::size_t>(steps) - 1;
      line_.row_at.resize(std::max(line_.row_at.size(), place + 1), Timeline::none);
      line_.row_at[place] = row;
    }
  }

  const Dataset& data_;
  const std::vector<bool>& known_;
  std::vector<std::optional<std::int64_t>> ticks_;
  Timeline line_;
  std::size_t last_target_ = 0;  // row
  std::optional<TimeStep> step_;
  std::optional<std::vector<double>> told_;
  std::map<std::int64_t, std::size_t> ahead_;  // rows, by the moment they are for
};

}  // namespace

std::optional<TimeStep> Timeline::step_at(std::size_t t) const {
  std::optional<TimeStep> step;
  for (const Found& f : found)
    if (f.row <= t) step = f.step;
  return step;
}

std::size_t Timeline::count(Row which) const {
  return static_cast<std::size_t>(std::ranges::count(kind, which));
}

std::size_t Timeline::passed() const {
  return std::accumulate(missing.begin(), missing.end(), std::size_t{0});
}

std::vector<std::optional<std::int64_t>> ticks_of(const Dataset& data) {
  std::vector<std::optional<std::int64_t>> ticks(data.times.size());
  for (std::size_t t = 0; t < ticks.size(); ++t)
    if (t < data.ticks.size() && data.ticks[t] != Dataset::no_moment) ticks[t] = data.ticks[t];
  return ticks;
}

Timeline timeline_of(const Dataset& data, const std::vector<bool>& known_ahead) {
  return Following(data, known_ahead).run();
}

void fill_elapsed(Dataset& data) {
  if (!has_elapsed(data.schema)) return;
  const auto ticks = ticks_of(data);
  const std::size_t n_x = data.n_inputs();
  StreamClock clock;
  for (std::size_t t = 0; t < data.rows(); ++t) {
    data.inputs[(t + 1) * n_x - 1] = clock.elapsed(ticks[t]);
    if (!all_finite(data.x(t))) continue;
    if (ticks[t])
      clock.take(*ticks[t], data.schema.time_form != TimeForm::number);
    else
      clock.take_undated();
  }
}

void add_elapsed(Dataset& data) {
  const std::size_t n_x = data.n_inputs();
  const std::size_t rows = data.rows();
  std::vector<double> wider;
  wider.reserve(rows * (n_x + 1));
  for (std::size_t t = 0; t < rows; ++t) {
    const auto x = data.x(t);
    wider.insert(wider.end(), x.begin(), x.end());
    wider.push_back(0);
  }
  data.inputs = std::move(wider);
  add_elapsed(data.schema);
  data.input_names = data.schema.input_names();
  fill_elapsed(data);
}

}  // namespace kalstream
