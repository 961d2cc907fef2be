#include "auto/memory.h"

#include <new>
#include <utility>

#include "auto/panel.h"
#include "auto/scale.h"
#include "core/archive.h"
#include "core/rng.h"
#include "learner/portioned_learner.h"

namespace kalstream {
namespace {

void learn_again(Expert& e, Learner& learner, const SampleMemory::Sample& sample,
                 const Scale& scale) {
  if (!sample.is_whole()) return;  // was not believed
  if (e.plan.lags > 0 && !sample.knows_past) return;
  scale.see(sample.x, sample.past, e.again_seen);
  scale.standardise_target(sample.d, e.again_target);
  const auto target = e.target_of(e.again_target, sample.d);
  if (e.plan.is_portioned())
    static_cast<PortionedLearner&>(learner).remember(e.view(e.again_seen), target);
  else
    learner.learn(e.view(e.again_seen), target);
}

}  // namespace

void SampleMemory::push(std::span<const double> x, std::span<const double> past,
                        std::span<const double> d) {
  double* row = rows_.push().data();
  for (const auto part : {x, d}) row = std::copy(part.begin(), part.end(), row);
  std::ranges::copy(past, pasts_.push().begin());
}

SampleMemory::Sample SampleMemory::operator[](std::size_t age) const {
  const auto row = rows_.at(rows_.place(age));
  return {.x = row.first(sight_.inputs),
          .past = pasts_.at(pasts_.place(age)),
          .knows_past = age <= pasts_.size(),
          .d = row.last(sight_.outputs)};
}

// A sample that was not believed has targets that are not numbers.
void SampleMemory::exchange(Archive& archive) {
  rows_.exchange(archive);
  pasts_.exchange(archive);
}

// The generator has no memory, so that one sample less changes little.
void replay(Expert& e, Learner& learner, const SampleMemory& memory, const Scale& scale,
            std::uint64_t step, std::uint64_t turn) {
  if (e.plan.replays == 0 || memory.size() == 0) return;
  Rng rng(e.plan.network.seed ^ (step << 20) ^ (turn << 54));
  for (std::size_t n = 0; n < e.plan.replays; ++n)
    learn_again(e, learner, memory[1 + rng.below(memory.size())], scale);
}

void begin_again(Expert& e, const SampleMemory& memory, std::size_t newest) {
  e.next_sample = memory.count() - std::min(memory.size(), newest);
  try {
    e.next = make_expert(e.plan);
  } catch (const std::bad_alloc&) {
    if (e.is_awake()) e.next = std::move(e.learner);
    if (e.next) e.next->reset();
  }
}

void prepare(Expert& e, const SampleMemory& memory, const Scale& scale, std::uint64_t step,
             std::size_t samples) {
  if (!e.next) return;
  e.next_sample = std::max(e.next_sample, memory.count() - memory.size());
  for (; samples > 0 && e.next_sample < memory.count(); --samples, ++e.next_sample) {
    const std::uint64_t age = memory.count() - e.next_sample;
    learn_again(e, *e.next, memory[age], scale);
    replay(e, *e.next, memory, scale, step, age);
  }
  const bool has_work = e.plan.is_portioned() && static_cast<PortionedLearner&>(*e.next).work();
  if (has_work || e.next_sample < memory.count()) return;
  e.learner = std::move(e.next);
  e.next.reset();
  e.is_behind = false;
}

}  // namespace kalstream
