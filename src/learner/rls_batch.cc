#include "kalstream/rls_batch.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/aligned.h"
#include "core/archive.h"
#include "core/denormals.h"
#include "core/envelope.h"
#include "core/finite.h"
#include "core/moments.h"
#include "kalstream/snapshot.h"
#include "kernels/kernels.h"
#include "update/longevity.h"

namespace kalstream {
namespace {

using kernels::active;
using kernels::width;

constexpr Envelope batch_envelope{
    {0x89, 'K', 'A', 'L', 'B', '\r', '\n', 0x1a}, /*format=*/1, "snapshot of a batch"};
constexpr std::size_t widest = 1000;
constexpr std::size_t most_of_them = std::size_t{1} << 40;

void require_size(const char* what, std::size_t is, std::size_t wanted) {
  if (is != wanted)
    throw std::invalid_argument(std::string(what) + " has " + std::to_string(is) +
                                " numbers, not " + std::to_string(wanted));
}

void require_ascending(std::span<const std::size_t> which, std::size_t models) {
  for (std::size_t k = 0; k < which.size(); ++k)
    if (which[k] >= models || (k > 0 && which[k] <= which[k - 1]))
      throw std::invalid_argument("which: numbers of models below " + std::to_string(models) +
                                  ", each larger than the one before; number " +
                                  std::to_string(k + 1) + " is not");
}

StepStatus status_of(double outcome) {
  constexpr std::array all{StepStatus::applied, StepStatus::missing, StepStatus::rejected_input,
                           StepStatus::rejected_non_finite, StepStatus::rejected_covariance};
  return all[static_cast<std::size_t>(outcome)];
}

}  // namespace

// Models in groups of eight, each group's numbers one after the other: a call reads all of it once,
// in the order it lies in memory.
struct RlsBatch::State {
  State(std::size_t models_, std::size_t inputs_, const Rls& o)
      : models(models_),
        n(inputs_),
        options(o),
        longevity(o.initial_covariance, o.process_noise, 1) {
    options.validate();
    if (options.process_noise.kind != Schedule::Kind::constant)
      throw std::invalid_argument("process_noise: of models in a batch it has to be constant");
    if (models == 0 || models > most_of_them)
      throw std::invalid_argument("models: there has to be at least one");
    if (n == 0 || n > widest)
      throw std::invalid_argument("inputs: between 1 and " + std::to_string(widest));
    numbers.resize(groups() * stride());
    x.resize(width * n);
    work.resize(4 * width * rows());
    no_row.assign(n, std::numeric_limits<double>::quiet_NaN());
    for (std::size_t g = 0; g < groups(); ++g) std::fill_n(of(g).D, width * rows(), initial());
  }

  std::size_t rows() const { return n + 1; }
  std::size_t groups() const { return (models + width - 1) / width; }
  /// What models of so many inputs know, each.
  static std::size_t numbers_of_one(std::size_t inputs) {
    return 4 + 2 * inputs + 2 * (inputs + 1) + (inputs + 1) * inputs / 2;
  }
  std::size_t stride() const { return width * numbers_of_one(n); }
  double initial() const { return options.initial_covariance; }
  /// As a network's direct connections see inputs: so that many together are no larger than one.
  double scale() const { return 1 / std::sqrt(static_cast<double>(n)); }

  kernels::RlsModels of(std::size_t group) {
    double* at = numbers.data() + group * stride();
    const auto next = [&](std::size_t count) { return std::exchange(at, at + width * count); };
    kernels::RlsModels m;
    for (double** one : {&m.x_count, &m.d_count, &m.d_mean, &m.d_sum_sq}) *one = next(1);
    for (double** one : {&m.mean, &m.sum_sq}) *one = next(n);
    for (double** one : {&m.theta, &m.D}) *one = next(rows());
    m.P = next(rows() * n / 2);
    return m;
  }

