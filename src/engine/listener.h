// The events of a stream.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "kalstream/interval.h"
#include "kalstream/report.h"

namespace kalstream {

class Engine;
class StoreError;
struct Answer;
struct StreamStatus;

/// Receives the events of a stream. The events of a record come in one fixed order, whether records
/// are taken one by one or in batches: scored() and stepped() for samples that are settled before
/// the record is answered, took() for the record itself, remarked(), answered(), then scored() and
/// stepped() for what the record has taught (before the answer where that has a forecast). `sample`
/// is the number of a sample in its model, counted from 1, as in Answer::sample.
class StreamListener {
 public:
  virtual ~StreamListener() = default;

  /// The fields of the stream are known.
  virtual void began(const Engine& /*engine*/) {}
  /// A model is given a sample with these inputs.
  virtual void took(std::span<const double> /*x*/) {}
  /// The target of a sample is known: its prediction, the bounds around that (empty: none) and the
  /// target. Where targets are classes, the probability of the class that came, and 1. The first
  /// target of a model is not scored.
  virtual void scored(std::uint64_t /*sample*/, std::span<const double> /*d_hat*/,
                      std::span<const Interval> /*interval*/, std::span<const double> /*d*/) {}
  /// The learner has processed a sample, with or without its target. `report.weights` may be empty.
  virtual void stepped(std::uint64_t /*sample*/, const StepReport& /*report*/) {}
  /// A record is answered. `text` is the answer as a line with its end, in the format of the
  /// session; empty if the session writes none.
  virtual void answered(const Answer& /*answer*/, std::string_view /*text*/) {}
  /// A person should read this.
  virtual void remarked(const std::string& /*text*/) {}

  /// The store cannot give a model now, for the n-th time for this record. Returns whether to try
  /// again; may wait before.
  virtual bool store_failed(const StoreError& /*error*/, int /*times*/) { return false; }

  /// A warning was said. `kind` is its name in docs/monitoring.md.
  virtual void warned(const char* /*kind*/, const std::string& /*text*/) {}
  /// The status of the stream, about once a second.
  virtual void looked(const Engine& /*engine*/, const StreamStatus& /*status*/) {}
};

}  // namespace kalstream
