// Experts that count: how often each class was, which follows which, and naive Bayes.
#pragma once

#include <memory>
#include <vector>

#include "classes/class_expert.h"

namespace kalstream {

/// The frequencies of the classes; each sample counts `keep` times as much as the one after it.
std::unique_ptr<ClassExpert> make_frequencies(std::size_t classes, double keep);

/// Which class follows which.
std::unique_ptr<ClassExpert> make_succession(std::size_t classes, double keep);

/// Inputs independent of each other given the class: those of few values by their frequencies,
/// others by a normal distribution.
std::unique_ptr<ClassExpert> make_naive_bayes(std::size_t inputs, std::size_t classes, double keep);

}  // namespace kalstream
