// Tables 1 and 2: which runs they need, and what comes of them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/jobs.h"
#include "paper/published.h"
#include "paper/streams.h"
#include "paper/variants.h"

namespace kalstream::paper {

constexpr std::size_t forecast_horizon = 50;

/// Seeds 1, 2, …, count.
std::vector<std::uint64_t> first_seeds(std::size_t count);

// Table 1: six streams, one-step and 50-step errors.

struct Table1Row {
  const Variant* variant = nullptr;
  const Table1Entry* published = nullptr;  ///< null: the paper has no such row
  Outcome outcome;                         ///< of all seeds
  Summary summary;
};

struct Table1Stream {
  Stream stream;
  std::vector<Table1Row> rows;  ///< empty if the stream is missing
};

struct Table1 {
  std::vector<std::uint64_t> seeds;
  std::vector<Table1Stream> streams;
};

/// Rows of a stream that Table 1 reads: the warm-up, 2,541 steps and the horizon.
std::size_t table1_rows();

/// The jobs of a table; fill_table1 takes their results in the same order.
std::vector<Job> table1_jobs(const std::vector<Stream>& streams,
                             const std::vector<const Variant*>& variants,
                             const std::vector<std::uint64_t>& seeds);
Table1 fill_table1(std::vector<Stream> streams, const std::vector<const Variant*>& variants,
                   const std::vector<std::uint64_t>& seeds, std::span<const RunResult> runs);

/// Null if it is not there.
const Table1Row* find_row(const Table1Stream& stream, std::string_view variant);

// Table 2: binary addition, steps and seconds to sustained prediction.

constexpr int addition_streams = 5;  // per n
constexpr std::size_t addition_steps = 100'000;

struct Table2Row {
  const Variant* variant = nullptr;
  const Table2Column* published = nullptr;
  std::vector<std::vector<RunResult>> runs;  ///< per stream, the seeds; errors are not kept

  std::size_t attempts() const;
  std::size_t sustained() const;
  double median_steps() const;    ///< +∞ if half of the attempts or more failed
  double median_seconds() const;  ///< of those that did not fail; NaN if all did
};

struct Table2Part {
  int n = 0;
  std::vector<Stream> streams;
  std::vector<Table2Row> rows;
};

struct Table2 {
  std::vector<std::uint64_t> seeds;
  std::vector<Table2Part> parts;
};

/// Streams of one n after those of another.
std::vector<Job> table2_jobs(const std::vector<Table2Part>& parts,
                             const std::vector<const Variant*>& variants,
                             const std::vector<std::uint64_t>& seeds);
Table2 fill_table2(std::vector<Table2Part> parts, const std::vector<const Variant*>& variants,
                   const std::vector<std::uint64_t>& seeds, std::span<const RunResult> runs);

}  // namespace kalstream::paper
