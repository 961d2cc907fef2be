// A record by its roles: what a model takes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kalstream/schema.h"
#include "schema/record.h"
#include "schema/timestamp.h"

namespace kalstream {

struct Sample {
  enum class Kind : std::uint8_t {
    inputs,   ///< inputs, perhaps with the target
    label,    ///< the target of an earlier sample, by its id
    verdict,  ///< what somebody says of the last alarm
  };

  Kind kind = Kind::inputs;
  std::string id;            ///< empty: none
  bool id_is_text = false;   ///< in JSON: was written with quotes
  std::string key;           ///< empty: none
  std::string time;          ///< as written; empty: none
  bool time_is_text = true;  ///< as id_is_text
  std::int64_t moment = 0;   ///< nanoseconds since 1970 …
  bool has_moment = false;   ///< … if the time tells
  /// The same for a clock to follow: also of times that count something else, but not of those that
  /// tell the time of day alone.
  std::optional<std::int64_t> tick;
  std::vector<double> x;       ///< finite, or NaN: missing
  std::size_t missing = 0;     ///< of x
  std::vector<double> d;       ///< as x, but all of it; empty: the target is missing
  bool is_real_alarm = false;  ///< of a verdict
  std::string label;  ///< of a target that is a class, its name; d then only says that it is there
};

/// What a record says of the last alarm: {"alarm":"real"} is true, {"alarm":"false"} is false, and
/// nothing if it is another record. Beside that it has so many fields that name keys.
std::optional<bool> verdict_in(const Record& record, std::size_t keys);

/// Reads records by a schema, which categories add their values to.
class SampleReader {
 public:
  explicit SampleReader(Schema schema);

  /// False, with the reason in problem(), for a record that cannot be used: text where a number
  /// should be, a number too large, no key. Missing inputs are not a problem here.
  bool read(const Record& record, Sample& sample);
  const std::string& problem() const { return problem_; }

  /// Records may be verdicts from now on: {"alarm":"real"} or {"alarm":"false"}, with the key where
  /// there are keys. Not if the stream has a field of that name.
  void expect_verdicts();

  const Schema& schema() const { return schema_; }
  // What the schema says, without a search.
  std::size_t inputs() const { return n_inputs_; }
  std::size_t outputs() const { return n_outputs_; }
  bool has_classes() const { return has_classes_; }
  bool has_time() const { return !times_.empty(); }

  /// Whether what it reads depends on what it has read before: then it has to be in order.
  bool has_categories() const;

  /// Fields among the inputs that have no number in the last record, by name, quoted.
  std::string missing_inputs(const Sample& sample) const;

 private:
  struct Part {
    std::size_t field = 0;  // of the schema
    std::size_t at = 0;     // where it was in the last record
  };

  bool take(const Record& record, std::vector<Part>& parts, std::vector<double>& values);
  static void add_category(Schema::Field& field, const Value* value, std::vector<double>& values);
  bool is_verdict(const Record& record, Sample& sample) const;
  bool take_names(const Record& record, Sample& sample);
  void take_time(const Record& record, Sample& sample);

  Schema schema_;
  std::size_t n_inputs_;
  std::size_t n_outputs_;
  bool has_classes_;
  bool has_verdicts_ = false;
  std::vector<Part> inputs_;
  std::vector<Part> targets_;
  std::vector<Part> id_, key_, times_;  // one at most; of times also a time of day beside its date
  std::vector<double> target_;
  std::string label_;
  std::size_t present_ = 0;  // of the fields taken last
  std::string problem_;
};

}  // namespace kalstream
