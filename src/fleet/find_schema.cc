#include "fleet/find_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lines/record_reader.h"
#include "schema/rules.h"
#include "schema/sample.h"

namespace kalstream::fleet {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t enough_for_categories = 20'000;

/// Whether it may be a record: an object in JSON.
bool is_object(const Input& input) {
  if (!input.value || input.is_import) return false;
  const std::size_t begins = input.value->find_first_not_of(" \t\r\n");
  return begins != input.value->npos && (*input.value)[begins] == '{';
}

}  // namespace

std::optional<Schema> find_schema(Log& log, const FieldChoice& choice,
                                  const std::function<bool()>& stop,
                                  const std::function<void(const std::string&)>& say) {
  RecordReader reader({.format = Format::json});
  Record record;
  Sample sample;
  std::optional<SampleReader> samples;  // once the fields are known
  bool has_categories = false;
  std::size_t looked = 0;
  std::string said;
  const auto look_at = [&](const Input& input) {
    try {
      reader.read(*input.value, record);
      if (verdict_in(record, choice.key.empty() ? 0 : 1)) return;
      if (!samples && can_settle(record, choice)) samples.emplace(settle(record, choice));
    } catch (const DataError&) {  // it will be answered so
      return;
    } catch (const SchemaError& error) {
      if (std::exchange(said, error.what()) != error.what())
        say(fmt::format("partition {}, offset {} does not tell the fields: {}", input.partition,
                        input.offset, said));
      return;
    }
    if (!samples) return;
    samples->read(record, sample);
    ++looked;
    has_categories = std::ranges::any_of(samples->schema().fields,
                                         [](const auto& field) { return field.slots > 0; });
  };

  for (int p = 0; p < log.partitions(); ++p) log.start_inputs(p, beginning);
  bool waits = false;
  const auto begin = std::chrono::steady_clock::now();
  for (bool done = false; !done && !stop();) {
    const auto inputs = log.poll_inputs(500, 200ms);
    for (const Input& input : inputs) {
      if (is_object(input)) look_at(input);
      if (samples && !has_categories) break;
    }
    done = samples && (!has_categories || inputs.empty() || looked >= enough_for_categories);
    if (done || waits || std::chrono::steady_clock::now() - begin <= 2s) continue;
    say("waiting for the first sample: it tells the fields");
    waits = true;
  }
  for (int p = 0; p < log.partitions(); ++p) log.stop_inputs(p);
  if (!samples) return {};
  Schema schema = samples->schema();
  for (Schema::Field& field : schema.fields) {
    if (field.slots == 0) continue;
    field.slots = field.values.size() + 1;  // the last is for all others
    say(fmt::format("the category {} has {} values of its own; others share one", field.name,
                    field.values.size()));
  }
  return schema;
}

}  // namespace kalstream::fleet
