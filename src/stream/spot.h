// Where the record is that is spoken of.
#pragma once

#include "ports/arrival.h"
#include "ports/ports.h"

namespace kalstream {

/// The last record of a source, or one of the last few.
class Spot final : public Origin {
 public:
  explicit Spot(const Source& source) : source_(source) {}
  /// nullptr: the last one.
  void look_at(const Arrival* arrival) { arrival_ = arrival; }

  const std::string& name() const override { return source_.name(); }
  std::uint64_t line() const override { return arrival_ ? arrival_->line : source_.line(); }
  std::chrono::steady_clock::time_point arrival() const override {
    return arrival_ ? arrival_->since : source_.arrival();
  }

 private:
  const Source& source_;
  const Arrival* arrival_ = nullptr;
};

}  // namespace kalstream
