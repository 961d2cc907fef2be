// A part of Strangeness: the range in which a number usually is.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include "alarms/constants.h"
#include "core/archive.h"

namespace kalstream {

/// Extremes of about the last `history` values, kept for 16 blocks of them, so that memory is
/// bounded. What lies outside is not learnt at once:
///
/// - Values outside wait. When the number has been inside again for a while, they widen the range
///   by a part of its width at most, which is doubled with every event lately that was held so.
/// - When it has been outside for long (`lasting`), the new values are the usual ones.
///
/// A number that often sets records, as a random walk does, sets ordinary ones: news() subtracts
/// the margin that its records had before, which a single huge one can raise by little.
class UsualRange {
 public:
  /// How far x is outside, in widths of the range, at most 3. Where all values were equal, any
  /// other one is that far outside.
  double margin(double x) const {
    const double outside = std::max({0.0, x - high_, low_ - x});
    if (outside == 0) return 0;
    const double width = high_ - low_;
    return width > 0 ? std::min(outside / width, largest_margin) : largest_margin;
  }

  /// The margin beyond that of earlier records.
  double news(double x, const StrangenessConstants& c) const {
    return std::max(0.0, margin(x) - c.proneness * expected_margin_);
  }

  void learn(double x, const StrangenessConstants& c) {
    if (rows_ == 0) begin(x);
    const double keep = 1 - 1 / c.prone_memory;
    expected_margin_ *= keep;
    events_ *= keep;
    const double m = margin(x);
    if (m > 0 && rows_ >= c.first_rows)
      wait(x, m, c);
    else
      be_inside(x, c);
    ++rows_;
    if (++rows_of_block_ >= c.history / blocks) next_block();
  }

  void exchange(Archive& archive) {
    const auto bound = [](double v) { return !std::isnan(v); };
    const auto count = [](double v) { return v >= 0 && v <= 0x1p53; };
    archive.run(lows_, bound);
    archive.run(highs_, bound);
    for (double* v : {&low_, &high_}) archive.number(*v, Archive::finite);
    for (double* v : {&waiting_low_, &waiting_high_}) archive.number(*v, bound);
    for (double* v :
         {&expected_margin_, &worst_, &events_, &rows_, &outside_, &inside_, &rows_of_block_})
      archive.number(*v, count);
    archive.count(block_, blocks - 1);
  }

 private:
  static constexpr std::size_t blocks = 16;
  static constexpr double largest_margin = 3;
  static constexpr double largest_events = 16;  // each doubles what an event may widen
  static constexpr double none = std::numeric_limits<double>::infinity();

  void begin(double x) {
    low_ = high_ = x;
    lows_.fill(none);
    highs_.fill(-none);
  }

  void wait(double x, double m, const StrangenessConstants& c) {
    worst_ = std::max(worst_, m);
    waiting_low_ = std::min(waiting_low_, x);
    waiting_high_ = std::max(waiting_high_, x);
    inside_ = 0;
    const double long_enough =
        std::clamp(rows_ / c.young_part, c.long_window, std::max(c.lasting, c.long_window));
    if (++outside_ < long_enough) return;
    outside_ = 0;
    take_in(true, c);
  }

  void be_inside(double x, const StrangenessConstants& c) {
    put(x, x);
    if (worst_ > 0 && ++inside_ >= c.long_window) take_in(false, c);
    outside_ = std::max(0.0, outside_ - c.leak);
  }

  // The values that waited widen the range.
  void take_in(bool lasted, const StrangenessConstants& c) {
    expected_margin_ =
        std::max(expected_margin_, std::min(worst_, 2 * expected_margin_ + c.prone_step));
    const double most = c.growth * (high_ - low_) * std::exp2(std::min(events_, largest_events));
    const bool is_held =
        !lasted && most > 0 && (waiting_low_ < low_ - most || waiting_high_ > high_ + most);
    if (is_held) {
      put(std::max(waiting_low_, low_ - most), std::min(waiting_high_, high_ + most));
      events_ += 1;
    } else {
      put(waiting_low_, waiting_high_);
    }
    inside_ = worst_ = 0;
    waiting_low_ = none;
    waiting_high_ = -none;
  }

  void put(double low, double high) {
    lows_[block_] = std::min(lows_[block_], low);
    highs_[block_] = std::max(highs_[block_], high);
    low_ = std::min(low_, low);
    high_ = std::max(high_, high);
  }

  // The oldest block is forgotten.
  void next_block() {
    rows_of_block_ = 0;
    block_ = (block_ + 1) % blocks;
    lows_[block_] = none;
    highs_[block_] = -none;
    const double low = *std::ranges::min_element(lows_);
    const double high = *std::ranges::max_element(highs_);
    if (low > high) return;
    low_ = low;
    high_ = high;
  }

  std::array<double, blocks> lows_{};
  std::array<double, blocks> highs_{};
  double low_ = 0;
  double high_ = 0;
  double waiting_low_ = none;  // of values outside that are not learnt yet
  double waiting_high_ = -none;
  double worst_ = 0;            // margin of those
  double expected_margin_ = 0;  // of records
  double events_ = 0;           // lately
  double rows_ = 0;
  double outside_ = 0;  // rows, less those inside between them
  double inside_ = 0;   // rows since one outside
  double rows_of_block_ = 0;
  std::size_t block_ = 0;
};

}  // namespace kalstream
