// Lines of a live stream: read, answered and learnt; the first byte chooses what is asked for.
#include "core/archive.h"
#include "engine/engine.h"
#include "fuzz.h"
#include "kalstream/snapshot.h"
#include "lines/record_reader.h"
#include "schema/dataset.h"
#include "schema/rules.h"
#include "session/answers.h"
#include "stores/memory_store_test_support.h"

KALSTREAM_FUZZ(stream) {
  using namespace kalstream;
  if (bytes.empty()) return;
  const auto choice = std::to_integer<unsigned>(bytes[0]);
  EngineOptions options;
  if ((choice & 1) != 0) options.fields.targets = {"y"};
  if ((choice & 2) != 0) options.fields.inputs = {"none"};
  if ((choice & 4) != 0) options.fields.key = "k";
  if ((choice & 128) != 0) options.fields.categories = {"c"};
  options.missing = (choice & 64) != 0 ? MissingInputs::hold : MissingInputs::learn;
  options.model = {.coverage = (choice & 8) != 0 ? 0.9 : 0,
                   .horizon = (choice & 16) != 0 ? 2U : 0,
                   .max_delay = 3};
  options.max_models = 2;
  options.recipe = [](std::size_t inputs, std::size_t outputs) {
    if (inputs > 50 || outputs > 5) throw std::invalid_argument("too much for a fuzzer");
    return Recipe{{.network = {.inputs = inputs, .outputs = outputs}, .rule = Ar{.lags = 2}}};
  };
  MemoryStore store;
  Engine engine(options, &store);
  RecordReader reader;
  Record record;
  std::string written;
  const std::string text = fuzz::as_text(bytes.subspan(1));
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = std::string_view(text).substr(at, end - at);
    at = end + 1;
    const Answer* answer = nullptr;
    try {
      if (reader.read(line, record)) answer = engine.take({.record = record});
    } catch (const DataError& error) {
      answer = engine.take({.is_problem = true, .problem = error.what()});
    } catch (const std::invalid_argument&) {
      return;
    }
    if (answer == nullptr) continue;
    const AnswerWriter writer({.json = (choice & 32) != 0,
                               .keys = engine.has_keys(),
                               .held = options.missing == MissingInputs::hold,
                               .intervals = options.model.coverage > 0,
                               .horizon = options.model.horizon,
                               .targets = engine.schema().target_names()});
    written.clear();
    writer.write(*answer, written);
    fuzz::require(!written.empty());
  }
  engine.learn();
  if (!engine.settled()) return;
  Bytes saved;
  Archive to(saved);
  engine.exchange(to);
  Engine again(options, &store);
  Archive from{std::span<const std::byte>(saved)};
  again.exchange(from);
  Bytes twice;
  Archive to_again(twice);
  again.exchange(to_again);
  fuzz::require(from.left() == 0 && twice == saved);
}
