// What strangeness tells of series that were predicted before, with other constants than usual
// (experiments/alarms.py --constants). Arguments: settings NAME=VALUE, then files with a line
// target,prediction,surprise for each row. Prints the name of each file and, of its rows that were
// told with more than 0.2, the row from 0, the strangeness, and 1 if an alarm starts there.
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

#include "alarms/strange_output.h"

namespace {

using namespace kalstream;

std::map<std::string, double*> names_of(StrangenessConstants& c) {
  return {{"threshold", &c.threshold},
          {"size", &c.size},
          {"first_rows", &c.first_rows},
          {"history", &c.history},
          {"short_window", &c.short_window},
          {"long_window", &c.long_window},
          {"gate", &c.gate},
          {"proneness", &c.proneness},
          {"prone_step", &c.prone_step},
          {"prone_memory", &c.prone_memory},
          {"growth", &c.growth},
          {"lasting", &c.lasting},
          {"young_part", &c.young_part},
          {"leak", &c.leak},
          {"renew", &c.renew},
          {"again", &c.again},
          {"calm", &c.calm},
          {"quiet", &c.quiet},
          {"stuck_rows", &c.stuck_rows},
          {"stuck_times", &c.stuck_times},
          {"stuck_memory", &c.stuck_memory}};
}

void look_at(const std::string& path, const StrangenessConstants& constants) {
  std::ifstream in(path);
  StrangeOutput output(constants);
  bool lasts = false;
  double calm = 0;
  std::size_t row = 0;
  fmt::print("# {}\n", path);
  for (std::string line; std::getline(in, line); ++row) {
    char* at = nullptr;
    const double d = std::strtod(line.c_str(), &at);
    const double d_hat = std::strtod(at + 1, &at);
    const double p = std::strtod(at + 1, nullptr);
    const Strangeness::Look look = output.take(d_hat, p, d);
    calm = look.size >= 0.5 ? 0 : calm + 1;
    if (calm > constants.calm) lasts = false;
    const bool starts = !lasts && look.strangeness >= 1;
    lasts |= starts;
    if (look.strangeness > 0.2) fmt::print("{} {:.4g} {}\n", row, look.strangeness, starts ? 1 : 0);
  }
}

}  // namespace

int main(int argc, char** argv) {
  StrangenessConstants constants;
  const auto names = names_of(constants);
  for (int k = 1; k < argc; ++k) {
    const std::string argument = argv[k];
    const std::size_t equals = argument.find('=');
    if (equals == std::string::npos) {
      look_at(argument, constants);
    } else if (const auto found = names.find(argument.substr(0, equals)); found != names.end()) {
      *found->second = std::strtod(argument.c_str() + equals + 1, nullptr);
    } else {
      fmt::print(stderr, "there is no constant {}\n", argument);
      return 2;
    }
  }
  return 0;
}
