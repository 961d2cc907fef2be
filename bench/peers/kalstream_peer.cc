// kalstream as one of the peers (protocol.h), and the one place where the cases are defined.
//
//   kalstream_peer --describe      settings and initial weights of every case, as JSON
//   kalstream_peer A.csv B.csv     answers requests; streams as `kalstream generate` writes them
#include <fstream>
#include <limits>

#include "kalstream/learner.h"
#include "kalstream/presets.h"
#include "kalstream/version.h"
#include "model/network.h"
#include "protocol.h"
#include "update/update_rule.h"
#if __has_include("kernels/dispatch.h")
#include "kernels/dispatch.h"
#include "update/block_kalman.h"
#include "update/first_order.h"
#endif

namespace {

using namespace kalstream;
using nlohmann::json;
using peers::UpdateInput;

constexpr double run_length = 2500;  // of the published experiments

struct Stream {
  std::size_t inputs = 0;
  std::vector<double> x;  // row after row
  std::vector<double> d;
};

Stream read_stream(const char* path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(std::string("cannot read ") + path);
  Stream stream;
  std::string line, cell;
  std::getline(file, line);  // names
  while (std::getline(file, line)) {
    std::istringstream cells(line);
    std::vector<double> row;
    while (std::getline(cells, cell, ',')) row.push_back(std::stod(cell));
    stream.inputs = row.size() - 1;
    stream.x.insert(stream.x.end(), row.begin(), row.end() - 1);
    stream.d.push_back(row.back());
  }
  return stream;
}

// The published settings of the streams that have these sizes.
LearnerOptions options_of(const std::string& name) {
  const peers::Size size = peers::size_of(name);
  const Experiment experiment = size.inputs == 8 ? Experiment::kin8nm : Experiment::puma32fm;
  const auto published = [&](const Rule& rule) {
    LearnerOptions options = preset(Preset::authors, experiment, rule, run_length);
    options.network.inputs = size.inputs;
    options.network.hidden = size.hidden;
    return options;
  };
  const std::string rule = peers::rule_of(name);
  if (rule == "adam") return published(Adam{});
  if (rule == "ekf") return published(Ekf{});
  if (rule == "alg2-gated") return published(Algorithm2{});
  if (rule == "alg2-all") {  // bounds so small that no gate ever closes
    LearnerOptions options = published(Algorithm2{});
    auto& mixture = std::get<Algorithm2>(options.rule);
    mixture.error_bounds.assign(UpdateInput::instances, std::numeric_limits<double>::min());
    mixture.prior_weights.assign(UpdateInput::instances, 1.0);
    return options;
  }
  throw std::invalid_argument("no such case: " + name);
}

json describe(const Schedule& s) { return {{"from", s.from}, {"to", s.to}, {"steps", s.steps}}; }

json describe(const Adam& o) {
  return {{"learning_rate", o.learning_rate.at(0)},
          {"first_decay", o.first_decay},
          {"second_decay", o.second_decay},
          {"epsilon", o.epsilon}};
}

json describe(const Ekf& o) {
  return {{"initial_covariance", o.initial_covariance},
          {"measurement_noise", describe(o.measurement_noise)},
          {"process_noise", describe(o.process_noise)}};
}

json describe(const Algorithm2& o) {
  return {{"initial_covariance", o.expert.initial_covariance},
          {"process_noise", describe(o.expert.process_noise)},
          {"noise_floor", o.expert.noise_floor},
          {"noise_factor", o.expert.noise_factor},
          {"error_bounds", o.error_bounds},
          {"prior_weights", o.prior_weights},
          {"mixing_rate", *o.mixing_rate}};
}

json describe(const auto&) { throw std::logic_error("a rule no case uses"); }

json describe_all() {
  json all = {{"version", version()}, {"kernels", "reference"}};
#if __has_include("kernels/dispatch.h")
  all["kernels"] = kernels::target_name();
#endif
  for (const std::string size : {"A/", "B/"})
    for (const std::string rule : {"adam", "ekf", "alg2-all", "alg2-gated"}) {
      const LearnerOptions options = options_of(size + rule);
      json one = std::visit([](const auto& r) { return describe(r); }, options.rule);
      one["inputs"] = options.network.inputs;
      one["hidden"] = options.network.hidden;
      one["window"] = options.network.window;
      const ParameterLayout layout(options.network);
      std::vector<double> theta(layout.size());
      draw_initial_weights(options.network, layout, theta);
      one["theta"] = theta;
      all["cases"][size + rule] = one;
    }
  return all;
}

// Predict and learn. The values are the predictions.
class WholeStep final : public peers::Task {
 public:
  WholeStep(const LearnerOptions& options, const Stream& stream)
      : stream_(stream), learner_(make_learner(options)) {}

