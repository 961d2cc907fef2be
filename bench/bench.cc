// Speed of whole steps and of the kernels under them, on one core, beside what the hardware allows.
//
// Sizes: A = 16 units, 9 inputs; B = 12 units, 33 inputs (the constant counted), window 10.
//
// Counters: bytes = moved by one pass over the covariances, there and back; flop = of the same;
// floor = the time of a pass that reads, changes and writes as many numbers with three
// multiplications and additions each, everything else in registers (where there are no covariances:
// of the flops at the measured peak), measured in the same run; of_floor = floor / time.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <memory>
#include <string>

#include "core/aligned.h"
#include "core/rng.h"
#include "jacobian/tbptt.h"
#include "kalstream/learner.h"
#include "kernels/dispatch.h"
#include "update/block_kalman.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define FOR_EVERY_PROCESSOR \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define FOR_EVERY_PROCESSOR
#endif

namespace kalstream {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

constexpr std::size_t unrolled = 32;
FOR_EVERY_PROCESSOR double fused_pass(std::size_t n, double a, double* p) {
  double s[unrolled] = {};
  double t[unrolled] = {};
  for (std::size_t k = 0; k + unrolled <= n; k += unrolled)
    for (std::size_t u = 0; u < unrolled; ++u) {
      p[k + u] = p[k + u] * a + a;
      s[u] += p[k + u] * a;
      t[u] += p[k + u] * s[u];
    }
  double all = 0;  // or the compiler would leave out what nobody asks for
  for (std::size_t u = 0; u < unrolled; ++u) all += s[u] + t[u];
  return all;
}

constexpr std::size_t chains = 128;
FOR_EVERY_PROCESSOR void multiply_and_add(std::size_t rounds, double* a) {
  double x[chains];
  for (std::size_t k = 0; k < chains; ++k) x[k] = a[k];
  for (std::size_t round = 0; round < rounds; ++round)
    for (std::size_t k = 0; k < chains; ++k) x[k] = x[k] * 0.999 + 1e-3;
  for (std::size_t k = 0; k < chains; ++k) a[k] = x[k];
}

// The fastest of many passes, in seconds.
double pass_floor(double bytes) {
  AlignedVector p(static_cast<std::size_t>(bytes / 2 / sizeof(double)), 1.0);
  double best = 1;
  const auto start = Clock::now();
  for (int round = 0; round < 5 || seconds_since(start) < 0.05; ++round) {
    const auto begin = Clock::now();
    benchmark::DoNotOptimize(fused_pass(p.size(), 0.5, p.data()));
    benchmark::ClobberMemory();
    best = std::min(best, seconds_since(begin));
  }
  return best;
}

double peak_flops() {
  static const double peak = [] {
    AlignedVector a(chains, 1.0);
    constexpr std::size_t rounds = 20'000;
    double best = 1;
    for (int round = 0; round < 30; ++round) {
      const auto begin = Clock::now();
      multiply_and_add(rounds, a.data());
      benchmark::DoNotOptimize(a.data());
      best = std::min(best, seconds_since(begin));
    }
    return 2.0 * chains * rounds / best;
  }();
  return peak;
}

/// What one pass over the covariances of a rule moves and computes, n_d = 1.
struct Work {
  double bytes = 0;
  double flop = 0;

