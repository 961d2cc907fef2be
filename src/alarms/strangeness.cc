#include "kalstream/strangeness.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "alarms/strange_output.h"
#include "core/finite.h"

namespace kalstream {
namespace {

constexpr double slow = 1.0 / 1024;  // pace of what is usual

}  // namespace

const char* to_string(AlarmKind kind) {
  constexpr std::array names{"spike",  "level",   "drift", "stuck",
                             "spread", "silence", "above", "below"};
  return names[static_cast<std::size_t>(kind)];
}

// ---- One output.

Strangeness::Look StrangeOutput::take(double d_hat, double surprise, double d) {
  Strangeness::Look look;
  if (!add(d_hat, surprise, d)) return look;
  const Row x = statistics_now();
  look.error = error_usual_ > 0 ? errors_.at(0) / error_usual_ : 0;
  if (rows_ >= c_->first_rows) measure(x, look);
  measure_run(d, look);
  look.is_outside = range_[value].margin(d) > 0;
  look.usual = usual_value_;
  if (look.size > 0) look.jump = largest_jump();
  tell(look);
  for (std::size_t k = 0; k < statistics; ++k) range_[k].learn(x[k], *c_);
  ++rows_;
  usual_value_ += (d - usual_value_) * std::max(1 / rows_, slow);
  return look;
}

// False, and nothing has changed, for a value that cannot be used. Where there was no prediction
// the row has no error.
bool StrangeOutput::add(double d_hat, double surprise, double d) {
  constexpr double most_relative = 1e6;
  if (!(std::abs(d) <= largest_magnitude)) return false;
  const bool is_predicted = std::abs(d_hat) <= largest_magnitude;
  const double e = is_predicted ? d - d_hat : 0;
  const double scale = std::max(error_now_, error_usual_ / 10);
  values_.add(d);
  errors_.add(e);
  relative_errors_.add(scale > 0 ? std::clamp(e / scale, -most_relative, most_relative) : 0);
  rareness_.add(surprise >= 0 ? -std::log10(std::clamp(surprise, 1e-300, 1.0)) : 0);
  if (is_predicted) learn_error(e);
  return true;
}

void StrangeOutput::learn_error(double e) {
  constexpr double fast = 1.0 / 16;
  constexpr double most = 16;  // times the usual: one huge error does not hide the next
  const double size = std::abs(e);
  const double young = 1 / ++errors_seen_;
  const double held = error_usual_ > 0 ? std::min(size, most * error_usual_) : size;
  error_usual_ += (held - error_usual_) * std::max(young, slow);
  error_now_ += (size - error_now_) * std::max(young, fast);
}

StrangeOutput::Row StrangeOutput::statistics_now() const {
  const auto few = static_cast<std::size_t>(c_->short_window);
  const auto many = static_cast<std::size_t>(c_->long_window);
  return {values_.at(0), values_.mean(many), errors_.mean(few), errors_.mean_size(many),
          relative_errors_.mean(few)};
}

// One in w rows is as rare as 1/w.
double StrangeOutput::gate_of(std::size_t statistic) const {
  double rows = c_->short_window;
  if (statistic == value) rows = 1;
  if (statistic == level || statistic == error_size) rows = c_->long_window;
  const double rareness = rareness_.largest(static_cast<std::size_t>(rows)) - std::log10(rows);
  return std::clamp(rareness / c_->gate, 0.0, 1.0);
}

void StrangeOutput::measure(const Row& x, Strangeness::Look& look) const {
  constexpr std::array kinds{AlarmKind::spike, AlarmKind::level, AlarmKind::level,
                             AlarmKind::spread, AlarmKind::spike};
  double best = 0;
  for (std::size_t k = 0; k < statistics; ++k) {
    const double news = range_[k].news(x[k], *c_);
    if (!(news > best)) continue;
    const double m = news * gate_of(k);
    if (!(m > best)) continue;
    best = m;
    look.kind = kinds[k];
  }
  if (best > 0)
    look.size = (1 + c_->size * best) * std::log10(std::min(rows_, c_->history)) / c_->threshold;
}

void StrangeOutput::measure_run(double d, Strangeness::Look& look) {
  constexpr double enough_changes = 10;
  constexpr double most_growth = 4;  // of the longest run by one of them
  const bool is_equal = rows_ > 0 && d == values_.at(1);
  if (is_equal) {
    ++run_;
  } else {
    if (rows_ > 0) {
      longest_run_ = std::max(longest_run_, std::min(run_, most_growth * longest_run_));
      ++changes_;
    }
    run_ = 1;
  }
  longest_run_ = std::max(2.0, longest_run_ * (1 - 1 / c_->stuck_memory));
  if (changes_ < enough_changes || rows_ < c_->first_rows) return;
  const double size = run_ / std::max(c_->stuck_rows, c_->stuck_times * longest_run_);
  if (size < 1 || size <= look.size) return;
  look.size = size;
  look.kind = AlarmKind::stuck;
}

// Once for each event, and again when it has become much stranger.
void StrangeOutput::tell(Strangeness::Look& look) {
  if (look.size > 0 && look.size >= 0.5 * std::min(1.0, told_))
    calm_ = 0;
  else
    ++calm_;
  if (calm_ > (is_strange_ ? c_->calm : c_->quiet)) {
    told_ = 0;
    is_strange_ = false;
  }
  if (!(look.size > 0) || look.size < (is_strange_ ? c_->again : c_->renew) * told_) return;
  look.strangeness = told_ = look.size;
  is_strange_ |= look.size >= 1;
}

// The largest change from five rows to the next five, or between the last few values.
double StrangeOutput::largest_jump() const {
  constexpr std::size_t few = 5;
  const std::size_t rows = std::min(static_cast<std::size_t>(c_->long_window), values_.count());
  double largest = 0;
  for (std::size_t age = 0; age < few && age + 1 < rows; ++age)
    largest = std::max(largest, std::abs(values_.at(age) - values_.at(age + 1)));
  for (std::size_t age = 0; age + 2 * few <= rows; ++age)
    largest = std::max(largest, std::abs(values_.mean(few, age) - values_.mean(few, age + few)));
  return largest;
}

void StrangeOutput::exchange(Archive& archive) {
  const auto count = [](double v) { return v >= 0 && v <= 0x1p53; };
  for (UsualRange& range : range_) range.exchange(archive);
  for (RecentRows* rows : {&values_, &errors_, &relative_errors_, &rareness_})
    rows->exchange(archive);
  for (double* v : {&rows_, &errors_seen_, &run_, &longest_run_, &changes_, &calm_})
    archive.number(*v, count);
  for (double* v : {&error_now_, &error_usual_, &told_}) archive.number(*v, Archive::not_negative);
  archive.number(usual_value_, Archive::usable);
  archive.flag(is_strange_);
}

// ---- All outputs.

class Strangeness::Output : public StrangeOutput {};

Strangeness::Strangeness(std::size_t outputs) : of_(outputs), looks_(outputs), told_(outputs) {}
Strangeness::Strangeness(const Strangeness& other) = default;
Strangeness& Strangeness::operator=(const Strangeness& other) = default;
Strangeness::~Strangeness() = default;

std::span<const double> Strangeness::take(std::span<const double> d_hat,
                                          std::span<const double> surprise,
                                          std::span<const double> d) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  const auto entry = [](std::span<const double> v, std::size_t k) {
    return k < v.size() ? v[k] : none;
  };
  for (std::size_t k = 0; k < of_.size(); ++k) {
    looks_[k] = of_[k].take(entry(d_hat, k), entry(surprise, k), entry(d, k));
    told_[k] = looks_[k].strangeness;
  }
  return told_;
}

void Strangeness::reset() {
  std::ranges::fill(of_, Output());
  std::ranges::fill(looks_, Look());
  std::ranges::fill(told_, 0.0);
}

void Strangeness::exchange(Archive& archive) {
  for (Output& one : of_) one.exchange(archive);
}

}  // namespace kalstream
