// Learners to bytes and back.
#include "capi/learner_handle.h"
#include "capi/snapshot_in.h"
#include "core/envelope.h"
#include "engine/learnt.h"
#include "kalstream/snapshot.h"

namespace kalstream::capi {
namespace {

// Its format is counted with those of snapshots: what is in it is written as it is there.
constexpr Envelope learner_envelope{
    {0x89, 'K', 'A', 'L', 'L', '\r', '\n', 0x1a}, /*format=*/5, "learner with its companions"};

void exchange(Archive& archive, CalibrationOptions& with) {
  archive.number(with.coverage, Archive::fraction);
  archive.require(with.coverage < 1);
  archive.flag(with.surprise);
  archive.count(with.horizon, Forecaster::longest_horizon);
}

std::vector<std::byte> saved(kalstream_learner& l) {
  const auto snapshot = save(l.learner());
  std::vector<std::byte> bytes;
  const std::size_t begins = begin(learner_envelope, bytes);
  Archive to(bytes);
  std::string_view learnt = as_text(snapshot);
  to.text(learnt);
  CalibrationOptions with = l.calibrated.calibration();
  exchange(to, with);
  l.calibrated.exchange(to);
  close(bytes, begins);
  seal(std::span(bytes).subspan(begins));
  return bytes;
}

std::unique_ptr<kalstream_learner> loaded(std::span<const std::byte> bytes,
                                          CalibrationOptions with) {
  if (!begins_like(learner_envelope, bytes))
    return std::make_unique<kalstream_learner>(CalibratedLearner(learnt_of(bytes).learner, with));
  if (with != CalibrationOptions{})
    throw std::invalid_argument(
        "settings: these bytes have interval, surprise and horizon of their own");
  Archive from = open(learner_envelope, bytes);
  std::string_view learnt;
  from.text(learnt);
  exchange(from, with);
  auto l = std::make_unique<kalstream_learner>(CalibratedLearner(load(as_bytes(learnt)), with));
  l->calibrated.exchange(from);
  from.require(from.left() == 0);
  return l;
}

}  // namespace

std::span<const std::byte> snapshot_in(std::span<const std::byte> bytes) {
  if (!begins_like(learner_envelope, bytes)) return bytes;
  Archive from = open(learner_envelope, bytes);
  std::string_view learnt;
  from.text(learnt);
  return as_bytes(learnt);
}

}  // namespace kalstream::capi

using namespace kalstream::capi;

int kalstream_learner_snapshot(kalstream_learner* learner, unsigned char** bytes, size_t* size) {
  return guarded_with(learner, [&] {
    require(bytes, "bytes");
    require(size, "size");
    const auto snapshot = kalstream::save(learner->learner());
    *bytes = copy_of(snapshot);
    *size = snapshot.size();
  });
}

int kalstream_learner_save(kalstream_learner* learner, unsigned char** bytes, size_t* size) {
  return guarded_with(learner, [&] {
    require(bytes, "bytes");
    require(size, "size");
    const auto all = saved(*learner);
    *bytes = copy_of(all);
    *size = all.size();
  });
}

int kalstream_learner_load(const unsigned char* bytes, size_t size, const char* const* settings,
                           kalstream_learner** learner) {
  return guarded([&] {
    require(learner, "learner");
    const auto in = bytes_in(bytes, size);
    Pairs pairs = pairs_in(settings);
    const kalstream::CalibrationOptions with = take_calibration(pairs);
    if (!pairs.empty())
      throw std::invalid_argument("settings: '" + pairs.front().first +
                                  "' is the learner's own, which the bytes have");
    *learner = loaded(in, with).release();
  });
}