  void restart() override {
    learner_->reset();
    applied_ = 0;
  }
  void run(std::span<double> values) override {
    for (std::size_t row = 0; row < values.size(); ++row) {
      const std::span x = std::span(stream_.x).subspan(row * stream_.inputs, stream_.inputs);
      values[row] = learner_->predict(x).front();
      applied_ += learner_->learn(x, {&stream_.d.at(row), 1}).applied;
    }
  }
  std::size_t updates() const override { return applied_; }

 private:
  const Stream& stream_;
  std::unique_ptr<Learner> learner_;
  std::size_t applied_ = 0;
};

// The update rule alone, on one or more networks.
class UpdateOnly final : public peers::Task {
 public:
  UpdateOnly(const auto& rule, std::size_t instances, const ParameterLayout& layout)
      : input_(layout.size()), theta_(instances, AlignedVector(layout.size())) {
    for (std::size_t k = 0; k < instances; ++k) rules_.push_back(make_rule(rule, layout));
  }

  void restart() override {
    for (std::size_t k = 0; k < rules_.size(); ++k) {
      rules_[k]->reset();
      std::fill(theta_[k].begin(), theta_[k].end(), 0.0);
    }
  }
  void run(std::span<double> values) override {
    for (std::size_t row = 0; row < values.size(); ++row) {
      const double e = input_.e(row);
      for (std::size_t k = 0; k < rules_.size(); ++k)
        if (rules_[k]->update({&e, 1}, input_.h(row), theta_[k]) != StepStatus::applied)
          throw std::runtime_error("an update was refused");
      const std::size_t instance = UpdateInput::watched_instance(row) % theta_.size();
      values[row] = theta_[instance][input_.watched(row)];
    }
  }

 private:
  UpdateInput input_;
  std::vector<std::unique_ptr<UpdateRule>> rules_;
  std::vector<AlignedVector> theta_;
};

std::unique_ptr<peers::Task> make_update(const std::string& name) {
  const peers::Size size = peers::size_of(name);
  NetworkOptions network;
  network.inputs = size.inputs;
  network.hidden = size.hidden;
  const ParameterLayout layout(network);
  if (peers::rule_of(name) == "ekf-update")
    return std::make_unique<UpdateOnly>(Ekf{.initial_covariance = UpdateInput::initial_covariance,
                                            .measurement_noise = UpdateInput::measurement_noise,
                                            .process_noise = UpdateInput::process_noise},
                                        1, layout);
  return std::make_unique<UpdateOnly>(
      Algorithm1{.initial_covariance = UpdateInput::initial_covariance,
                 .process_noise = UpdateInput::process_noise,
                 .noise_floor = UpdateInput::noise_floor,
                 .noise_factor = UpdateInput::noise_factor,
                 .partition = Partition::node},
      UpdateInput::instances, layout);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 2 && std::string(argv[1]) == "--describe") {
      std::cout << describe_all() << std::endl;
      return 0;
    }
    if (argc != 3) throw std::invalid_argument("usage: kalstream_peer --describe | A.csv B.csv");
    const Stream a = read_stream(argv[1]);
    const Stream b = read_stream(argv[2]);
    return peers::serve([&](const std::string& name) -> std::unique_ptr<peers::Task> {
      if (name.ends_with("-update")) return make_update(name);
      return std::make_unique<WholeStep>(options_of(name), name.starts_with("A/") ? a : b);
    });
  } catch (const std::exception& error) {
    std::cerr << "kalstream_peer: " << error.what() << '\n';
    return 1;
  }
}
