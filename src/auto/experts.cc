#include "auto/experts.h"

#include <algorithm>
#include <utility>

#include "core/layout.h"
#include "learner/footprint.h"
#include "learner/kernel_learner.h"
#include "learner/parts.h"
#include "learner/trees_learner.h"

namespace kalstream {
namespace {

/// Units for a network of at most so many weights, and at least two: what a covariance costs grows
/// with their square.
std::size_t units(NetworkOptions n, std::size_t most_weights) {
  while (n.hidden > 2 && ParameterLayout(n).size() > most_weights) --n.hidden;
  return n.hidden;
}

/// Inputs that networks see of a wide stream, in which each of them adds to the weights of every
/// unit.
constexpr std::size_t most_inputs_of_networks = 32;

/// What the kernel on the past sees of it: so many targets, and as many inputs as have lengths that
/// can be learnt.
constexpr std::size_t samples_of_the_past = 12;
constexpr std::size_t numbers_of_the_past = 24;

/// Past targets that one model sees, where there are several to a sample: what linear models of all
/// cost grows with their square. Of the seven channels of ETTh1, 28 or 168 make no difference of
/// 0.2 % to the error. The series experts of each target see more of its own past.
constexpr std::size_t most_past_targets = 28;

std::size_t lags_together(const Auto& options, std::size_t outputs) {
  if (outputs == 1) return options.lags;
  return std::min(options.lags, std::max<std::size_t>(most_past_targets / outputs, 1));
}

/// A network under one covariance, r = floor + factor·HPHᵀ.
struct Net {
  Cell cell = Cell::feedforward;
  std::size_t hidden = 0;
  std::size_t lags = 0;
  double deviation = 0.1;
  double floor = 0.1;
  double factor = 0.5;
  double process_noise = 1e-5;
  std::size_t replays = 0;
  std::size_t memory = 1000;
  std::size_t weights = 0;  // at most; 0: as many as is usual
};

/// The largest network has more weights where there are few inputs and targets: all others are
/// small then, and long memory needs many units.
std::size_t weights_of_recurrent(std::size_t inputs) {
  constexpr std::size_t many = 8;
  constexpr std::size_t least = 160;
  constexpr std::size_t more = 90;
  return least + more * (many - std::min(many, inputs));
}

/// Adds experts to the list, each by what distinguishes it from others of its kind.
class Planner {
 public:
  Planner(const Auto& options, const NetworkOptions& network)
      : network_(network),
        sight_(sight_of(options, network)),
        usual_weights_(network.inputs >= 24 ? 256 : 192),
        most_lags_(lags_together(options, network.outputs)) {}

  std::vector<ExpertPlan> plans;

  bool has_inputs() const { return network_.inputs > 0; }

  void add(const char* name, const Net& o) {
    ExpertPlan plan{.name = name, .lags = o.lags, .replays = o.replays, .memory = o.memory};
    NetworkOptions& n = plan.network;
    n.cell = o.cell;
    n.direct = true;
    n.weight_deviation = o.deviation;
    n.inputs = sight_.of_inputs(o.replays > 0) + o.lags * network_.outputs;
    n.hidden = std::max<std::size_t>(o.hidden * network_.hidden / 16, 2);
    n.hidden = units(n, o.weights > 0 ? o.weights : usual_weights_);
    Algorithm1 rule;
    rule.partition = Partition::full;
    rule.initial_covariance = 1;
    rule.process_noise = o.process_noise;
    rule.noise_floor = o.floor;
    rule.noise_factor = o.factor;
    rule.error_bound = 1e-9;
    rule.single_precision = true;
    plan.rule = rule;
    plan.may_sleep = true;
    add(std::move(plan));
  }

  // An LSTM under the full EKF. It is asked for by name, and may need long: it does not sleep.
  void add_full_ekf(const char* name, const GateBias& bias) {
    ExpertPlan plan{.name = name};
    plan.network.hidden = std::max<std::size_t>(network_.hidden * 3 / 4, 2);
    plan.network.gate_bias = bias;
    plan.rule = Ekf{.initial_covariance = 100,
                    .measurement_noise = 33,
                    .process_noise = Schedule::exponential(1e-3, 1e-6, 2000)};
    add(std::move(plan));
  }

