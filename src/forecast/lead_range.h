// What range forecasts of each lead are held in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kalstream {

class Archive;

/// How far targets of one output have been beyond the range of all targets known so many steps
/// before. A trend leaves the range of its past; other series hardly do.
class LeadRange {
 public:
  explicit LeadRange(std::size_t horizon);

  /// The next target, with the range of those before it.
  void learn(double d, double low, double high);

  /// The furthest below (above) for this lead, from 1 on; in proportion where so few samples are
  /// known that no target was so many steps later.
  double below(std::size_t lead) const { return beyond(below_, lead); }
  double above(std::size_t lead) const { return beyond(above_, lead); }

  void reset();
  void exchange(Archive& archive);

 private:
  struct Bounds {
    double low = 0;
    double high = 0;
  };

  double beyond(const std::vector<double>& of_lead, std::size_t lead) const;

  std::uint64_t samples_ = 0;
  std::vector<Bounds> before_;  // the range before each of the last samples
  std::vector<double> below_;   // of each lead
  std::vector<double> above_;
};

}  // namespace kalstream
