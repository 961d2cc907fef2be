// Speed of whole steps and of the kernels under them, on one core.
//
// Sizes: A = 16 units, 9 inputs; B = 12 units, 33 inputs (the constant counted), window 10.
#include <benchmark/benchmark.h>

#include "core/rng.h"
#include "kalstream/learner.h"
#include "kernels/kernels.h"

namespace kalstream {
namespace {

NetworkOptions size(char name) {
  NetworkOptions network;
  network.inputs = name == 'A' ? 8 : 32;
  network.hidden = name == 'A' ? 16 : 12;
  return network;
}

// A nonlinear stream, long enough that nothing settles.
void whole_step(benchmark::State& state, char network_size, const Rule& rule) {
  const NetworkOptions network = size(network_size);
  const auto learner = make_learner({network, rule});
  Rng rng(7);
  std::vector<double> x(network.inputs);
  std::uint64_t applied = 0;
  std::uint64_t experts = 0;
  for (auto _ : state) {
    for (double& v : x) v = rng.normal();
    const double d = 0.5 * x[0] * x[1] / (1 + x[2] * x[2]) + 0.1 * rng.normal();
    const double bounded = d > 1 ? 1 : d < -1 ? -1 : d;
    benchmark::DoNotOptimize(learner->predict(x).data());
    const StepReport report = learner->learn(x, {&bounded, 1});
    applied += report.applied;
    experts += report.experts;
  }
  state.counters["updates"] = static_cast<double>(applied) / static_cast<double>(experts);
}

void symmetric_matvec(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const std::vector<double> P(kernels::packed_size(n), 0.5);
  const std::vector<double> h(n, 0.25);
  std::vector<double> v(n);
  for (auto _ : state) {
    kernels::symmetric_matvec(n, P.data(), h.data(), v.data());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(
      static_cast<std::int64_t>(state.iterations() * P.size() * sizeof(double)));
}

void rank_one_downdate(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  std::vector<double> P(kernels::packed_size(n), 0.5);
  const std::vector<double> w(n, 1e-9);
  for (auto _ : state) {
    kernels::rank_one_downdate(n, P.data(), w.data());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(
      static_cast<std::int64_t>(2 * state.iterations() * P.size() * sizeof(double)));
}

void gate_activations(benchmark::State& state) {
  const auto n_s = static_cast<std::size_t>(state.range(0));
  std::vector<double> start(4 * n_s);
  Rng rng(3);
  for (double& v : start) v = rng.normal();
  std::vector<double> a(start);
  for (auto _ : state) {
    a = start;
    kernels::gate_activations(n_s, a.data());
    benchmark::ClobberMemory();
  }
}

BENCHMARK(symmetric_matvec)->Arg(25)->Arg(100)->Arg(1617)->Arg(2173);
BENCHMARK(rank_one_downdate)->Arg(25)->Arg(100)->Arg(1617)->Arg(2173);
BENCHMARK(gate_activations)->Arg(16);

#define STEP(name, ...)                                      \
  BENCHMARK_CAPTURE(whole_step, name##_A, 'A', __VA_ARGS__); \
  BENCHMARK_CAPTURE(whole_step, name##_B, 'B', __VA_ARGS__)
STEP(sgd, Sgd{});
STEP(rmsprop, RmsProp{});
STEP(adam, Adam{});
STEP(ekf, Ekf{});
STEP(dekf_node, Dekf{.partition = Partition::node});
STEP(dekf_gate, Dekf{});
STEP(iekf_node, Iekf{.partition = Partition::node});
STEP(alg1, Algorithm1{});
STEP(alg2, Algorithm2{});
STEP(alg2_node, (Algorithm2{.expert = {.partition = Partition::node}}));

}  // namespace
}  // namespace kalstream
