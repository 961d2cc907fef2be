// Boosted trees that follow a stream.
#pragma once

#include <cstddef>

#include "kalstream/rules/rule.h"

namespace kalstream {

/// A sum of small regression trees, fitted to the samples in memory by gradient boosting
/// (docs/trees.md). Every few samples the oldest tree is taken out and a new one fitted to what the
/// others leave.
struct Trees {
  std::size_t trees = 100;
  std::size_t leaves = 8;     ///< of each tree, at most
  std::size_t memory = 2000;  ///< samples that trees are fitted to
  std::size_t every = 6;      ///< samples between two trees, once the memory is full
  double rate = 0.3;          ///< part of what is left that a new tree takes
  void validate() const;
  static const RuleInfo<Trees>& info();
};

}  // namespace kalstream