  // A kernel, which has a linear part.
  void add_kernel(const char* name, std::size_t lags, const Kernel& rule) {
    ExpertPlan plan{.name = name, .lags = lags};
    plan.network = linear_network(network_.inputs, network_.outputs);
    plan.rule = rule;
    plan.may_sleep = true;
    add(std::move(plan));
  }

  void add_trees(const char* name, const Trees& rule) {
    ExpertPlan plan{.name = name};
    plan.network = linear_network(network_.inputs, network_.outputs);
    plan.rule = rule;
    plan.may_sleep = true;
    add(std::move(plan));
  }

  void add_linear(const char* name, bool sees_inputs, std::size_t lags, double covariance) {
    ExpertPlan plan{.name = name, .sees_inputs = sees_inputs, .lags = lags};
    plan.network = linear_network(network_.inputs, network_.outputs);
    plan.network.weight_deviation = NetworkOptions{}.weight_deviation;  // as of all networks here
    // Recursive least squares of each output: the full covariance has a block for each, and is 0
    // elsewhere.
    if (network_.outputs > 1)
      plan.rule = Dekf{.initial_covariance = covariance,
                       .measurement_noise = 1,
                       .process_noise = 0,
                       .partition = Partition::node};
    else
      plan.rule = Ekf{.initial_covariance = covariance, .measurement_noise = 1, .process_noise = 0};
    add(std::move(plan));
  }

  // An expert that says what it sees, `lags` past targets or none, from `first` on.
  void add_shown(const char* name, const Rule& rule, std::size_t lags, std::size_t first) {
    ExpertPlan plan{.name = name,
                    .rule = rule,
                    .sees_inputs = false,
                    .lags = lags,
                    .standardised = false,
                    .first = first};
    plan.network = linear_network(network_.outputs, network_.outputs);
    plans.push_back(std::move(plan));
  }

  const Sight& sight() const { return sight_; }

 private:
  // What is standardised: inputs and past targets. One that would see nothing is left out. A linear
  // model of the inputs sees all of them; what has more sees the chosen ones.
  void add(ExpertPlan plan) {
    plan.sees_inputs = plan.sees_inputs && has_inputs();
    plan.lags = std::min(plan.lags, most_lags_);
    const bool sees_all = plan.network.hidden == 0 && plan.lags == 0 && !plan.is_portioned();
    const std::size_t inputs = sees_all ? network_.inputs : sight_.of_inputs(plan.replays > 0);
    plan.sees_chosen = plan.sees_inputs && !sees_all && sight_.is_wide();
    plan.first = !plan.sees_inputs  ? sight_.past_targets()
                 : plan.sees_chosen ? sight_.chosen_inputs()
                                    : 0;
    plan.network.inputs = (plan.sees_inputs ? inputs : 0) + plan.lags * network_.outputs;
    if (plan.network.inputs == 0) return;
    plan.network.outputs = network_.outputs;
    plan.network.output_activation = OutputActivation::identity;
    plan.network.window = network_.window;
    plan.network.seed = network_.seed * 1000 + plans.size() + 1;
    plans.push_back(std::move(plan));
  }

