// Learners and their options by name, as text: for whatever reads them from people or files, such
// as a command line or a binding to another language.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "kalstream/options.h"

namespace kalstream {

struct LearnerName {
  const char* name;
  const char* meaning;
};

/// Every learner there is, the default first.
const std::vector<LearnerName>& learner_names();

/// The rule of this name with its defaults. Throws std::invalid_argument listing what is known, and
/// what may have been meant.
Rule rule_named(std::string_view name);

/// What a learner of this rule is called.
std::string name_of(const Rule& rule);

/// An option of a learner.
struct Setting {
  std::string key;
  std::string value;      ///< at present
  std::string meaning;    ///< in a line
  std::string permitted;  ///< what it must be: "finite and positive"; empty: anything of its kind
};

/// All settings of a learner with their present values.
std::vector<Setting> settings_of(const LearnerOptions& options);

/// Sets the one named `key`, if there is one; false if not. Numbers are written as such, choices by
/// name, lists with commas, what may be unset also as "none", and schedules as to_text writes them.
/// A schedule A..B that does not say over how many samples spans `run_length`, which must then be
/// known. Throws std::invalid_argument for a value of another kind: "'many' is not a whole number".
bool set_if_known(LearnerOptions& options, std::string_view key, std::string_view value,
                  std::size_t run_length = 0);

/// The same, but a key that is not known throws std::invalid_argument as well; naming the key, what
/// there is, and what may have been meant.
void set_option(LearnerOptions& options, std::string_view key, std::string_view value,
                std::size_t run_length = 0);

/// `A`, `A..B@N` (linear over N samples) or `A~B@N` (exponential).
std::string to_text(const Schedule& schedule);

/// Reads that; A..B alone is linear over `run_length`. Throws std::invalid_argument.
Schedule schedule_from(std::string_view text, std::size_t run_length = 0);

/// What these options ask for without effect, in a sentence; empty if there is nothing of the kind.
std::string remark_on(const LearnerOptions& options);

}  // namespace kalstream
