// Learners, a preset and settings as the command line gives them, each on a line of its own: names
// separated by commas, the preset, then assignments.
#include <sstream>
#include <stdexcept>

#include "contenders/contenders.h"
#include "fuzz.h"
#include "kalstream/settings.h"

KALSTREAM_FUZZ(settings) {
  using namespace kalstream;
  std::istringstream lines(fuzz::as_text(bytes));
  std::string line;
  std::vector<Contender> contenders;
  try {
    std::getline(lines, line);
    std::istringstream list(line);
    std::vector<std::string> names;
    for (std::string name; std::getline(list, name, ',');) names.push_back(name);
    std::getline(lines, line);
    contenders = make_contenders(names, line, {});
  } catch (const std::invalid_argument&) {
    return;
  }
  while (std::getline(lines, line)) {
    try {
      apply_setting(contenders, line, 100);
    } catch (const std::invalid_argument&) {
    }
    try {
      parse_seeds(line);
    } catch (const std::invalid_argument&) {
    }
  }
  for (const Contender& one : contenders) {
    for (const Setting& s : settings_of(one.options)) fuzz::require(!s.key.empty());
    try {
      one.options.validate();
    } catch (const std::invalid_argument&) {
    }
  }
}