  kernels::RlsRules rules() const {
    return {.noise = 1,
            .q = options.process_noise.from,
            .scale = scale(),
            .reach = RunningMoments::reach,
            .horizon = RunningMoments::horizon,
            .largest = largest_magnitude};
  }

  void require_model(std::size_t model) const {
    if (model >= models) throw std::invalid_argument("there is no model of this number");
  }
  void reset(std::size_t model) {
    double* const group = numbers.data() + model / width * stride();
    for (std::size_t k = model % width; k < stride(); k += width) group[k] = 0;
    const kernels::RlsModels m = of(model / width);
    for (std::size_t i = 0; i < rows(); ++i) m.D[width * i + model % width] = initial();
  }

  template <class Work>
  void for_groups(std::size_t count, const std::size_t* which, std::span<const double> X,
                  const Work& work_on);
  void predict(std::size_t count, const std::size_t* which, std::span<const double> X,
               std::span<double> d_hat);
  Report learn(std::size_t count, const std::size_t* which, std::span<const double> X,
               std::span<const double> d, std::span<double> d_hat, std::span<StepStatus> status);
  void mend(std::size_t group, std::size_t lane);
  void limit_growth();
  void exchange(Archive& archive);

  std::size_t models;
  std::size_t n;
  Rls options;
  Longevity longevity;
  std::uint64_t calls = 0;  // that have learnt
  AlignedVector numbers;
  // For one group at a time.
  AlignedVector x;
  AlignedVector work;
  std::vector<double> no_row;
};

// Which of a group's models has which row of X; beyond all of them if it has none.
using RowsOfGroup = std::array<std::size_t, width>;

// The groups that `count` models are in, with the rows of X interleaved. `which`: the numbers of
// the models; nullptr: all of them, in order.
template <class Work>
void RlsBatch::State::for_groups(std::size_t count, const std::size_t* which,
                                 std::span<const double> X, const Work& work_on) {
  const FlushDenormals while_running;
  const auto number = [which](std::size_t k) { return which == nullptr ? k : which[k]; };
  std::array<const double*, width> row{};
  RowsOfGroup rows_of{};
  for (std::size_t k = 0; k < count;) {
    const std::size_t group = number(k) / width;
    row.fill(no_row.data());
    rows_of.fill(count);
    for (; k < count && number(k) / width == group; ++k) {
      row[number(k) % width] = X.data() + k * n;
      rows_of[number(k) % width] = k;
    }
    active().interleave(n, row.data(), width, x.data());
    work_on(group, rows_of);
  }
}

// What Longevity::mend does to the covariance of other learners.
void RlsBatch::State::mend(std::size_t group, std::size_t lane) {
  const kernels::RlsModels m = of(group);
  bool possible = true;
  for (std::size_t i = 0, at = lane; i < rows(); ++i)
    for (std::size_t j = 0; j < i; ++j, at += width)
      possible = possible && m.P[at] * m.P[at] <= m.D[width * i + lane] * m.D[width * j + lane];
  for (std::size_t i = 0, at = lane; i < rows(); ++i) {
    m.D[width * i + lane] *= 1 + Longevity::mending;
    for (std::size_t j = 0; j < i && !possible; ++j, at += width) m.P[at] = 0;
  }
}

// What Longevity::limit_growth does to the covariance of other learners.
void RlsBatch::State::limit_growth() {
  if (!Longevity::is_due(++calls) || options.process_noise.from == 0) return;
  const double limit = longevity.limit(calls);
  for (std::size_t model = 0; model < models; ++model) {
    const kernels::RlsModels m = of(model / width);
    const std::size_t lane = model % width;
    bool grown = false;
    for (std::size_t i = 0; i < rows(); ++i) grown = grown || m.D[width * i + lane] >= limit;
    if (!grown) continue;
    for (std::size_t i = 0; i < rows(); ++i) m.D[width * i + lane] /= 2;
    for (std::size_t i = 0; i < rows() * n / 2; ++i) m.P[width * i + lane] /= 2;
  }
}

RlsBatch::RlsBatch(std::size_t models, std::size_t inputs, const Rls& options)
    : state_(std::make_unique<State>(models, inputs, options)) {}
RlsBatch::RlsBatch(const RlsBatch& other) : state_(std::make_unique<State>(*other.state_)) {}
RlsBatch::RlsBatch(RlsBatch&&) noexcept = default;
RlsBatch& RlsBatch::operator=(RlsBatch other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}
RlsBatch::~RlsBatch() = default;

std::size_t RlsBatch::models() const { return state_->models; }
std::size_t RlsBatch::inputs() const { return state_->n; }
std::size_t RlsBatch::bytes() const { return state_->numbers.size() * sizeof(double); }

std::uint64_t RlsBatch::samples(std::size_t model) const {
  state_->require_model(model);
  return static_cast<std::uint64_t>(state_->of(model / width).x_count[model % width]);
}

// From θᵀ[x' ; 1] in deviations of the target.
std::vector<double> RlsBatch::weights(std::size_t model) const {
  State& s = *state_;
  s.require_model(model);
  const kernels::RlsModels m = s.of(model / width);
  const std::size_t lane = model % width;
  const double unit = Welford{m.d_mean[lane], m.d_sum_sq[lane]}.deviation(m.d_count[lane]);
  std::vector<double> w(s.rows());
  w.back() = m.d_mean[lane] + unit * m.theta[width * s.n + lane];
  for (std::size_t j = 0; j < s.n; ++j) {
    const std::size_t at = width * j + lane;
    const double deviation = Welford{m.mean[at], m.sum_sq[at]}.deviation(m.x_count[lane]);
    w[j] = unit * s.scale() * m.theta[at] / deviation;
    w.back() -= w[j] * m.mean[at];
  }
  return w;
}

// ---- Predictions and steps, of all or some.

void RlsBatch::State::predict(std::size_t count, const std::size_t* which,
                              std::span<const double> X, std::span<double> d_hat) {
  require_size("X", X.size(), count * n);
  require_size("d_hat", d_hat.size(), count);
  const kernels::RlsRules by = rules();
  for_groups(count, which, X, [&](std::size_t group, const RowsOfGroup& rows_of) {
    std::array<double, width> said;
    active().rls_predict(n, of(group), by, x.data(), work.data(), said.data());
    for (std::size_t l = 0; l < width; ++l)
      if (rows_of[l] < count) d_hat[rows_of[l]] = said[l];
  });
}

RlsBatch::Report RlsBatch::State::learn(std::size_t count, const std::size_t* which,
                                        std::span<const double> X, std::span<const double> d,
                                        std::span<double> d_hat, std::span<StepStatus> status) {
  require_size("X", X.size(), count * n);
  require_size("d", d.size(), count);
  if (!d_hat.empty()) require_size("d_hat", d_hat.size(), count);
  if (!status.empty()) require_size("status", status.size(), count);
  const kernels::RlsRules by = rules();
  Report report;
  for_groups(count, which, X, [&](std::size_t group, const RowsOfGroup& rows_of) {
    std::array<double, width> wanted{};
    std::array<double, width> said;
    std::array<double, width> outcome;
    for (std::size_t l = 0; l < width; ++l)
      if (rows_of[l] < count) wanted[l] = d[rows_of[l]];
    active().rls_learn(n, of(group), by, x.data(), wanted.data(), work.data(), said.data(),
                       outcome.data());
    for (std::size_t l = 0; l < width; ++l) {
      if (rows_of[l] >= count) continue;
      const StepStatus became = status_of(outcome[l]);
      report.applied += became == StepStatus::applied ? 1 : 0;
      report.missing += became == StepStatus::missing ? 1 : 0;
      report.rejected += is_rejected(became) ? 1 : 0;
      if (became == StepStatus::rejected_covariance) mend(group, l);
      if (!d_hat.empty()) d_hat[rows_of[l]] = said[l];
      if (!status.empty()) status[rows_of[l]] = became;
    }
  });
  limit_growth();
  return report;
}

void RlsBatch::predict(std::span<const double> X, std::span<double> d_hat) {
  state_->predict(models(), nullptr, X, d_hat);
}

RlsBatch::Report RlsBatch::learn(std::span<const double> X, std::span<const double> d,
                                 std::span<double> d_hat, std::span<StepStatus> status) {
  return state_->learn(models(), nullptr, X, d, d_hat, status);
}

void RlsBatch::predict_some(std::span<const std::size_t> which, std::span<const double> X,
                            std::span<double> d_hat) {
  require_ascending(which, models());
  state_->predict(which.size(), which.data(), X, d_hat);
}

RlsBatch::Report RlsBatch::learn_some(std::span<const std::size_t> which, std::span<const double> X,
                                      std::span<const double> d, std::span<double> d_hat,
                                      std::span<StepStatus> status) {
  require_ascending(which, models());
  return state_->learn(which.size(), which.data(), X, d, d_hat, status);
}

// ---- Their state.

void RlsBatch::reset(std::size_t model) {
  state_->require_model(model);
  state_->reset(model);
}

void RlsBatch::reset() {
  for (std::size_t model = 0; model < models(); ++model) state_->reset(model);
  state_->calls = 0;
}

// Model after model, so that a vector unit of another width reads it as well.
void RlsBatch::State::exchange(Archive& archive) {
  archive.count(calls);
  for (std::size_t model = 0; model < models; ++model) {
    const kernels::RlsModels m = of(model / width);
    const std::size_t lane = model % width;
    const auto all = [&](double* from, std::size_t count, Archive::Condition holds) {
      for (std::size_t k = 0; k < count; ++k) archive.number(from[width * k + lane], holds);
    };
    constexpr auto is_count = [](double v) { return v >= 0 && v <= 0x1p53 && v == std::floor(v); };
    all(m.x_count, 1, is_count);
    all(m.d_count, 1, is_count);
    all(m.d_mean, 1, Archive::usable);
    all(m.d_sum_sq, 1, Archive::not_negative);
    all(m.mean, n, Archive::usable);
    all(m.sum_sq, n, Archive::not_negative);
    all(m.theta, rows(), Archive::usable);
    all(m.D, rows(), Archive::positive);
    all(m.P, rows() * n / 2, Archive::finite);
  }
}

std::vector<std::byte> RlsBatch::save() const {
  std::vector<std::byte> bytes;
  bytes.reserve(this->bytes() + 256);
  const std::size_t begins = begin(batch_envelope, bytes);
  Archive to(bytes);
  to.count(state_->models);
  to.count(state_->n);
  to.number(state_->options.initial_covariance);
  to.number(state_->options.process_noise.from);
  state_->exchange(to);
  close(bytes, begins);
  seal(bytes);
  return bytes;
}

RlsBatch RlsBatch::load(std::span<const std::byte> snapshot, std::uint64_t most_memory) {
  Archive from = open(batch_envelope, snapshot);
  std::size_t models = 0;
  std::size_t inputs = 0;
  double p = 0;
  double q = 0;
  from.count(models, most_of_them);
  from.count(inputs, widest);
  from.number(p);
  from.number(q);
  // As many as there are numbers for: nothing is made that was not written.
  from.require(models > 0 && inputs > 0 && from.left() % sizeof(double) == 0);
  from.require(from.left() / sizeof(double) == 1 + models * State::numbers_of_one(inputs));
  if (from.left() > most_memory)
    throw SnapshotError("the models would take more than " + std::to_string(most_memory) +
                        " bytes");
  try {
    RlsBatch batch(models, inputs, {.initial_covariance = p, .process_noise = q});
    batch.state_->exchange(from);
    return batch;
  } catch (const std::invalid_argument& error) {
    throw SnapshotError(std::string("its options contradict themselves: ") + error.what());
  }
}

}  // namespace kalstream
