// Samples per second of many linear models at once (RlsBatch), on one core, and of as many learners
// `rls` one by one beside it, in rounds.
//
//     kalstream_batch [--models N] [--inputs N] [--rounds N]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "core/rng.h"
#include "kalstream/learner.h"
#include "kalstream/rls_batch.h"
#include "kernels/dispatch.h"

namespace {

using namespace kalstream;
using Clock = std::chrono::steady_clock;

double seconds(const auto& work) {
  const auto begin = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

void print(const char* what, std::vector<double> rates, double mib) {
  std::ranges::sort(rates);
  const auto at = [&](std::size_t quarter) {
    return rates[(rates.size() - 1) * quarter / 4] / 1e6;
  };
  std::printf("| %s | %.2f (%.2f to %.2f) | %.0f MiB |\n", what, at(2), at(1), at(3), mib);
}

}  // namespace

int main(int count, char** words) {
  std::size_t models = 100'000;
  std::size_t inputs = 8;
  std::size_t rounds = 15;
  for (int k = 1; k + 1 < count; k += 2) {
    const std::string option = words[k];
    const auto value = static_cast<std::size_t>(std::strtoull(words[k + 1], nullptr, 10));
    if (option == "--models") models = value;
    if (option == "--inputs") inputs = value;
    if (option == "--rounds") rounds = value;
  }
  Rng rng(1);
  std::vector<double> X(models * inputs);
  std::vector<double> d(models);
  std::vector<double> d_hat(models);
  for (double& v : X) v = rng.normal();
  for (std::size_t m = 0; m < models; ++m) d[m] = X[m * inputs] + 0.1 * rng.normal();

  RlsBatch batch(models, inputs);
  const std::size_t few = std::max<std::size_t>(1, models / 10);  // one by one takes long
  std::vector<std::unique_ptr<Learner>> learners;
  for (std::size_t m = 0; m < few; ++m)
    learners.push_back(make_learner({.network = {.inputs = inputs}, .rule = Rls{}}));
  std::vector<double> step;
  std::vector<double> two_calls;
  std::vector<double> one_by_one;
  for (std::size_t round = 0; round < rounds; ++round) {
    const auto n = static_cast<double>(models);
    for (std::size_t k = 0; k < X.size(); ++k) X[k] = 0.9 * X[k] + 0.1 * X[(k + 1) % X.size()];
    step.push_back(n / seconds([&] { batch.learn(X, d, d_hat); }));
    two_calls.push_back(n / seconds([&] {
                          batch.predict(X, d_hat);
                          batch.learn(X, d);
                        }));
    one_by_one.push_back(static_cast<double>(few) / seconds([&] {
                           for (std::size_t m = 0; m < few; ++m) {
                             const std::span x(X.data() + m * inputs, inputs);
                             d_hat[m] = learners[m]->predict(x)[0];
                             learners[m]->learn(x, {&d[m], 1});
                           }
                         }));
  }
  std::printf("%zu models, %zu inputs, %s, one core; medians (and quartiles) of %zu rounds\n\n",
              models, inputs, std::string(kernels::target_name()).c_str(), rounds);
  std::printf("| | million samples/s | memory |\n|---|---|---|\n");
  const double mib = static_cast<double>(batch.bytes()) / 0x1p20;
  print("a batch: learn, which predicts as well", step, mib);
  print("a batch: predict, then learn", two_calls, mib);
  print("learners `rls` one by one", one_by_one, 0);
  return 0;
}
