#include "paper/streams.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "data/source.h"
#include "eval/statistics.h"

namespace kalstream::paper {
namespace {

namespace fs = std::filesystem;

// The generator that resembles a stream; none for elevators, whose dynamics are not published.
std::string generator_for(Experiment experiment) {
  switch (experiment) {
    case Experiment::kin8nm:
      return "kin-like";
    case Experiment::kin32fm:
      return "kin-like?inputs=32&dynamics=f";
    case Experiment::puma8nm:
      return "puma-like";
    case Experiment::puma8nh:
      return "puma-like?noise=h";
    case Experiment::puma32fm:
      return "puma-like?inputs=32&dynamics=f";
    default:
      return "";
  }
}

std::optional<fs::path> find_file(const fs::path& directory, const std::string& name) {
  if (directory.empty()) return {};
  for (const char* extension : {".csv", ".arff", ".mat", ".tsv", ".txt", ".jsonl"})
    if (fs::path path = directory / (name + extension); fs::exists(path)) return path;
  return {};
}

Dataset read_rows(const fs::path& path, std::size_t rows) {
  Dataset data = load(path.string(), 0);
  if (data.n_inputs() == 0)
    throw DataError(fmt::format("{}: has no input column beside the target", path.string()));
  if (data.rows() < rows)
    throw DataError(fmt::format("{}: {} rows, but the published run needs {}", path.string(),
                                data.rows(), rows));
  return data;
}

bool prepared(const Dataset& data) {
  return std::all_of(data.targets.begin(), data.targets.end(),
                     [](double d) { return std::isnan(d) || std::abs(d) <= 1; });
}

// The published preparation, over the whole file: it is part of the experiment, not of the learner.
void prepare(Dataset& data) {
  const std::size_t n_x = data.n_inputs();
  std::vector<double> column(data.rows());
  for (std::size_t k = 0; k < n_x; ++k) {
    for (std::size_t t = 0; t < data.rows(); ++t) column[t] = data.inputs[t * n_x + k];
    const double m = mean(column);
    const double s = std::sqrt(variance(column));
    for (std::size_t t = 0; t < data.rows(); ++t)
      data.inputs[t * n_x + k] = (column[t] - m) / (s > 0 ? s : 1);
  }
  const double low = quantile(data.targets, 0);
  const double high = quantile(data.targets, 1);
  for (double& d : data.targets) d = -0.8 + 1.6 * (d - low) / (high > low ? high - low : 1);
}

bool is_bits(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return v == 0 || v == 1; });
}

}  // namespace

const std::vector<Experiment>& regression_streams() {
  using enum Experiment;
  static const std::vector<Experiment> all{kin8nm, kin32fm, elevators, puma8nm, puma8nh, puma32fm};
  return all;
}

Stream regression_stream(Experiment experiment, const fs::path& directory, std::size_t rows) {
  Stream s{.experiment = experiment, .name = std::string(to_string(experiment))};
  s.label = s.name;
  if (const auto file = find_file(directory, s.name)) {
    s.data = read_rows(*file, rows);
    s.origin = "`" + file->filename().string() + "`";
    if (!prepared(s.data)) {
      prepare(s.data);
      s.origin += ", inputs standardised and target mapped to ±0.8 here";
    }
    return s;
  }
  s.substitute = true;
  const std::string generator = generator_for(experiment);
  if (generator.empty()) {
    s.label += " (missing)";
    s.origin = "no file was found, and there is no generator for it";
    return s;
  }
  s.data = load("gen:" + generator, rows);
  s.label += fmt::format(" ({})", s.data.name);
  s.origin = fmt::format("no file was found: `gen:{}` stands in for it", generator);
  return s;
}

Stream addition_stream(int n, int k, const fs::path& directory, std::size_t rows) {
  Stream s{.experiment = Experiment::addition, .name = fmt::format("add{}seq{}", n, k)};
  s.label = s.name;
  if (const auto file = find_file(directory, s.name)) {
    s.data = read_rows(*file, std::min<std::size_t>(rows, 10'000));
    s.origin = "`" + file->filename().string() + "`";
    if (is_bits(s.data.targets))
      for (double& d : s.data.targets) d -= 0.5;
    return s;
  }
  const std::string generator = fmt::format("gen:addition?n={}&seed={}", n, k);
  s.data = load(generator, rows);
  s.origin = "`" + generator + "`";
  return s;
}

}  // namespace kalstream::paper
