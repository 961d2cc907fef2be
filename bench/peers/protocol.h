// What the C++ peers share: the line protocol of the driver, and the input of the update kernels.
//
// Request:  run CASE ROWS REPEATS
// Answer:   {"seconds": per row, the median of the repeats, "values": one per row, the first 50,
//            "updates": networks that learnt, per row, where the peer knows}
//
// Every repeat starts from the initial state and goes over the same first ROWS rows.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>
#include <string>
#include <vector>

namespace peers {

/// One case: a learner on a stream, or an update on a sequence of errors and derivatives.
class Task {
 public:
  virtual ~Task() = default;
  virtual void restart() = 0;
  /// Takes rows 0 … values.size() − 1 and writes one number for each, the same for every peer.
  virtual void run(std::span<double> values) = 0;
  /// How many networks learnt since the restart.
  virtual std::size_t updates() const { return 0; }

 protected:
  Task() = default;
  Task(const Task&) = default;
  Task& operator=(const Task&) = default;
};

using MakeTask = std::function<std::unique_ptr<Task>(const std::string& name)>;

inline nlohmann::json measure(Task& task, std::size_t rows, std::size_t repeats) {
  using Clock = std::chrono::steady_clock;
  constexpr std::size_t reported = 50;
  std::vector<double> values(rows);
  std::vector<double> seconds;
  for (std::size_t k = 0; k < repeats; ++k) {
    task.restart();
    const auto start = Clock::now();
    task.run(values);
    const std::chrono::duration<double> passed = Clock::now() - start;
    seconds.push_back(passed.count() / static_cast<double>(rows));
  }
  std::sort(seconds.begin(), seconds.end());
  values.resize(std::min(rows, reported));
  return {{"seconds", seconds[seconds.size() / 2]},
          {"values", values},
          {"updates", static_cast<double>(task.updates()) / static_cast<double>(rows)}};
}

/// Answers requests until standard input ends.
inline int serve(const MakeTask& make) {
  std::map<std::string, std::unique_ptr<Task>> tasks;
  std::string line;
  while (std::getline(std::cin, line)) {
    nlohmann::json answer;
    try {
      std::istringstream words(line);
      std::string verb, name;
      std::size_t rows = 0, repeats = 0;
      if (!(words >> verb >> name >> rows >> repeats) || verb != "run" || !rows || !repeats)
        throw std::invalid_argument("expected: run CASE ROWS REPEATS");
      auto& task = tasks[name];
      if (!task) task = make(name);
      answer = measure(*task, rows, repeats);
    } catch (const std::exception& error) {
      answer = {{"error", error.what()}};
    }
    std::cout << answer << std::endl;
  }
  return 0;
}

/// The two sizes everything is measured at.
struct Size {
  std::size_t inputs;  ///< without the constant
  std::size_t hidden;
  std::size_t node() const { return inputs + 1 + hidden; }
  std::size_t output_node() const { return hidden + 1; }
  std::size_t weights() const { return 4 * hidden * node() + output_node(); }
};

/// Of a case's name, such as "A/ekf".
inline Size size_of(const std::string& name) {
  if (name.starts_with("A/")) return {.inputs = 8, .hidden = 16};
  if (name.starts_with("B/")) return {.inputs = 32, .hidden = 12};
  throw std::invalid_argument("no such case: " + name);
}

inline std::string rule_of(const std::string& name) { return name.substr(2); }

/// What "ekf-update" and "block-update" work on: errors and derivatives that repeat after a while.
class UpdateInput {
 public:
  static constexpr std::size_t period = 32;
  static constexpr std::size_t instances = 8;  // of block-update, all with the same input
  static constexpr double initial_covariance = 10;
  static constexpr double process_noise = 1e-7;
  static constexpr double measurement_noise = 3;  // of ekf-update
  static constexpr double noise_floor = 0.5;      // of block-update
  static constexpr double noise_factor = 3;

  explicit UpdateInput(std::size_t n) : n_(n), e_(period), H_(period * n) {
    std::uint64_t state = 1;
    const auto uniform = [&] {  // in ±1
      state = state * 6364136223846793005U + 1442695040888963407U;
      return static_cast<double>(state >> 11) * 0x1p-52 - 1;
    };
    for (double& e : e_) e = 0.3 * uniform();
    for (double& h : H_) h = 0.2 * uniform();
  }

  double e(std::size_t row) const { return e_[row % period]; }
  std::span<const double> h(std::size_t row) const {
    return std::span(H_).subspan(row % period * n_, n_);
  }
  /// Which weight is a row's value, and of which instance.
  std::size_t watched(std::size_t row) const { return row * 37 % n_; }
  static std::size_t watched_instance(std::size_t row) { return row % instances; }

 private:
  std::size_t n_;
  std::vector<double> e_;
  std::vector<double> H_;
};

}  // namespace peers
