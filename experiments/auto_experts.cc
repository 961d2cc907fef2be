// What each expert of `auto` is worth, and what fewer of them cost and give: tables of
// docs/auto.md.
//
//     make experiments && build/release/auto_experts [--max] [SEEDS] STREAM…
//
// STREAM is a file or gen:…; the first 2,500 rows count. Runs auto, keeps every expert's
// predictions, and blends them once more without a kind of expert, or with the first N networks
// only: an expert does not know of the others, so this is what auto would have done without them.
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "auto/auto_learner.h"
#include "data/source.h"
#include "eval/parallel.h"

namespace {

using namespace kalstream;

constexpr std::size_t rows = 2500;

struct Recording {
  std::vector<std::string> names;
  std::vector<std::vector<double>> q;  // per row, of every expert; empty before there are experts
  std::vector<double> d_hat;
  std::vector<double> d;
};

Recording record(const Dataset& data, const LearnerOptions& options) {
  AutoLearner learner(std::get<Auto>(options.rule), options.network);
  Recording r{.names = expert_names(options)};
  for (std::size_t t = 0; t < std::min(rows, data.rows()); ++t) {
    r.d_hat.push_back(learner.predict(data.x(t))[0]);
    const auto q = learner.better().blend(0).q();
    r.q.emplace_back();
    if (t >= 4) r.q.back().assign(q.begin(), q.end());
    r.d.push_back(data.d(t)[0]);
    learner.learn(data.x(t), data.d(t));
  }
  return r;
}

// The first row is not scored, as everywhere.
double nse(const std::vector<double>& d_hat, const std::vector<double>& d) {
  double mean = 0;
  for (std::size_t t = 1; t < d.size(); ++t) mean += d[t] / static_cast<double>(d.size() - 1);
  double error = 0;
  double variance = 0;
  for (std::size_t t = 1; t < d.size(); ++t) {
    error += (d[t] - d_hat[t]) * (d[t] - d_hat[t]);
    variance += (d[t] - mean) * (d[t] - mean);
  }
  return error / variance;
}

// The experts in `chosen`, blended as auto does; the first rows, before there are experts, as they
// were.
double nse_of_blend(const Recording& r, const std::vector<std::size_t>& chosen) {
  Blend blend(chosen.size());
  std::vector<double> d_hat = r.d_hat;
  std::vector<double> q(chosen.size());
  double low = r.d[0];
  double high = r.d[0];
  for (std::size_t t = 0; t < r.d.size(); ++t) {
    if (!r.q[t].empty()) {
      for (std::size_t k = 0; k < chosen.size(); ++k) q[k] = r.q[t][chosen[k]];
      d_hat[t] = blend.predict(q);
      blend.learn(r.d[t]);
    }
    low = std::min(low, r.d[t]);
    high = std::max(high, r.d[t]);
    blend.widen(low - 0.1 * (high - low), high + 0.1 * (high - low));
  }
  return nse(d_hat, r.d);
}

double nse_of_one(const Recording& r, std::size_t expert) {
  std::vector<double> d_hat = r.d_hat;
  for (std::size_t t = 0; t < r.d.size(); ++t)
    if (!r.q[t].empty()) d_hat[t] = r.q[t][expert];
  return nse(d_hat, r.d);
}

// "replay3" and "replay-recent" are of the kind "replay".
std::string kind(const std::string& name) {
  for (const char* prefix : {"replay", "recurrent", "window", "lstm", "ekf", "ar", "rls"})
    if (name.starts_with(prefix)) return prefix;
  return name;
}

std::vector<std::size_t> all_but(const Recording& r, const std::string& unwanted) {
  std::vector<std::size_t> chosen;
  for (std::size_t j = 0; j < r.names.size(); ++j)
    if (kind(r.names[j]) != unwanted) chosen.push_back(j);
  return chosen;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  Auto rule;
  if (!arguments.empty() && arguments.front() == "--max") {
    rule.full_ekf = true;
    arguments.erase(arguments.begin());
  }
  std::size_t seeds = 5;
  if (!arguments.empty() &&
      arguments.front().find_first_not_of("0123456789") == std::string::npos) {
    seeds = std::stoul(arguments.front());
    arguments.erase(arguments.begin());
  }
  std::vector<std::string> rows_of_table;
  std::map<std::string, std::vector<double>> table;  // what → a number per stream
  const auto put = [&](const std::string& what, double value) {
    if (table[what].empty()) rows_of_table.push_back(what);
    table[what].push_back(value);
  };

  for (const std::string& stream : arguments) {
    const Dataset data = load(stream, rows, {});
    LearnerOptions options{.network = {}, .rule = rule};
    options.network.inputs = data.n_inputs();
    std::vector<Recording> recordings(seeds);
    parallel_for(seeds, 0, [&](std::size_t s) {
      LearnerOptions seeded = options;
      seeded.network.seed = s + 1;
      recordings[s] = record(data, seeded);
    });
    const auto mean = [&](const auto& f) {
      double sum = 0;
      for (const Recording& r : recordings) sum += f(r);
      return sum / static_cast<double>(seeds);
    };
    const Recording& first = recordings.front();
    put("auto", mean([](const Recording& r) { return nse(r.d_hat, r.d); }));
    put("all, blended again",
        mean([&](const Recording& r) { return nse_of_blend(r, all_but(r, "")); }));
    for (const char* without :
         {"replay", "memoryless", "recurrent", "window", "lstm", "ekf", "ar", "rls", "arx2"})
      if (all_but(first, without).size() < first.names.size())
        put(fmt::format("without {}", without),
            mean([&](const Recording& r) { return nse_of_blend(r, all_but(r, without)); }));
    put("mean of all networks", mean([](const Recording& r) {
          std::vector<double> d_hat = r.d_hat;
          for (std::size_t t = 0; t < r.d.size(); ++t) {
            if (r.q[t].empty()) continue;
            d_hat[t] = 0;
            std::size_t n = 0;
            for (; kind(r.names[n]) != "rls" && kind(r.names[n]) != "ar"; ++n)
              d_hat[t] += r.q[t][n];
            d_hat[t] /= static_cast<double>(n);
          }
          return nse(d_hat, r.d);
        }));
    for (std::size_t j = 0; j < first.names.size(); ++j)
      put(first.names[j], mean([j](const Recording& r) { return nse_of_one(r, j); }));
  }

  fmt::print("| |");
  for (const std::string& s : arguments) fmt::print(" {} |", s.substr(s.find_last_of('/') + 1));
  fmt::print("\n|---|");
  for (std::size_t k = 0; k < arguments.size(); ++k) fmt::print("---|");
  fmt::print("\n");
  for (const std::string& what : rows_of_table) {
    fmt::print("| {} |", what);
    for (const double v : table[what]) fmt::print(" {:.{}f} |", v, v < 0.01 ? 5 : v < 0.1 ? 4 : 3);
    fmt::print("\n");
  }
}
