// The numbers of `auto`, but for the list of its experts and what they are.
//
// `make ablation` measures what half and double of each cost.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/ablation.h"

namespace kalstream::constants {

// ---- Values that are unusual (belief.h), in deviations of what came before.

/// What lies farther off counts as lying there, where a few values could spoil much.
KALSTREAM_CONSTANT(double, usual_reach, 4);
/// Such a target, or an input as far off as moments reach, may well be real; from now on two
/// ensembles learn, until it is known which is right.
KALSTREAM_CONSTANT(double, far_target, 6);
/// A target so far off is not believed at first. It counts in the moments, held within their reach,
/// so that the scale widens where such targets are common.
KALSTREAM_CONSTANT(double, wild_target, 20);
/// One as far off as this is an error, however often it comes.
KALSTREAM_CONSTANT(double, absurd_target, 100);
/// An input beyond is as good as none.
KALSTREAM_CONSTANT(double, wild_input, 1000);
/// Wild samples in a row that are believed: the third; where all are too large, or all too small,
/// the second.
KALSTREAM_CONSTANT(std::size_t, patience, 3);
KALSTREAM_CONSTANT(std::size_t, patience_on_one_side, 2);
/// Of the range of the targets so far: predictions may be so much beyond it.
KALSTREAM_CONSTANT(double, range_margin, 0.1);

// ---- Numbers of samples

/// Too few to judge a sample by; and what is kept after a change.
KALSTREAM_CONSTANT(std::uint32_t, few_samples, 16);
/// Enough to choose between two ensembles, and inputs of many.
KALSTREAM_CONSTANT(std::uint64_t, enough_samples, 256);
/// A contest of two ensembles is over after so many samples, or twice as many as there were before.
KALSTREAM_CONSTANT(std::uint64_t, longest_contest, 4096);
/// By so much the ensemble from before must be the better one to be kept.
KALSTREAM_CONSTANT(double, contest_margin, 1.1);
/// The scale is taken anew at every power of two between these.
KALSTREAM_CONSTANT(std::uint64_t, first_scale, 4);
KALSTREAM_CONSTANT(std::uint64_t, last_scale, 64);
/// Later, when a deviation has changed by this factor, or a mean by one deviation.
KALSTREAM_CONSTANT(double, scale_change, 2);
/// Samples that experts learn again, and of these, those whose past is known.
KALSTREAM_CONSTANT(std::size_t, memory, 1000);
KALSTREAM_CONSTANT(std::size_t, memory_with_past, 128);
/// That an expert which begins again learns in one step.
KALSTREAM_CONSTANT(std::size_t, samples_of_a_step, 8);

// ---- Changes of the error (alarm.h, roster.h)

/// Weight of the newest in the running error now, and in the usual one.
KALSTREAM_CONSTANT(double, present_pace, 1.0 / 16);
KALSTREAM_CONSTANT(double, usual_pace, 1.0 / 500);
/// The stream has changed when the squared error now is so many times the usual one.
KALSTREAM_CONSTANT(double, alarm, 4);
/// Samples before the next such alarm.
KALSTREAM_CONSTANT(std::uint64_t, alarm_pause, 200);
/// All are woken when the squared error lately is so many times the usual one when one fell asleep;
/// the weight of the newest in it: a shorter mean would wake them by chance.
KALSTREAM_CONSTANT(double, error_growth, 1.5);
KALSTREAM_CONSTANT(double, waking_pace, 1.0 / 50);
/// An expert that moves the prediction by less, squared, in squared errors, does not pay.
KALSTREAM_CONSTANT(double, least_moved, 3e-4);
/// Samples that an expert is awake before it is judged; it then sleeps twice as long.
KALSTREAM_CONSTANT(std::uint64_t, trial, 1000);
/// Samples between two that fall asleep.
KALSTREAM_CONSTANT(std::uint64_t, roster_pause, 50);

// ---- The blend (blend.h)

/// Of its exponential weights, per squared error: exp-concave with 1/2.
KALSTREAM_CONSTANT(double, blend_rate, 0.5);
/// Errors in a row that count as one, for they are correlated; half as many in the average.
KALSTREAM_CONSTANT(double, blend_apart, 4);
/// Part of the weight that is dealt out evenly after each step, and weight of the newest error.
KALSTREAM_CONSTANT(double, blend_share, 0.01);
/// Forgetting of the ridges, and the variances of their weights beforehand.
KALSTREAM_CONSTANT(double, ridge_forgetting, 0.999);
KALSTREAM_CONSTANT(double, strong_prior, 0.01);
KALSTREAM_CONSTANT(double, weak_prior, 1);
/// Weight of the panel of exponential smoothings when the blend begins: it needs tens of samples
/// where others need hundreds.
KALSTREAM_CONSTANT(double, weight_of_smoothing_panel, 0.9);
/// Weight of all single experts together in the final step.
KALSTREAM_CONSTANT(double, prior_of_experts, 0.01);

// ---- Networks among the experts

/// Weights at most: what a covariance costs grows with their square. Of many inputs, more.
KALSTREAM_CONSTANT(std::size_t, most_weights, 192);
KALSTREAM_CONSTANT(std::size_t, many_inputs, 24);
KALSTREAM_CONSTANT(std::size_t, most_weights_of_many, 256);
/// Past targets that one model sees, where there are several to a sample: what linear models of all
/// cost grows with their square. The series experts of each target see more of its own past.
KALSTREAM_CONSTANT(std::size_t, most_past_targets, 28);
/// Deviation of the first weights, and what they may change by in a step, squared.
KALSTREAM_CONSTANT(double, first_weights, 0.1);
KALSTREAM_CONSTANT(double, network_forgetting, 1e-5);

// ---- Inputs that are missing (auto/expected_inputs.h), or tell of events (announced.h)

/// What a regression on other inputs, or on the last value, knows beforehand, in samples: that
/// there is no relation. The last value tells much in a series and nothing in a table.
KALSTREAM_CONSTANT(double, doubt_of_others, 10);
KALSTREAM_CONSTANT(double, doubt_of_last, 100);
/// Of the mean's squared error: a regression that does not get below is not used.
KALSTREAM_CONSTANT(double, error_to_beat, 0.85);

// ---- Classes

/// Samples that experts learn again.
KALSTREAM_CONSTANT(std::size_t, class_memory, 2000);
/// Classes before that are seen.
KALSTREAM_CONSTANT(std::size_t, classes_before, 4);
/// Of all classes together, that every expert gives to them.
KALSTREAM_CONSTANT(double, least_probability, 1e-4);
/// Part of the weight that the mixture of the experts deals out anew at least.
KALSTREAM_CONSTANT(double, tracking_share, 1e-3);
/// Weights of the experts' opinions: their deviation beforehand, and what they may change by in a
/// step, squared.
KALSTREAM_CONSTANT(double, stack_deviation, 0.4);
KALSTREAM_CONSTANT(double, stack_forgetting, 1e-5);
/// The same of the calibration.
KALSTREAM_CONSTANT(double, calibration_deviation, 0.6);
KALSTREAM_CONSTANT(double, calibration_forgetting, 1e-6);
/// The cost of a network under a Kalman filter grows with the square of the number of classes: of
/// more there are none, and of many no linear ones either.
KALSTREAM_CONSTANT(std::size_t, few_classes, 12);
KALSTREAM_CONSTANT(std::size_t, many_classes, 32);
/// Where classes are not few, a class that is as good as impossible tells next to nothing of the
/// weights, and costs as much as any other: it is left out where it tells less, in squared length.
KALSTREAM_CONSTANT(double, least_information, 0.005);

}  // namespace kalstream::constants
