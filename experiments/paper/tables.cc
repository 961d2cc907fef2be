#include "paper/tables.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "eval/statistics.h"

namespace kalstream::paper {
namespace {

Contender contender(const Variant& v, Experiment experiment) {
  return {std::string(v.label), options_of(v, experiment), false};
}

EvaluationOptions table1_evaluation() {
  return {.steps = published_warm_up +
                   static_cast<std::size_t>(published_run_length(Experiment::kin8nm)),
          .warm_up = published_warm_up,
          .horizon = forecast_horizon,
          .all_known_ahead = true};  // as published
}

EvaluationOptions table2_evaluation() {
  return {.steps = published_warm_up + addition_steps,
          .warm_up = published_warm_up,
          .stop_when_sustained = true};
}

}  // namespace

std::vector<std::uint64_t> first_seeds(std::size_t count) {
  std::vector<std::uint64_t> seeds(count);
  std::iota(seeds.begin(), seeds.end(), 1);
  return seeds;
}

std::size_t table1_rows() { return table1_evaluation().steps + forecast_horizon; }

std::vector<Job> table1_jobs(const std::vector<Stream>& streams,
                             const std::vector<const Variant*>& variants,
                             const std::vector<std::uint64_t>& seeds) {
  std::vector<Job> jobs;
  for (const Stream& s : streams) {
    if (s.missing()) continue;
    for (const Variant* v : variants) {
      if (!v->table1) continue;
      for (const std::uint64_t seed : seeds)
        jobs.push_back({.name = fmt::format("table1-{}-{}-{}", s.name, v->key, seed),
                        .data = &s.data,
                        .contender = contender(*v, s.experiment),
                        .seed = seed,
                        .evaluation = table1_evaluation()});
    }
  }
  return jobs;
}

Table1 fill_table1(std::vector<Stream> streams, const std::vector<const Variant*>& variants,
                   const std::vector<std::uint64_t>& seeds, std::span<const RunResult> runs) {
  Table1 table{seeds, {}};
  for (Stream& s : streams) {
    Table1Stream& part = table.streams.emplace_back(Table1Stream{std::move(s), {}});
    if (part.stream.missing()) continue;
    for (const Variant* v : variants) {
      if (!v->table1) continue;
      Outcome outcome{std::string(v->label),
                      seeds,
                      {runs.begin(), runs.begin() + static_cast<std::ptrdiff_t>(seeds.size())}};
      runs = runs.subspan(seeds.size());
      const Summary summary = summarise(outcome);
      part.rows.push_back(
          {v, published_table1(part.stream.experiment, v->learner), std::move(outcome), summary});
    }
  }
  return table;
}

const Table1Row* find_row(const Table1Stream& stream, std::string_view variant) {
  for (const Table1Row& row : stream.rows)
    if (row.variant->key == variant) return &row;
  return nullptr;
}

std::size_t Table2Row::attempts() const {
  std::size_t count = 0;
  for (const auto& stream : runs) count += stream.size();
  return count;
}

std::size_t Table2Row::sustained() const {
  std::size_t count = 0;
  for (const auto& stream : runs)
    for (const RunResult& run : stream) count += run.sustained_at ? 1 : 0;
  return count;
}

double Table2Row::median_steps() const {
  std::vector<double> steps;
  for (const auto& stream : runs)
    for (const RunResult& run : stream)
      steps.push_back(run.sustained_at ? static_cast<double>(*run.sustained_at)
                                       : std::numeric_limits<double>::infinity());
  return median(steps);
}

double Table2Row::median_seconds() const {
  std::vector<double> seconds;
  for (const auto& stream : runs)
    for (const RunResult& run : stream)
      if (run.sustained_at) seconds.push_back(run.seconds);
  return median(seconds);
}

std::vector<Job> table2_jobs(const std::vector<Table2Part>& parts,
                             const std::vector<const Variant*>& variants,
                             const std::vector<std::uint64_t>& seeds) {
  std::vector<Job> jobs;
  for (const Table2Part& part : parts)
    for (const Variant* v : variants) {
      if (!v->table2) continue;
      for (const Stream& s : part.streams)
        for (const std::uint64_t seed : seeds)
          jobs.push_back({.name = fmt::format("table2-{}-{}-{}", s.name, v->key, seed),
                          .data = &s.data,
                          .contender = contender(*v, Experiment::addition),
                          .seed = seed,
                          .evaluation = table2_evaluation(),
                          .keep_errors = false});
    }
  return jobs;
}

Table2 fill_table2(std::vector<Table2Part> parts, const std::vector<const Variant*>& variants,
                   const std::vector<std::uint64_t>& seeds, std::span<const RunResult> runs) {
  Table2 table{seeds, std::move(parts)};
  for (Table2Part& part : table.parts)
    for (const Variant* v : variants) {
      if (!v->table2) continue;
      Table2Row row{v, published_table2(part.n, v->learner), {}};
      for (std::size_t s = 0; s < part.streams.size(); ++s) {
        row.runs.emplace_back(runs.begin(),
                              runs.begin() + static_cast<std::ptrdiff_t>(seeds.size()));
        runs = runs.subspan(seeds.size());
      }
      part.rows.push_back(std::move(row));
    }
  return table;
}

}  // namespace kalstream::paper
