// The Kalman updates with what C++ programmers reach for: OpenBLAS and Eigen (protocol.h).
//
//   blas_eigen_peer openblas|eigen|versions
#include <cblas.h>

#include <Eigen/Dense>
#include <cmath>

#include "protocol.h"

namespace {

using peers::UpdateInput;

// v = Ph;  s = hᵀv + r;  θ += v e/s;  P −= vvᵀ/s;  P += qI. Only the lower half of P is kept.
class Ekf : public peers::Task {
 public:
  explicit Ekf(peers::Size size) : input_(size.weights()), n_(size.weights()), v_(n_) {}

  void restart() override {
    P_.setIdentity(n_, n_);
    P_ *= UpdateInput::initial_covariance;
    theta_.setZero(n_);
  }
  void run(std::span<double> values) override {
    for (std::size_t row = 0; row < values.size(); ++row) {
      update(row);
      P_.diagonal().array() += UpdateInput::process_noise;
      values[row] = theta_[static_cast<int>(input_.watched(row))];
    }
  }

 protected:
  virtual void update(std::size_t row) = 0;

  UpdateInput input_;
  Eigen::Index n_;
  Eigen::MatrixXd P_;
  Eigen::VectorXd v_;
  Eigen::VectorXd theta_;
};

class OpenBlasEkf final : public Ekf {
  using Ekf::Ekf;

  void update(std::size_t row) override {
    const int n = static_cast<int>(n_);
    const double* h = input_.h(row).data();
    cblas_dsymv(CblasColMajor, CblasLower, n, 1, P_.data(), n, h, 1, 0, v_.data(), 1);
    const double s = cblas_ddot(n, h, 1, v_.data(), 1) + UpdateInput::measurement_noise;
    cblas_daxpy(n, input_.e(row) / s, v_.data(), 1, theta_.data(), 1);
    cblas_dsyr(CblasColMajor, CblasLower, n, -1 / s, v_.data(), 1, P_.data(), n);
  }
};

class EigenEkf final : public Ekf {
  using Ekf::Ekf;

  void update(std::size_t row) override {
    const Eigen::Map<const Eigen::VectorXd> h(input_.h(row).data(), n_);
    v_.noalias() = P_.selfadjointView<Eigen::Lower>() * h;
    const double s = h.dot(v_) + UpdateInput::measurement_noise;
    theta_ += input_.e(row) / s * v_;
    P_.selfadjointView<Eigen::Lower>().rankUpdate(v_, -1 / s);
  }
};

// One node of N weights: the same update with r = floor + factor·hᵀPh. Whole matrices: at these
// sizes Eigen's symmetric views, which are made for large ones, are slower.
template <int N>
struct EigenNode {
  Eigen::Matrix<double, N, N> P;
  Eigen::Matrix<double, N, 1> theta;

  void update(double e, const double* derivative) {
    const Eigen::Map<const Eigen::Matrix<double, N, 1>> h(derivative);
    Eigen::Matrix<double, N, 1> v;
    v.noalias() = P * h;
    const double hPh = h.dot(v);
    const double s = hPh + UpdateInput::noise_floor + UpdateInput::noise_factor * hPh;
    theta += e / s * v;
    v /= std::sqrt(s);
    P.noalias() -= v * v.transpose();
    P.diagonal().array() += UpdateInput::process_noise;
  }
};

template <int Inputs, int Hidden>
class EigenBlocks final : public peers::Task {
 public:
  static constexpr std::size_t gate_nodes = 4 * Hidden;
  static constexpr std::size_t row = Inputs + 1 + Hidden;

  void restart() override {
    networks_.resize(UpdateInput::instances);
    for (Network& network : networks_) {
      network.gates.resize(gate_nodes);
      for (auto& node : network.gates) start(node);
      start(network.output);
    }
  }
  void run(std::span<double> values) override {
    for (std::size_t k = 0; k < values.size(); ++k) {
      const double* h = input_.h(k).data();
      for (Network& network : networks_) {
        for (std::size_t node = 0; node < gate_nodes; ++node)
          network.gates[node].update(input_.e(k), h + node * row);
        network.output.update(input_.e(k), h + gate_nodes * row);
      }
      values[k] = weight(networks_[UpdateInput::watched_instance(k)], input_.watched(k));
    }
  }

 private:
  struct Network {
    std::vector<EigenNode<static_cast<int>(row)>> gates;
    EigenNode<Hidden + 1> output;
  };
  static void start(auto& node) {
    node.P.setIdentity();
    node.P *= UpdateInput::initial_covariance;
    node.theta.setZero();
  }
  static double weight(const Network& network, std::size_t index) {
    if (index < gate_nodes * row)
      return network.gates[index / row].theta[static_cast<int>(index % row)];
    return network.output.theta[static_cast<int>(index - gate_nodes * row)];
  }

  UpdateInput input_{gate_nodes * row + Hidden + 1};
  std::vector<Network> networks_;
};

std::unique_ptr<peers::Task> make_openblas(const std::string& name) {
  if (peers::rule_of(name) != "ekf-update") throw std::invalid_argument("no such case: " + name);
  return std::make_unique<OpenBlasEkf>(peers::size_of(name));
}

std::unique_ptr<peers::Task> make_eigen(const std::string& name) {
  if (peers::rule_of(name) == "ekf-update") return std::make_unique<EigenEkf>(peers::size_of(name));
  if (name == "A/block-update") return std::make_unique<EigenBlocks<8, 16>>();
  if (name == "B/block-update") return std::make_unique<EigenBlocks<32, 12>>();
  throw std::invalid_argument("no such case: " + name);
}

nlohmann::json versions() {
  std::ostringstream eigen;
  eigen << EIGEN_WORLD_VERSION << '.' << EIGEN_MAJOR_VERSION << '.' << EIGEN_MINOR_VERSION;
  return {{"eigen", eigen.str()}, {"openblas", openblas_get_config()}, {"compiler", __VERSION__}};
}

}  // namespace

int main(int argc, char** argv) {
  const std::string library = argc == 2 ? argv[1] : "";
  if (library == "openblas") return peers::serve(make_openblas);
  if (library == "eigen") return peers::serve(make_eigen);
  if (library == "versions") {
    std::cout << versions() << std::endl;
    return 0;
  }
  std::cerr << "usage: blas_eigen_peer openblas|eigen|versions\n";
  return 1;
}
