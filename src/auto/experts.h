// What the experts of `auto` are, and what each of them sees.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kalstream/learner.h"

namespace kalstream {

/// What all experts see of a moment (Scale::see makes it), each of them a stretch of it:
///
///     inputs ; of many, the chosen ones, and what a linear model of all of them says ;
///     past targets, the newest first               standardised
///     the last target ; the mean of all targets    in the targets' own units
struct Sight {
  std::size_t inputs;
  std::size_t lags;
  std::size_t outputs;
  std::size_t chosen = 0;  ///< inputs that networks see; 0: all of them

  bool is_wide() const { return chosen > 0; }
  std::size_t chosen_inputs() const { return inputs; }
  std::size_t linear() const { return inputs + chosen; }
  std::size_t past_targets() const { return linear() + (is_wide() ? outputs : 0); }
  /// How many numbers a network sees of the inputs. One that learns samples again does not see what
  /// the linear model says of them: that has learnt them, too, and knows them better than others.
  std::size_t of_inputs(bool replays) const {
    return !is_wide() ? inputs : replays ? chosen : chosen + outputs;
  }
  std::size_t last_target() const { return past_targets() + lags * outputs; }
  std::size_t mean() const { return last_target() + outputs; }
  std::size_t size() const { return mean() + outputs; }
};

Sight sight_of(const Auto& options, const NetworkOptions& network);

/// What one expert is and sees.
struct ExpertPlan {
  std::string name;
  NetworkOptions network;  ///< inputs: the length of the stretch it sees
  Rule rule;
  bool sees_inputs = true;
  bool sees_chosen = false;  ///< of the inputs, those that are chosen
  std::size_t lags = 0;      ///< past targets it sees
  bool standardised = true;  ///< false: it sees and predicts targets in their own units
  std::size_t first = 0;     ///< where in Sight the stretch begins
  std::size_t replays = 0;   ///< past samples learnt again after each new one, without memory
  bool may_sleep = false;    ///< when it does not pay (Roster)

  /// Without one it says what it sees. That is how the last value and the mean are experts: both
  /// are known already, the last value as a guess where targets are missing or still to come.
  bool has_network() const {
    return !std::holds_alternative<Naive>(rule) && !std::holds_alternative<Mean>(rule);
  }
  /// A kernel or trees: its learner is a PortionedLearner.
  bool is_portioned() const {
    return std::holds_alternative<Kernel>(rule) || std::holds_alternative<Trees>(rule);
  }
  bool is_linear() const { return has_network() && network.hidden == 0 && !is_portioned(); }
  /// Has samples of the past before it, which are of no use any more once the stream has changed.
  bool knows_by_heart() const { return replays > 0 || is_portioned(); }
};

/// The experts for a stream of this kind, in the order of the blend's weights: the most useful
/// networks first, of which Auto::experts may take fewer, then all that always take part. This list
/// is the only one: names, number, memory needed and all else follow from it.
std::vector<ExpertPlan> plan_experts(const Auto& options, const NetworkOptions& network);

/// nullptr if it has no network.
std::unique_ptr<Learner> make_expert(const ExpertPlan& plan);

/// Of a sample, in any unit.
double cost_of(const ExpertPlan& plan);

/// The measurement noise of its filter, which a squared spread is relative to.
double noise_of(const ExpertPlan& plan);

}  // namespace kalstream
