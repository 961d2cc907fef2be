// The error of `auto`, or of another learner, on many streams: what a change of it is worth.
//
//     make experiments && build/release/auto_error [--data DIR] [--classes DIR] [--seeds N]
//                             [--rows N] [--jobs N] [--only KIND] [--learner NAME]
//
// --data holds the paper's four streams, tables/ and series/, --classes streams of classes as
// bench/river/classes.py --export writes them; what is absent is left out. Errors are divided by
// the variance of the targets (NSE), after the first 200 rows of tables and series; that of classes
// is the log loss. The last line of each kind is the geometric mean. A program that was built with
// KALSTREAM_ABLATION lists the parts that can be taken out or changed with --parts 1, of the
// streams that are chosen.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "contenders/contenders.h"
#include "core/ablation.h"
#include "data/source.h"
#include "eval/parallel.h"
#include "kalstream/learner.h"

namespace {

using namespace kalstream;
namespace fs = std::filesystem;

struct Stream {
  std::string kind;
  std::string source;
  std::size_t rows;
  std::size_t first;  // that counts
};

const std::vector<std::string> generated = {"gen:kin-like",
                                            "gen:kin-like?inputs=32&dynamics=f",
                                            "gen:puma-like",
                                            "gen:puma-like?noise=h",
                                            "gen:puma-like?inputs=32&dynamics=f",
                                            "gen:friedman",
                                            "gen:friedman?drift=abrupt&period=800",
                                            "gen:friedman?drift=gradual",
                                            "gen:mackey-glass",
                                            "gen:mackey-glass?noise=0.1",
                                            "gen:narma10",
                                            "gen:lorenz",
                                            "gen:lorenz?noise=0.1&ahead=5",
                                            "gen:sine",
                                            "gen:addition?n=2"};

std::vector<Stream> streams_in(const std::string& data, const std::string& classes,
                               std::size_t rows) {
  std::vector<Stream> all;
  const auto add_folder = [&](const std::string& kind, const fs::path& folder, std::size_t most,
                              std::size_t first) {
    std::vector<std::string> files;
    if (fs::is_directory(folder))
      for (const auto& entry : fs::directory_iterator(folder))
        if (entry.path().extension() == ".csv" && entry.path().stem() != "gas")
          files.push_back(entry.path().string());
    std::ranges::sort(files);
    for (const std::string& file : files) all.push_back({kind, file, most, first});
  };
  if (!data.empty()) {
    add_folder("tables", fs::path(data) / "tables", 3000, 200);
    add_folder("series", fs::path(data) / "series", rows, 200);
    add_folder("streams", data, rows, 1);
  }
  if (!classes.empty()) add_folder("classes", classes, rows, 0);
  for (const std::string& name : generated) all.push_back({"streams", name, rows, 1});
  return all;
}

double error_of(const Stream& stream, const std::string& name, std::uint64_t seed) {
  const Dataset data = load(stream.source, stream.rows);
  LearnerOptions options = make_contenders({name}, "", data).front().options;
  options.network.inputs = data.n_inputs();
  options.network.outputs = data.n_targets();
  options.network.seed = seed;
  if (data.n_inputs() == 0 && !sees_past_targets(options.rule)) options.lags = 24;
  const auto learner =
      takes_raw_data(options.rule) ? make_learner(options) : make_scaled_learner(options);
  double error = 0;
  double sum = 0;
  double squares = 0;
  double n = 0;
  const std::size_t first = std::min(stream.first, data.rows() / 2);
  for (std::size_t t = 0; t < data.rows(); ++t) {
    const double d_hat = learner->predict(data.x(t))[0];
    const double d = data.d(t)[0];
    if (t >= first && std::isfinite(d)) {
      error += (d - d_hat) * (d - d_hat);
      sum += d;
      squares += d * d;
      ++n;
    }
    learner->learn(data.x(t), data.d(t));
  }
  return error / (squares - sum * sum / n);
}

// The column `class` has 0, 1, …
double log_loss_of(const Stream& stream, const std::string& name, std::uint64_t seed) {
  const Dataset data = load(stream.source, stream.rows, {.fields = {.targets = {"class"}}});
  double last = 1;
  for (std::size_t t = 0; t < data.rows(); ++t) last = std::max(last, data.d(t)[0]);
  LearnerOptions options = make_contenders({name}, "", data).front().options;
  options.network.inputs = data.n_inputs();
  options.network.outputs = last > 1 ? static_cast<std::size_t>(last) + 1 : 1;
  options.network.seed = seed;
  options.loss = {.kind = Loss::Kind::cross_entropy};
  const auto learner = make_learner(options);
  std::vector<double> d(options.network.outputs);
  double loss = 0;
  for (std::size_t t = 0; t < data.rows(); ++t) {
    const auto p = learner->predict(data.x(t));
    const auto y = static_cast<std::size_t>(data.d(t)[0]);
    if (d.size() == 1) {
      d[0] = data.d(t)[0];
    } else {
      std::ranges::fill(d, 0.0);
      d[y] = 1;
    }
    loss -= std::log(d.size() > 1 ? p[y] : y == 1 ? p[0] : 1 - p[0]);
    learner->learn(data.x(t), d);
  }
  return loss / static_cast<double>(data.rows());
}

}  // namespace

int main(int argc, char** argv) {
  std::string data;
  std::string learner = "auto";
  std::string classes;
  std::string only;
  [[maybe_unused]] bool parts = false;
  std::size_t jobs = 0;
  std::size_t seeds = 1;
  std::size_t rows = 2500;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--data") data = argv[i + 1];
    if (option == "--classes") classes = argv[i + 1];
    if (option == "--only") only = argv[i + 1];
    if (option == "--parts") parts = argv[i + 1] == std::string("1");
    if (option == "--jobs") jobs = std::stoul(argv[i + 1]);
    if (option == "--learner") learner = argv[i + 1];
    if (option == "--seeds") seeds = std::stoul(argv[i + 1]);
    if (option == "--rows") rows = std::stoul(argv[i + 1]);
  }
  std::vector<Stream> streams = streams_in(data, classes, rows);
  if (!only.empty()) std::erase_if(streams, [&](const Stream& s) { return s.kind != only; });
  std::vector<double> errors(streams.size() * seeds);
  parallel_for(errors.size(), jobs, [&](std::size_t i) {
    const Stream& stream = streams[i / seeds];
    const auto judge = stream.kind == "classes" ? log_loss_of : error_of;
    errors[i] = judge(stream, learner, 1 + i % seeds);
  });
#ifdef KALSTREAM_ABLATION
  if (parts) {
    for (const auto& [name, value] : ablation_parts()) fmt::print("{} {}\n", name, value);
    return 0;
  }
#endif
  double logs = 0;
  std::size_t n = 0;
  for (std::size_t s = 0; s < streams.size(); ++s) {
    double mean = 0;
    for (std::size_t k = 0; k < seeds; ++k) mean += errors[s * seeds + k] / double(seeds);
    fmt::print("{:<8} {:<40} {:.4g}\n", streams[s].kind,
               fs::path(streams[s].source).filename().string(), mean);
    logs += std::log(mean);
    ++n;
    if (s + 1 < streams.size() && streams[s + 1].kind == streams[s].kind) continue;
    fmt::print("{:<8} {:<40} {:.4g}\n", streams[s].kind, "geometric mean",
               std::exp(logs / double(n)));
    logs = 0;
    n = 0;
  }
}
