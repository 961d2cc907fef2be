// What a session tells of the rows of a dataset, as a table.
#pragma once

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "eval/progressive.h"

namespace kalstream {

/// The rows of every key, in their order.
class RowsByKey {
 public:
  RowsByKey(const Dataset& data, std::size_t last) {
    of_row_.resize(last);
    if (data.keys.empty()) known_.emplace("", 0);
    for (std::size_t t = 0; t < last; ++t) {
      std::size_t key = 0;
      if (!data.keys.empty()) key = known_.emplace(data.keys[t], known_.size()).first->second;
      if (rows_.size() <= key) rows_.emplace_back();
      of_row_[t] = {key, rows_[key].size()};
      rows_[key].push_back(t);
    }
  }

  /// A key that has no rows comes after all others.
  std::size_t find(const std::string& key) const {
    const auto known = known_.find(key);
    return known == known_.end() ? rows_.size() : known->second;
  }

  std::size_t key_of(std::size_t t) const { return of_row_[t].first; }
  std::size_t keys() const { return rows_.size(); }
  const std::vector<std::size_t>& rows(std::size_t key) const { return rows_[key]; }
  std::size_t place_of(std::size_t t) const { return of_row_[t].second; }  ///< in rows()

 private:
  std::unordered_map<std::string, std::size_t> known_;
  std::vector<std::vector<std::size_t>> rows_;
  std::vector<std::pair<std::size_t, std::size_t>> of_row_;  // key, and place among its rows
};

/// Follows the weights of a mixture's experts: a point every so many rows.
class WeightRecorder {
 public:
  WeightRecorder(std::size_t rows, std::size_t points)
      : stride_(points == 0 ? 0 : std::max<std::size_t>(1, (rows + points - 1) / points)) {}

  /// After each row. A learner that is no mixture, or refused the row, has no weights to tell.
  void add(std::span<const double> weights, RunResult& run) {
    if (weights.empty()) return;
    run.weights.assign(weights.begin(), weights.end());
    if (stride_ == 0) return;
    sum_.resize(weights.size());
    for (std::size_t j = 0; j < sum_.size(); ++j) sum_[j] += weights[j];
    ++count_;
    if (run.steps < due_) return;
    due_ = (run.steps / stride_ + 1) * stride_;
    add_point(run);
  }

  /// What is left since the last point.
  void finish(RunResult& run) {
    if (count_ > 0) add_point(run);
  }

 private:
  void add_point(RunResult& run) {
    run.weight_path.rows.push_back(run.steps);
    for (double& s : sum_)
      run.weight_path.weights.push_back(std::exchange(s, 0.0) / static_cast<double>(count_));
    count_ = 0;
  }

  std::size_t stride_;  // rows; 0: nothing is kept on the way
  std::size_t due_ = stride_;
  std::vector<double> sum_;  // since the last point
  std::size_t count_ = 0;
};

/// Makes a table of what a session tells.
class RunTable final : public StreamListener {
 public:
  RunTable(const Dataset& data, const EvaluationOptions& options, const Schema& schema,
           std::size_t last);

  /// What follows is told of row t, or of labels that come before it.
  void look_at(const Engine& engine, std::size_t t, std::size_t key);
  void answered(const Answer& answer, std::string_view) override;
  void scored(std::uint64_t sample, std::span<const double> d_hat, std::span<const Interval>,
              std::span<const double> d) override;
  void stepped(std::uint64_t sample, const StepReport& report) override;
  void remarked(const std::string& text) override { run_.remarks.push_back(text); }

  /// All that row t has taught is learnt.
  void end(std::size_t t);
  bool is_sustained() const { return run_.sustained_at && options_.stop_when_sustained; }
  double mean_squared_error() const { return sum_sq_ / static_cast<double>(run_.scored); }
  std::size_t scored_rows() const { return run_.scored; }
  /// Places of rows that come behind those that were taken: for what was forecast of them.
  std::vector<Timeline>& timelines() { return run_.timelines; }
  /// Once all rows have been told of.
  RunResult finish(const RowsByKey& rows);

 private:
  struct Model {
    std::vector<std::size_t> row_of;  // of each sample
  };

  void take(const Answer& answer);
  void leave_out(RowKind kind, const Answer& answer);
  void take_target(std::size_t t, const Answer& answer);
  void keep_alarm(const AlarmNews& news);
  void add_probabilities(const Answer& answer);
  std::size_t place_of_class(const std::string& name);
  void end_row(std::size_t t);
  void keep_forecast(std::size_t t, Answer answer);
  void score_forecasts(const RowsByKey& rows);
  void shorten();

  const Dataset& data_;
  const EvaluationOptions& options_;
  const Engine* engine_ = nullptr;
  std::size_t n_d_;
  const std::vector<double> levels_;
  RunResult run_;
  WeightRecorder weights_;
  std::vector<Model> models_;
  Model* model_ = nullptr;  // of the row at work
  Timeline* line_ = nullptr;
  std::size_t row_ = 0;
  std::uint64_t passed_ = 0;
  double sum_sq_ = 0;
  std::size_t applied_ = 0;
  std::size_t updates_ = 0;
  std::size_t streak_ = 0;
  std::vector<double> farthest_;  // rows × outputs: forecasts of the last lead
};

}  // namespace kalstream