  Work(const ParameterLayout& layout, Partition partition, double copies = 1) {
    for (const Block& b : layout.blocks(partition)) {
      const auto n = static_cast<double>(block_size(b));
      bytes += copies * n * (n + 1) / 2 * sizeof(double) * 2;
      flop += copies * n * n / 2 * 6;  // downdate, and two products, of every stored number
    }
  }
  Work(double bytes_, double flop_) : bytes(bytes_), flop(flop_) {}
};

// Runs `step` and reports it beside its floor.
void measure(benchmark::State& state, const Work& work, const auto& step) {
  for (int warm_up = 0; warm_up < 3; ++warm_up) step();
  const auto start = Clock::now();
  for (auto _ : state) {
    step();
    benchmark::ClobberMemory();
  }
  const double seconds = seconds_since(start) / static_cast<double>(state.iterations());
  const double floor = work.bytes > 0 ? pass_floor(work.bytes) : work.flop / peak_flops();
  if (work.bytes > 0) state.counters["bytes"] = work.bytes;
  state.counters["flop"] = work.flop;
  state.counters["floor_us"] = floor * 1e6;
  state.counters["of_floor"] = floor / seconds;
}

NetworkOptions size(char name) {
  NetworkOptions network;
  network.inputs = name == 'A' ? 8 : 32;
  network.hidden = name == 'A' ? 16 : 12;
  return network;
}

NetworkOptions of_units(std::int64_t hidden) {
  NetworkOptions network;
  network.inputs = 8;
  network.hidden = static_cast<std::size_t>(hidden);
  return network;
}

// A nonlinear stream with noise, so that nothing settles.
void run_learner(benchmark::State& state, const NetworkOptions& network, const Rule& rule) {
  const auto learner = make_learner({network, rule});
  Rng rng(7);
  constexpr std::size_t length = 4096;  // made beforehand: drawing takes as long as a small step
  std::vector<double> inputs(length * network.inputs);
  std::vector<double> targets;
  for (double& v : inputs) v = rng.normal();
  for (std::size_t t = 0; t < length; ++t) {
    const double* x = &inputs[t * network.inputs];
    const double d = 0.5 * x[0] * x[1] / (1 + x[2] * x[2]) + 0.1 * rng.normal();
    targets.push_back(std::clamp(d, -1.0, 1.0));
  }
  std::uint64_t applied = 0;
  std::uint64_t experts = 0;
  std::size_t t = 0;
  for (auto _ : state) {
    const auto x = std::span(inputs).subspan(t * network.inputs, network.inputs);
    benchmark::DoNotOptimize(learner->predict(x).data());
    const StepReport report = learner->learn(x, {&targets[t], 1});
    t = (t + 1) % length;
    applied += report.applied;
    experts += report.experts;
  }
  state.counters["updates"] = static_cast<double>(applied) / static_cast<double>(experts);
}

void step(benchmark::State& state, char network_size, const Rule& rule) {
  run_learner(state, size(network_size), rule);
}

void step_of_units(benchmark::State& state, const Rule& rule) {
  run_learner(state, of_units(state.range(0)), rule);
}

void step_of_cell(benchmark::State& state, Cell cell, const Rule& rule) {
  NetworkOptions network = size('A');
  network.cell = cell;
  run_learner(state, network, rule);
}

// Updates of `copies` rules in turn, all applied.
void run_rules(benchmark::State& state, const NetworkOptions& network, BlockKalmanOptions options,
               std::size_t copies) {
  const ParameterLayout layout(network);
  options.noise_floor = 3;
  options.process_noise = 1e-4;
  std::vector<BlockKalman> rules(copies, BlockKalman(options, layout));
  std::vector<AlignedVector> theta(copies, AlignedVector(layout.size()));
  Rng rng(5);
  std::vector<double> H(layout.size());
  for (double& h : H) h = 0.1 * rng.normal();
  const double e = 0.01;
  measure(state, Work(layout, options.partition, static_cast<double>(copies)), [&] {
    for (std::size_t j = 0; j < copies; ++j)
      if (rules[j].update({&e, 1}, H, theta[j]) != StepStatus::applied)
        state.SkipWithError("rejected");
  });
}

void update(benchmark::State& state, char network_size, const BlockKalmanOptions& options) {
  run_rules(state, size(network_size), options, static_cast<std::size_t>(state.range(0)));
}

void update_of_units(benchmark::State& state, const BlockKalmanOptions& options) {
  run_rules(state, of_units(state.range(0)), options, static_cast<std::size_t>(state.range(1)));
}

// The whole window again and back: what a step that follows an update costs.
void tbptt(benchmark::State& state, const NetworkOptions& network) {
  const ParameterLayout layout(network);
  Tbptt differentiator(network);
  Rng rng(3);
  std::vector<double> theta(layout.size());
  for (double& w : theta) w = 0.1 * rng.normal();
  std::vector<double> x(network.inputs, 0.3);
  std::vector<double> H(layout.size());
  for (std::size_t t = 0; t < network.window; ++t) {
    differentiator.forward(theta.data(), x);
    differentiator.commit(theta.data());
  }
  const auto tau = static_cast<double>(network.window);
  const auto n_s = static_cast<double>(layout.n_s);
  const auto n = static_cast<double>(layout.gate_row_size());
  // Forward, back to y, gradient; an activation is about 30 flops and a division.
  const double flop = tau * (2 * 4 * n_s * n + 2 * 4 * n_s * n_s + 2 * 4 * n_s * n + 5 * n_s * 40);
  measure(state, {0, flop}, [&] {
    differentiator.weights_changed();
    benchmark::DoNotOptimize(differentiator.forward(theta.data(), x).data());
    differentiator.jacobian(theta.data(), H);
    differentiator.commit(theta.data());
  });
}

void tbptt_of_size(benchmark::State& state, char network_size) { tbptt(state, size(network_size)); }
void tbptt_of_units(benchmark::State& state) { tbptt(state, of_units(state.range(0))); }

void activations(benchmark::State& state, bool tanh) {
  const auto n = static_cast<std::size_t>(state.range(0));
  std::vector<double> x(n);
  Rng rng(3);
  for (double& v : x) v = rng.normal();
  std::vector<double> y(n);
  const auto f = tanh ? kernels::active().tanh : kernels::active().logistic;
  for (auto _ : state) {
    f(n, x.data(), y.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * n));
}

void adam_kernel(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  std::vector<double> g(n, 0.1), theta(n, 1.0), m(n, 0.1), v(n, 0.1), out(3 * n);
  measure(state, {0, 14.0 * static_cast<double>(n)}, [&] {
    kernels::active().adam(n, {1e-3, 0.9, 0.999, 1e-8, 1, 1, 1}, g.data(), theta.data(), m.data(),
                           v.data(), 1e100, out.data(), &out[n], &out[2 * n]);
  });
}

constexpr BlockKalmanOptions full{.partition = Partition::full};
constexpr BlockKalmanOptions gate{.partition = Partition::gate};
constexpr BlockKalmanOptions unit{.partition = Partition::unit};
constexpr BlockKalmanOptions node{.partition = Partition::node};
constexpr BlockKalmanOptions dekf_node{.partition = Partition::node, .shared_innovation = true};

#define BOTH_SIZES(function, name, ...)                    \
  BENCHMARK_CAPTURE(function, name##_A, 'A', __VA_ARGS__); \
  BENCHMARK_CAPTURE(function, name##_B, 'B', __VA_ARGS__)
#define BOTH_SIZES_1_AND_8(name, options)                            \
  BENCHMARK_CAPTURE(update, name##_A, 'A', options)->Arg(1)->Arg(8); \
  BENCHMARK_CAPTURE(update, name##_B, 'B', options)->Arg(1)->Arg(8)

BENCHMARK_CAPTURE(activations, tanh, true)->Arg(64)->Arg(1024);
BENCHMARK_CAPTURE(activations, logistic, false)->Arg(64)->Arg(1024);
BENCHMARK(adam_kernel)->Arg(1617)->Arg(2173);
BENCHMARK_CAPTURE(tbptt_of_size, A, 'A');
BENCHMARK_CAPTURE(tbptt_of_size, B, 'B');
BENCHMARK(tbptt_of_units)->RangeMultiplier(2)->Range(8, 128);

BENCHMARK_CAPTURE(update, full_A, 'A', full)->Arg(1);
BENCHMARK_CAPTURE(update, full_B, 'B', full)->Arg(1);
BOTH_SIZES_1_AND_8(gate, gate);
BOTH_SIZES_1_AND_8(unit, unit);
BOTH_SIZES_1_AND_8(node, node);
BOTH_SIZES_1_AND_8(dekf_node, dekf_node);
BENCHMARK_CAPTURE(update_of_units, full, full)->ArgsProduct({{8, 16, 32, 64}, {1}});
BENCHMARK_CAPTURE(update_of_units, node, node)->ArgsProduct({{8, 16, 32, 64, 128}, {1, 8}});

// All experts of this mixture learn from every error.
Algorithm2 all_learn() {
  Algorithm2 rule;
  rule.expert.partition = Partition::node;
  rule.error_bounds.assign(8, 1e-12);
  return rule;
}

BOTH_SIZES(step, sgd, Sgd{});
BOTH_SIZES(step, rmsprop, RmsProp{});
BOTH_SIZES(step, adam, Adam{});
BOTH_SIZES(step, ekf, Ekf{});
BOTH_SIZES(step, dekf_node, Dekf{.partition = Partition::node});
BOTH_SIZES(step, dekf_gate, Dekf{});
BOTH_SIZES(step, iekf_node, Iekf{.partition = Partition::node});
BOTH_SIZES(step, alg1, Algorithm1{});
BOTH_SIZES(step, alg2, Algorithm2{});
BOTH_SIZES(step, alg2_node, (Algorithm2{.expert = {.partition = Partition::node}}));
BOTH_SIZES(step, alg2_node_8_of_8, all_learn());
BOTH_SIZES(step, auto, Auto{});
BOTH_SIZES(step, auto_1, Auto{.experts = 1});
BENCHMARK_CAPTURE(step_of_cell, lstm_sgd, Cell::lstm, Sgd{});
BENCHMARK_CAPTURE(step_of_cell, gru_sgd, Cell::gru, Sgd{});
BENCHMARK_CAPTURE(step_of_cell, simple_sgd, Cell::simple, Sgd{});
BENCHMARK_CAPTURE(step_of_cell, lstm_ekf, Cell::lstm, Ekf{});
BENCHMARK_CAPTURE(step_of_cell, gru_ekf, Cell::gru, Ekf{});
BENCHMARK_CAPTURE(step_of_cell, lstm_pekf, Cell::lstm, ParallelEkf{});
BENCHMARK_CAPTURE(step_of_units, adam, Adam{})->RangeMultiplier(2)->Range(8, 128);
BENCHMARK_CAPTURE(step_of_units, iekf_node, Iekf{.partition = Partition::node})
    ->RangeMultiplier(2)
    ->Range(8, 128);
BENCHMARK_CAPTURE(step_of_units, ekf, Ekf{})->RangeMultiplier(2)->Range(8, 64);

std::string processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}

}  // namespace
}  // namespace kalstream

int main(int argc, char** argv) {
  using namespace kalstream;
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  std::string targets;
  for (const auto* target : kernels::available_targets())
    targets += (targets.empty() ? "" : " ") + std::string(target->name);
  benchmark::AddCustomContext("processor", processor());
  benchmark::AddCustomContext("kernels", std::string(kernels::target_name()) + " of " + targets +
                                             " (KALSTREAM_TARGET chooses)");
  benchmark::AddCustomContext(
      "measured peak", std::to_string(static_cast<int>(peak_flops() / 1e9)) + " Gflop/s double");
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
