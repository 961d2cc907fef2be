// The numbers by which strangeness is measured, in one place so that experiments can vary them.
#pragma once

#include <cstddef>

namespace kalstream {

/// Constants of a StrangeOutput. None is fitted closely: docs/anomalies.md has what comes of
/// halving and doubling each of them (experiments/anomalies.py --constants).
struct StrangenessConstants {
  double threshold = 6;        ///< size that counts as strangeness 1
  double size = 10;            ///< weight of the margin against the mere fact of a record
  double first_rows = 200;     ///< rows before anything is told
  double history = 10'000;     ///< rows that the usual range remembers
  double short_window = 10;    ///< rows of a short mean
  double long_window = 30;     ///< rows of a long mean; at most StrangeOutput::most_window
  double gate = 2;             ///< −log10 of a surprise that lets a margin count in full
  double proneness = 1;        ///< how much of the earlier margins of records is subtracted
  double prone_step = 0.04;    ///< one record raises the margin to be expected by no more than this
  double prone_memory = 4096;  ///< rows in which that is forgotten by a factor of e
  double growth = 0.5;         ///< part of its width by which one event widens the usual range
  double lasting = 1024;       ///< rows outside after which the new values are usual …
  double young_part = 8;       ///< … or this part of all rows, in a young stream
  double leak = 0.125;         ///< rows outside that are forgotten with every row inside
  double renew = 1.5;      ///< told again if so many times as strange, before there is an alarm …
  double again = 2;        ///< … and while one lasts
  double calm = 30;        ///< rows of calm that end an alarm
  double quiet = 100;      ///< rows in which what was told is not told again
  double stuck_rows = 40;  ///< equal values in a row that can be strange at all …
  double stuck_times = 4;  ///< … if so many times as many as ever lately
  double stuck_memory = 8192;  ///< rows in which the longest run is forgotten by a factor of e
};

}  // namespace kalstream
