#include "forecast/lead_range.h"

#include <algorithm>

#include "core/archive.h"

namespace kalstream {
namespace {

constexpr std::uint64_t first_range = 12;  // samples that make a range

}  // namespace

LeadRange::LeadRange(std::size_t horizon) : before_(horizon), below_(horizon), above_(horizon) {}

// The range before the sample s is at s modulo the horizon: what a forecast made then knew, of
// which s was lead 1.
void LeadRange::learn(double d, double low, double high) {
  before_[samples_ % before_.size()] = {low, high};
  for (std::size_t lead = 1; lead <= before_.size() && samples_ + 1 >= first_range + lead; ++lead) {
    const Bounds& known = before_[(samples_ + 1 - lead) % before_.size()];
    below_[lead - 1] = std::max(below_[lead - 1], known.low - d);
    above_[lead - 1] = std::max(above_[lead - 1], d - known.high);
  }
  ++samples_;
}

double LeadRange::beyond(const std::vector<double>& of_lead, std::size_t lead) const {
  if (samples_ < first_range + 1) return 0;
  const std::size_t seen = std::min<std::uint64_t>(samples_ - first_range, of_lead.size());
  if (lead <= seen) return of_lead[lead - 1];
  return of_lead[seen - 1] * static_cast<double>(lead) / static_cast<double>(seen);
}

void LeadRange::reset() {
  samples_ = 0;
  std::ranges::fill(below_, 0.0);
  std::ranges::fill(above_, 0.0);
}

void LeadRange::exchange(Archive& archive) {
  archive.count(samples_);
  archive.numbers(below_, Archive::not_negative);
  archive.numbers(above_, Archive::not_negative);
  for (Bounds& b : before_) {
    archive.number(b.low, Archive::usable);
    archive.number(b.high, Archive::usable);
  }
}

}  // namespace kalstream
