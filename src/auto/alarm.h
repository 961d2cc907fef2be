// When a stream has changed, in the eyes of `auto`.
#pragma once

#include <cstdint>

namespace kalstream {

class Archive;

/// Compares the squared error of the last 16 samples or so with the usual one, of some 500.
class Alarm {
 public:
  /// Whether errors are suddenly far above the usual, with this sample's squared error: what the
  /// stream was like before is of no more use.
  bool rings(double squared_error);

  void reset() { *this = {}; }
  void exchange(Archive& archive, std::uint64_t samples);

 private:
  std::uint64_t since_ = 0;  // samples since it rang
  double usual_ = 0;
  double present_ = 0;
};

}  // namespace kalstream
