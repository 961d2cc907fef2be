// What is found out before the work starts.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/source.h"
#include "eval/comparison.h"
#include "settings/stream_settings.h"

namespace kalstream::cli {

/// Throws DataError, saying what to do, for a learner that has nothing to predict from.
void check_inputs(const Dataset& data, const std::vector<Contender>& contenders);

/// A tanh output cannot reach beyond ±1: throws DataError, naming the line, for such a target.
void check_target_range(const Dataset& data, const std::vector<Contender>& contenders,
                        std::size_t steps);

/// Throws std::invalid_argument, naming the option, if none of the learners is auto or auto-max.
void check_is_for_auto(const std::string& option, const std::vector<Contender>& contenders);

/// Throws std::invalid_argument, naming the option, if none of the learners mixes experts.
void check_is_for_mixtures(const std::string& option, const std::vector<Contender>& contenders);

/// Throws DataError if nothing tells a correct prediction from a wrong one: a target of many
/// values, all of one sign.
void check_can_be_sustained(const Dataset& data);

/// Throws DataError if the targets are all missing or all the same.
void check_something_to_predict(const Dataset& data, std::size_t steps, bool holds_inputs);

/// As many of the largest runs as there are at a time must fit into memory, each with a model for
/// every key. Throws std::invalid_argument, saying what to do.
void check_memory(const std::vector<Contender>& contenders, const Dataset& data, std::size_t seeds,
                  std::size_t jobs);

/// Goes on from the learner saved in file `start`. Throws std::invalid_argument if that is for
/// other data.
Contender started(const std::string& start, std::unique_ptr<Learner> learner, const Dataset& data);

/// The elapsed time becomes an input where the data are irregular, nothing was learnt before and
/// the user has not said otherwise. What people should know of that; empty: nothing.
std::string settle_elapsed(const TimeChoice& choice, bool has_start, Dataset& data);

/// How the file of a stream with these settings is read.
ReadOptions read_options(const StreamSettings& settings, const std::vector<std::string>& columns,
                         const Schema& like = {});

}  // namespace kalstream::cli
