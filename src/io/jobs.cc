#include "io/jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "core/envelope.h"
#include "core/hash.h"
#include "eval/parallel.h"
#include "io/atomic_file.h"
#include "kalstream/settings.h"
#include "kalstream/version.h"
#include "learner/footprint.h"

namespace kalstream {
namespace {

using Json = nlohmann::ordered_json;  // as elsewhere: each kind takes long to compile

// Of this very program, so that a run made by an older build is never taken for one of this.
const std::string& program_checksum() {
  static const std::string text = [] {
    return fmt::format("{:016x}", fnv1a(as_text(read_bytes("/proc/self/exe"))));
  }();
  return text;
}

std::string data_checksum(const Dataset& data) {
  const std::uint64_t inputs = fnv1a(std::as_bytes(std::span(data.inputs)));
  return fmt::format("{:016x}", fnv1a(std::as_bytes(std::span(data.targets)), inputs));
}

// Everything a result depends on.
std::string fingerprint(const Job& job, const std::string& data) {
  std::string text = fmt::format("kalstream {} {}; data {}; seed {}; scaled {}", version(),
                                 program_checksum(), data, job.seed, job.contender.scaled);
  const EvaluationOptions& e = job.evaluation;
  text +=
      fmt::format("; steps {} warm-up {} horizon {} stop {} sustained {} errors {}", e.steps,
                  e.warm_up, e.horizon, e.stop_when_sustained, e.sustained_length, job.keep_errors);
  text += fmt::format("; {} rule {}", job.contender.name, job.contender.options.rule.index());
  for (const Setting& s : settings_of(options_on(job.contender, *job.data)))
    text += fmt::format("; {}={}", s.key, s.value);
  return text;
}

/// Calls act(name, field) for each field of a result that is kept.
void for_each_kept(auto& r, const auto& act) {
  act("nse", r.nse);
  act("log_loss", r.log_loss);
  act("rmse", r.rmse);
  act("mae", r.mae);
  act("knse", r.knse);
  act("target_variance", r.target_variance);
  act("steps", r.steps);
  act("scored", r.scored);
  act("missing_targets", r.missing_targets);
  act("skipped_rows", r.skipped_rows);
  act("rejected_updates", r.rejected_updates);
  act("update_fraction", r.update_fraction);
  act("seconds", r.seconds);
  act("squared_error", r.squared_error);
  act("forecast_squared_error", r.forecast_squared_error);
}

// Nothing if the file is missing, damaged or of other origin: then the run is made again.
std::optional<RunResult> read_result(const std::filesystem::path& file,
                                     const std::string& fingerprint) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return {};
  const std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(in), {}};
  try {
    const Json j = Json::from_cbor(bytes);
    if (j.at("fingerprint") != fingerprint) return {};
    RunResult r;
    for_each_kept(r, [&](const char* name, auto& field) { j.at(name).get_to(field); });
    if (const Json& at = j.at("sustained_at"); !at.is_null()) r.sustained_at = at;
    return r;
  } catch (const Json::exception&) {
    return {};
  }
}

void write_result(const std::filesystem::path& file, const RunResult& result,
                  const std::string& fingerprint) {
  Json j{{"fingerprint", fingerprint}, {"sustained_at", nullptr}};
  for_each_kept(result, [&](const char* name, const auto& field) { j[name] = field; });
  if (result.sustained_at) j["sustained_at"] = *result.sustained_at;
  const std::vector<std::uint8_t> bytes = Json::to_cbor(j);
  write_file(file, as_text(std::as_bytes(std::span(bytes))));
}

// Microseconds a step of the learner takes, roughly, for progress bars and to start long jobs
// first: the network of each expert, and one pass over the covariances.
double estimated_step_cost(const Job& job) {
  const Footprint f = footprint(options_on(job.contender, *job.data));
  return 4 * static_cast<double>(f.networks) + f.bytes / 15e3;
}

double estimated_cost(const Job& job) {
  const std::size_t rows = job.evaluation.steps == 0
                               ? job.data->rows()
                               : std::min(job.evaluation.steps, job.data->rows());
  return static_cast<double>(rows) * estimated_step_cost(job);
}

}  // namespace

std::vector<RunResult> run_jobs(const std::vector<Job>& jobs, const JobsOptions& options) {
  std::map<const Dataset*, std::string> data_checksums;
  std::vector<std::string> fingerprints;
  for (const Job& job : jobs) {
    try {
      options_on(job.contender, *job.data).validate();
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(job.name + ": " + error.what());
    }
    auto& checksum = data_checksums[job.data];
    if (checksum.empty()) checksum = data_checksum(*job.data);
    fingerprints.push_back(fingerprint(job, checksum));
  }
  const bool keep = !options.directory.empty();
  if (keep) std::filesystem::create_directories(options.directory);
  const auto file_of = [&](std::size_t k) { return options.directory / (jobs[k].name + ".run"); };

  std::vector<RunResult> results(jobs.size());
  std::vector<std::size_t> todo;
  std::vector<double> cost;
  for (std::size_t k = 0; k < jobs.size(); ++k) {
    cost.push_back(estimated_cost(jobs[k]));
    std::optional<RunResult> done;
    if (keep && options.resume) done = read_result(file_of(k), fingerprints[k]);
    if (done)
      results[k] = std::move(*done);
    else
      todo.push_back(k);
  }
  std::stable_sort(todo.begin(), todo.end(),
                   [&](std::size_t a, std::size_t b) { return cost[a] > cost[b]; });
  if (options.on_start)
    options.on_start(std::transform_reduce(todo.begin(), todo.end(), 0.0, std::plus{},
                                           [&](std::size_t k) { return cost[k]; }),
                     jobs.size() - todo.size());

  parallel_for(todo.size(), options.jobs, [&](std::size_t task) {
    const std::size_t k = todo[task];
    const Job& job = jobs[k];
    const double per_step = estimated_step_cost(job);
    double reported = 0;
    const auto report = [&](double done) {
      if (options.on_progress) options.on_progress(job, done - reported);
      reported = done;
    };
    RunResult run =
        evaluate(engine_for(job.contender, job.seed), *job.data, job.evaluation,
                 [&](std::size_t t, double) { report(static_cast<double>(t) * per_step); });
    report(cost[k]);  // an early end is an end
    run.prediction = {};
    run.targets = {};
    run.weights = {};
    if (!job.keep_errors) run.squared_error = run.forecast_squared_error = {};
    if (keep) write_result(file_of(k), run, fingerprints[k]);
    results[k] = std::move(run);
  });
  return results;
}

}  // namespace kalstream
