// Versions, errors, and what there is.
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "capi/learner_handle.h"
#include "capi/snapshot_in.h"
#include "engine/checkpoint.h"
#include "engine/learnt.h"
#include "kalstream/settings.h"
#include "kalstream/version.h"
#include "settings/schema_json.h"

namespace kalstream::capi {
namespace {

std::string learners_json() {
  using Json = nlohmann::ordered_json;
  Json all = Json::array();
  for (const LearnerName& learner : learner_names()) {
    Json settings = Json::array();
    for (const Setting& s : settings_of({.network = {}, .rule = rule_named(learner.name)}))
      settings.push_back(
          {{"key", s.key}, {"value", s.value}, {"meaning", s.meaning}, {"permitted", s.permitted}});
    all.push_back(
        {{"name", learner.name}, {"meaning", learner.meaning}, {"settings", std::move(settings)}});
  }
  return all.dump();
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
