// Versions, errors, and what there is.
#include <cstdlib>

#include "capi/learner_handle.h"
#include "engine/checkpoint.h"
#include "kalstream/settings.h"
#include "kalstream/version.h"
#include "lines/json_text.h"
#include "settings/schema_json.h"

namespace kalstream::capi {
namespace {

std::string learners_json() {
  std::vector<std::string> all;
  for (const LearnerName& learner : learner_names()) {
    std::vector<std::string> settings;
    for (const Setting& s : settings_of({.network = {}, .rule = rule_named(learner.name)}))
      settings.push_back(json_object({{"key", json_of(s.key)},
                                      {"value", json_of(s.value)},
                                      {"meaning", json_of(s.meaning)},
                                      {"permitted", json_of(s.permitted)}}));
    all.push_back(json_object({{"name", json_of(learner.name)},
                               {"meaning", json_of(learner.meaning)},
                               {"settings", json_list(settings)}}));
  }
  return json_list(all);
}

}  // namespace
}  // namespace kalstream::capi

using namespace kalstream::capi;

const char* kalstream_version(void) { return kalstream::version(); }

int kalstream_require_abi(unsigned abi) {
  return guarded([&] {
    if (abi < 1 || abi > KALSTREAM_ABI)
      throw Failure(KALSTREAM_INVALID, "libkalstream " + std::string(kalstream::version()) +
                                           " has interface version " +
                                           std::to_string(KALSTREAM_ABI) + ", not " +
                                           std::to_string(abi) + "; install a newer one");
  });
}

const char* kalstream_error(void) { return last_error(); }

void kalstream_free(void* memory) { std::free(memory); }

int kalstream_learners(char** json) {
  return guarded([&] {
    require(json, "json");
    *json = copy_of(learners_json());
  });
}

int kalstream_describe(const unsigned char* bytes, size_t size, char** json) {
  return guarded([&] {
    require(json, "json");
    const kalstream::Learnt learnt = kalstream::learnt_of(snapshot_in(bytes_in(bytes, size)));
    *json = copy_of(kalstream::schema_json(learnt.schema, learnt.learner.get()));
  });
}
