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
  ++count_;
  size_ = std::min(size_ + 1, capacity_);
  double* row = &rows_[place(1)];
  for (const auto part : {x, d}) row = std::copy(part.begin(), part.end(), row);
  std::copy(past.begin(), past.end(),
            pasts_.begin() + static_cast<std::ptrdiff_t>(place_of_past(1)));
}

SampleMemory::Sample SampleMemory::operator[](std::size_t age) const {
  const auto row = std::span(rows_).subspan(place(age), numbers());
  return {.x = row.first(sight_.inputs),
          .past = std::span(pasts_).subspan(place_of_past(age), past_numbers()),
          .knows_past = age <= constants::memory_with_past,
          .d = row.last(sight_.outputs)};
}

// Only what is still remembered. A sample that was not believed has targets that are not numbers.
void SampleMemory::exchange(Archive& archive) {
  archive.count(count_);
  archive.count(size_, std::min<std::uint64_t>(count_, capacity_));
  for (std::size_t age = size_; age > 0; --age) {
    archive.run(std::span(rows_).subspan(place(age), numbers()), Archive::any);
    if (age <= constants::memory_with_past)
      archive.run(std::span(pasts_).subspan(place_of_past(age), past_numbers()));
  }
}

// The generator has no memory, so that one sample less changes little.
void replay(Expert& e, Learner& learner, const SampleMemory& memory, const Scale& scale,
            std::uint64_t step, std::uint64_t turn) {
  const std::size_t available = std::min(memory.size(), e.plan.memory);
  if (e.plan.replays == 0 || available == 0) return;
  Rng rng(e.plan.network.seed ^ (step << 20) ^ (turn << 54));
  for (std::size_t n = 0; n < e.plan.replays; ++n)
    learn_again(e, learner, memory[1 + rng.below(available)], scale);
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
