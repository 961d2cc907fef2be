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
#include "io/snapshot_file.h"
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

Json to_json(const RunResult& r, const std::string& fingerprint) {
  return {{"fingerprint", fingerprint},
          {"nse", r.nse},
          {"log_loss", r.log_loss},
          {"rmse", r.rmse},
          {"mae", r.mae},
          {"knse", r.knse},
          {"target_variance", r.target_variance},
          {"steps", r.steps},
          {"scored", r.scored},
          {"missing_targets", r.missing_targets},
          {"skipped_rows", r.skipped_rows},
          {"rejected_updates", r.rejected_updates},
          {"update_fraction", r.update_fraction},
          {"seconds", r.seconds},
          {"sustained_at", r.sustained_at ? Json(*r.sustained_at) : Json()},
          {"squared_error", r.squared_error},
          {"forecast_squared_error", r.forecast_squared_error}};
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
    j.at("nse").get_to(r.nse);
    if (!j.at("log_loss").is_null()) j.at("log_loss").get_to(r.log_loss);
    j.at("rmse").get_to(r.rmse);
    j.at("mae").get_to(r.mae);
    j.at("knse").get_to(r.knse);
    j.at("target_variance").get_to(r.target_variance);
    j.at("steps").get_to(r.steps);
    j.at("scored").get_to(r.scored);
    j.at("missing_targets").get_to(r.missing_targets);
    j.at("skipped_rows").get_to(r.skipped_rows);
    j.at("rejected_updates").get_to(r.rejected_updates);
    j.at("update_fraction").get_to(r.update_fraction);
    j.at("seconds").get_to(r.seconds);
    if (!j.at("sustained_at").is_null()) r.sustained_at = j.at("sustained_at").get<std::size_t>();
    j.at("squared_error").get_to(r.squared_error);
    j.at("forecast_squared_error").get_to(r.forecast_squared_error);
    return r;
  } catch (const Json::exception&) {
    return {};
  }
}

void write_result(const std::filesystem::path& file, const RunResult& result,
                  const std::string& fingerprint) {
  const std::vector<std::uint8_t> bytes = Json::to_cbor(to_json(result, fingerprint));
  write_file(file, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

double estimated_cost(const Job& job) {
  const std::size_t rows = job.evaluation.steps == 0
                               ? job.data->rows()
                               : std::min(job.evaluation.steps, job.data->rows());
  return static_cast<double>(rows) * estimated_step_cost(options_on(job.contender, *job.data));
}

}  // namespace

// The network of each expert, and one pass over the covariances.
double estimated_step_cost(const LearnerOptions& options) {
  const Footprint f = footprint(options);
  return 4 * static_cast<double>(f.networks) + f.bytes / 15e3;
}

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
    const double per_step = estimated_step_cost(options_on(job.contender, *job.data));
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
