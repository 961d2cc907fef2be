// Lines of a live stream: read, answered and learnt; the first byte chooses what is asked for.
#include "core/archive.h"
#include "fuzz.h"
#include "kalstream/snapshot.h"
#include "stream/answers.h"
#include "stream/model.h"

namespace kalstream {
namespace {

struct Listener final : ModelListener {
  void answered(const Answer& answer) override { text = writer.answer(*sample, answer); }
  void scored(std::span<const double>, std::span<const Interval>,
              std::span<const double>) override {}
  void stepped(const StepReport&) override {}

  AnswerWriter writer;
  const Sample* sample = nullptr;
  std::string text;
};

}  // namespace
}  // namespace kalstream

KALSTREAM_FUZZ(stream) {
  using namespace kalstream;
  if (bytes.empty()) return;
  const auto choice = std::to_integer<unsigned>(bytes[0]);
  SampleFields fields;
  if ((choice & 1) != 0) fields.columns.targets = {"y"};
  if ((choice & 2) != 0) fields.columns.inputs = {"none"};
  if ((choice & 4) != 0) fields.key = "k";
  fields.partial = (choice & 64) != 0;
  SampleReader reader("stream", fields);
  const ModelOptions options{.coverage = (choice & 8) != 0 ? 0.9 : 0,
                             .horizon = (choice & 16) != 0 ? 2U : 0,
                             .max_delay = 3};
  std::unique_ptr<StreamModel> model;
  Listener listener;
  const std::string text = fuzz::as_text(bytes.subspan(1));
  std::uint64_t number = 0;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = std::string_view(text).substr(at, end - at);
    at = end + 1;
    Sample* sample = nullptr;
    try {
      sample = &reader.read(line, ++number);
    } catch (const DataError& error) {
      fuzz::require(std::string_view(error.what()).starts_with("stream:"));
      continue;
    }
    if (sample->kind == Sample::Kind::nothing) continue;
    if (!model) {
      if (reader.inputs() > 50 || reader.outputs() > 5) return;
      model = std::make_unique<StreamModel>(
          make_learner({.network = {.inputs = reader.inputs(), .outputs = reader.outputs()},
                        .rule = Ar{.lags = 2}}),
          options);
      listener.writer = AnswerWriter({.json = (choice & 32) != 0,
                                      .keys = (choice & 4) != 0,
                                      .held = fields.partial,
                                      .intervals = (choice & 8) != 0,
                                      .horizon = options.horizon,
                                      .targets = reader.target_names()});
    }
    if (sample->kind == Sample::Kind::inputs && !model->complete(sample->x)) continue;
    listener.sample = sample;
    model->take(*sample, listener);
    fuzz::require(!listener.text.empty());
  }
  if (!model) return;
  const auto saved = model->to_bytes();
  Archive from{std::span<const std::byte>(saved)};
  fuzz::require(StreamModel::load(from)->to_bytes() == saved);
}
