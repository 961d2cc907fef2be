// Whole derivatives and updates on every vector unit this machine has against the plain loops, over
// all sizes of networks: n_s 1 … 65, n_x 1 … 70, n_d 1 … 4, windows 1 … 20.
#include <gtest/gtest.h>

#include <string>

#include "jacobian/tbptt.h"
#include "kernels/dispatch.h"
#include "network_equations.h"
#include "support.h"
#include "update/block_kalman.h"

namespace kalstream {
namespace {

using test::initial_weights;
using test::near;
using test::normals;
using test::Vector;

class Targets : public testing::TestWithParam<const kernels::Kernels*> {
 protected:
  ~Targets() override { kernels::use_target(before_); }

  /// What `compute` returns on the tested kernels, and on the plain ones.
  std::pair<Vector, Vector> both(const auto& compute) {
    kernels::use_target(GetParam()->name);
    Vector tested = compute();
    kernels::use_target("reference");
    return {std::move(tested), compute()};
  }

 private:
  const std::string before_{kernels::target_name()};
};

NetworkOptions network(std::size_t hidden, std::size_t inputs, std::size_t outputs,
                       std::size_t window) {
  NetworkOptions o = test::small_network(inputs, hidden, outputs);
  o.window = window;
  o.weight_deviation = 0.2;
  return o;
}

// Every value of each size, together with others.
TEST_P(Targets, DerivativesOfEverySize) {
  for (std::size_t k = 0; k < 3 * 70; k += test::one_in(3)) {
    NetworkOptions o = network(1 + (k * 3) % 65, k % 70, 1 + k % 4, 1 + k % 20);
    o.cell = static_cast<Cell>(k / 70);
    o.direct = k % 3 != 0;
    SCOPED_TRACE("n_s " + std::to_string(o.hidden) + ", n_x " + std::to_string(o.inputs + 1) +
                 ", cell " + std::to_string(k / 70));
    const auto [tested, expected] = both([&] {
      Rng rng(k);
      const ParameterLayout layout(o);
      Tbptt tbptt(o);
      Vector theta = initial_weights(o, layout);
      Vector H(layout.n_d * layout.size());
      Vector all;
      for (std::size_t t = 0; t < o.window + 2; ++t) {
        const auto d_hat = tbptt.forward(theta.data(), normals(rng, o.inputs));
        all.insert(all.end(), d_hat.begin(), d_hat.end());
        if (t + 1 >= o.window) tbptt.jacobian(theta.data(), H);
        tbptt.commit(theta.data());
        for (double& w : theta) w += 0.01 * rng.normal();
        tbptt.weights_changed();
      }
      all.insert(all.end(), H.begin(), H.end());
      return all;
    });
    ASSERT_TRUE(near(tested, expected, 1e-12));
  }
}

// Blocks of every size, in groups of every size, with up to four outputs.
TEST_P(Targets, UpdatesOfEverySize) {
  for (const Partition partition :
       {Partition::node, Partition::unit, Partition::gate, Partition::full}) {
    const bool large = partition == Partition::gate || partition == Partition::full;
    for (std::size_t k = 0; k < (large ? 12 : 70); k += test::one_in(3)) {
      const std::size_t n_s =
          large ? 1 + k % 6 : 1 + (k * 3) % (partition == Partition::node ? 65 : 17);
      const NetworkOptions o =
          network(n_s, large ? k : k % (partition == Partition::node ? 70 : 30), 1 + k % 4, 1);
      SCOPED_TRACE("n_s " + std::to_string(o.hidden) + ", n_x " + std::to_string(o.inputs + 1));
      const ParameterLayout layout(o);
      const auto [tested, expected] = both([&] {
        Rng rng(k);
        BlockKalman rule({.partition = partition,
                          .shared_innovation = k % 3 == 0,
                          .output_apart = k % 2 == 0,
                          .initial_covariance = 2,
                          .process_noise = 1e-3,
                          .noise_floor = 0.5,
                          .noise_factor = k % 5 == 0 ? 3.0 : 0.0},
                         layout);
        AlignedVector theta = test::aligned(normals(rng, layout.size()));
        for (int t = 0; t < 3; ++t) {
          const Vector H = normals(rng, layout.n_d * layout.size(), 0.3);
          EXPECT_EQ(rule.update(normals(rng, layout.n_d), H, theta), StepStatus::applied);
        }
        Vector all(theta.begin(), theta.end());
        all.push_back(rule.covariance_trace());
        for (const std::size_t i :
             {std::size_t{0}, rule.block_count() / 2, rule.block_count() - 1}) {
          const Vector P = rule.covariance(i);
          all.insert(all.end(), P.begin(), P.end());
        }
        return all;
      });
      ASSERT_TRUE(near(tested, expected, 1e-11));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Targets,
                         testing::ValuesIn(kernels::available_targets().begin(),
                                           kernels::available_targets().end() - 1),
                         [](const auto& one) { return std::string(one.param->name); });

}  // namespace
}  // namespace kalstream
