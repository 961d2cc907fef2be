// kalstream generate: streams to try things on.
#include <fmt/format.h>

#include <memory>

#include "commands.h"
#include "data/generators.h"

namespace kalstream::cli {
namespace {

struct GenerateArguments {
  std::string name;
  std::vector<std::string> set;
  std::size_t rows = 5000;
  std::string out = "-";
};

std::string list_of_generators() {
  std::string text = "Streams and their parameters (defaults):\n";
  for (const GeneratorInfo& g : generators()) {
    text += fmt::format("\n  {:<14}{}\n", g.name, g.summary);
    for (const GeneratorParameter& p : g.parameters)
      text += fmt::format("    {:<12}{} ({}; {})\n", p.key, p.meaning, p.fallback, p.permitted());
  }
  return text +
         "\nExamples:\n"
         "  kalstream generate addition --set n=4 --set seed=2 --rows 20000 --out add4.csv\n"
         "  kalstream run 'gen:addition?n=4&seed=2'             the same, without a file\n";
}

void generate_stream(const GenerateArguments& a) {
  std::string spec = a.name;
  for (std::size_t k = 0; k < a.set.size(); ++k)
    spec += (k == 0 && a.name.find('?') == std::string::npos ? "?" : "&") + a.set[k];
  write_or_print(a.out, [&] { return csv_of(generate(spec, a.rows)); });
}

}  // namespace

void add_generate(CLI::App& app) {
  auto a = std::make_shared<GenerateArguments>();
  CLI::App* cmd = app.add_subcommand("generate", "Write a generated stream as CSV");
  cmd->add_option("name", a->name, "Which stream (below)")->required();
  cmd->add_option("--set", a->set, "key=value; may be repeated")
      ->allow_extra_args(false)
      ->take_all();
  cmd->add_option("--rows,--steps", a->rows, "How many rows")
      ->check(whole_number(1, 1e12))
      ->capture_default_str();
  cmd->add_option("--out", a->out, "File to write; - for standard output")->capture_default_str();
  cmd->footer(list_of_generators());
  cmd->callback([a] { generate_stream(*a); });
}

}  // namespace kalstream::cli