  const NetworkOptions& network_;
  Sight sight_;
  std::size_t usual_weights_;
  std::size_t most_lags_;
};

}  // namespace

Sight sight_of(const Auto& options, const NetworkOptions& network) {
  const bool is_wide = network.inputs > most_inputs_of_networks;
  return {.inputs = network.inputs,
          .lags = std::max<std::size_t>(options.lags, 1),
          .outputs = network.outputs,
          .chosen = is_wide ? most_inputs_of_networks : 0};
}

std::vector<ExpertPlan> plan_experts(const Auto& options, const NetworkOptions& network) {
  Planner list(options, network);
  const bool has_inputs = list.has_inputs();
  const Cell ff = Cell::feedforward;
  const Cell rn = Cell::simple;
  if (has_inputs)
    list.add("replay3", {.cell = ff, .hidden = 24, .floor = 1, .factor = 1, .replays = 3});
  list.add("recurrent-lag1", {.cell = rn, .hidden = 8, .lags = 1, .floor = 0.3});
  list.add("window4", {.cell = ff, .hidden = 12, .lags = 4, .floor = 0.03});
  if (has_inputs) list.add("memoryless", {.cell = ff, .hidden = 16, .process_noise = 1e-4});
  list.add("recurrent", {.cell = rn,
                         .hidden = 24,
                         .floor = 0.3,
                         .factor = 1,
                         .weights = weights_of_recurrent(network.inputs + network.outputs - 1)});
  if (has_inputs)
    list.add("replay4", {.cell = ff, .hidden = 16, .floor = 1, .factor = 1, .replays = 4});
  list.add("lstm-lag2", {.cell = Cell::lstm, .hidden = 4, .lags = 2});
  if (has_inputs) {
    list.add("replay1",
             {.cell = ff, .hidden = 24, .deviation = 0.2, .floor = 0.3, .factor = 1, .replays = 1});
    list.add("replay2", {.cell = ff, .hidden = 16, .floor = 0.3, .factor = 1, .replays = 2});
    list.add("replay-recent", {.cell = ff,
                               .hidden = 16,
                               .floor = 1,
                               .factor = 1,
                               .process_noise = 1e-4,
                               .replays = 1,
                               .memory = 300});
  }
  list.add("window2", {.cell = ff, .hidden = 16, .lags = 2});
  list.add("window8-wide", {.cell = ff, .hidden = 16, .lags = 8});
  if (options.experts > 0 && list.plans.size() > options.experts)
    list.plans.resize(options.experts);

  if (options.full_ekf) {
    list.add_full_ekf("ekf", {-0.5, 0.5, -0.5});
    list.add_full_ekf("ekf-open", {5.0, 5.0, {}});
  }

  if (has_inputs) {
    list.add_kernel("kernel", 0, {.centres = 256, .memory = 2000});
    list.add_kernel("kernel-recent", 0, {.centres = 128, .memory = 400, .renewal = 200});
    list.add_kernel(
        "kernel-past", samples_of_the_past,
        {.centres = 128,
         .memory = 1000,
         .past_inputs = std::min(samples_of_the_past, numbers_of_the_past / network.inputs)});
  }
  if (has_inputs) list.add_trees("trees", {});
  if (has_inputs) list.add_linear("rls", true, 0, 1);
  const std::size_t lags = lags_together(options, network.outputs);
  if (lags >= 1) list.add_linear("ar1", false, 1, 10);
  if (lags >= 4) list.add_linear("ar4", false, 4, 100);
  if (lags >= 8) list.add_linear("ar8", false, 8, 100);
  if (lags > 1 && lags != 4 && lags != 8) list.add_linear("ar", false, lags, 100);
  if (has_inputs) list.add_linear("arx2", true, 2, 10);

  list.add_shown("naive", Naive{}, 1, list.sight().last_target());
  list.add_shown("mean", Mean{}, 0, list.sight().mean());
  return std::move(list.plans);
}

std::unique_ptr<Learner> make_expert(const ExpertPlan& plan) {
  if (!plan.has_network()) return nullptr;
  if (const auto* kernel = std::get_if<Kernel>(&plan.rule))  // what it sees is standardised
    return std::make_unique<KernelLearner>(plan.network.inputs, plan.network.outputs, *kernel);
  if (const auto* trees = std::get_if<Trees>(&plan.rule))
    return std::make_unique<TreesLearner>(plan.network.inputs, plan.network.outputs, *trees,
                                          plan.network.seed);
  return make_learner({.network = plan.network, .rule = plan.rule});
}

double cost_of(const ExpertPlan& plan) {
  return footprint({.network = plan.network, .rule = plan.rule}).bytes *
         static_cast<double>(1 + plan.replays);
}

double noise_of(const ExpertPlan& plan) {
  if (const auto* ekf = std::get_if<Ekf>(&plan.rule)) return ekf->measurement_noise.from;
  if (const auto* dekf = std::get_if<Dekf>(&plan.rule)) return dekf->measurement_noise.from;
  if (const auto* algorithm1 = std::get_if<Algorithm1>(&plan.rule)) return algorithm1->noise_floor;
  return 1;
}

}  // namespace kalstream
