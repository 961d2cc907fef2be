#include "fleet/find_schema.h"

#include <fmt/format.h>

#include <algorithm>

#include "lines/record_reader.h"
#include "schema/rules.h"
#include "schema/sample.h"

namespace kalstream::fleet {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t enough_for_categories = 20'000;

class Finder {
 public:
  Finder(const FieldChoice& choice, const std::function<void(const std::string&)>& say)
      : choice_(choice), say_(say) {}

  void look_at(const Input& input) {
    if (!input.value || input.is_import) return;
    const std::size_t begins = input.value->find_first_not_of(" \t\r\n");
    if (begins == input.value->npos || (*input.value)[begins] != '{') return;
    try {
      reader_.read(*input.value, record_);
      if (!samples_ && can_settle(record_, choice_)) samples_.emplace(settle(record_, choice_));
    } catch (const DataError&) {  // it will be answered so
      return;
    } catch (const SchemaError& error) {
      if (error.what() == said_) return;
      said_ = error.what();
      say_(fmt::format("partition {}, offset {} does not tell the fields: {}", input.partition,
                       input.offset, said_));
      return;
    }
    if (samples_) samples_->read(record_, sample_);
    looked_ += samples_ ? 1 : 0;
  }

  bool is_found() const { return samples_.has_value(); }
  bool has_categories() const {
    return std::ranges::any_of(samples_->schema().fields,
                               [](const auto& f) { return f.slots > 0; });
  }
  bool has_seen_enough() const { return looked_ >= enough_for_categories; }

  Schema schema() const {
    Schema schema = samples_->schema();
    for (Schema::Field& field : schema.fields) {
      if (field.slots == 0) continue;
      field.slots = field.values.size() + 1;  // the last is for all others
      say_(fmt::format("the category {} has {} values of its own; others share one", field.name,
                       field.values.size()));
    }
    return schema;
  }

 private:
  const FieldChoice& choice_;
  const std::function<void(const std::string&)>& say_;
  RecordReader reader_{{.format = Format::json}};
  Record record_;
  Sample sample_;
  std::optional<SampleReader> samples_;
  std::size_t looked_ = 0;
  std::string said_;
};

}  // namespace

std::optional<Schema> find_schema(Log& log, const FieldChoice& choice,
                                  const std::function<bool()>& stop,
                                  const std::function<void(const std::string&)>& say) {
  Finder finder(choice, say);
  for (int p = 0; p < log.partitions(); ++p) log.start_inputs(p, beginning);
  bool said = false;
  const auto begin = std::chrono::steady_clock::now();
  while (!stop()) {
    const auto inputs = log.poll_inputs(500, 200ms);
    for (const Input& input : inputs) {
      finder.look_at(input);
      if (finder.is_found() && !finder.has_categories()) break;
    }
    const bool done = finder.is_found() &&
                      (!finder.has_categories() || inputs.empty() || finder.has_seen_enough());
    if (done) break;
    if (!said && std::chrono::steady_clock::now() - begin > 2s) {
      say("waiting for the first sample: it tells the fields");
      said = true;
    }
  }
  for (int p = 0; p < log.partitions(); ++p) log.stop_inputs(p);
  if (!finder.is_found()) return {};
  return finder.schema();
}

}  // namespace kalstream::fleet
