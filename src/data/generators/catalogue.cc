// All generators by name, and the rows they make.
#include <algorithm>
#include <span>

#include "data/generators.h"
#include "data/generators/stream.h"

namespace kalstream::generator {
namespace {

std::vector<Generator> all_generators() {
  std::vector<Generator> all = {addition(), kin_like(), puma_like(), mackey_glass(),
                                narma10(),  lorenz(),   friedman(),  sine()};
  for (auto& generator : all)
    generator.info.parameters.push_back(whole({0, 1e15}, "seed", 1, "start of the random numbers"));
  return all;
}

const std::vector<Generator>& catalogue() {
  static const std::vector<Generator> all = all_generators();
  return all;
}

const Generator& find(std::string_view name) {
  for (const auto& generator : catalogue())
    if (generator.info.name == name) return generator;
  fail("unknown generator '" + std::string(name) + "'; the generators are " +
       listed(catalogue(), [](const auto& known) { return known.info.name; }));
}

}  // namespace
}  // namespace kalstream::generator

namespace kalstream {

const std::vector<GeneratorInfo>& generators() {
  static const std::vector<GeneratorInfo> infos = [] {
    std::vector<GeneratorInfo> all;
    for (const auto& one : generator::catalogue()) all.push_back(one.info);
    return all;
  }();
  return infos;
}

Dataset generate(std::string_view spec, std::size_t rows) {
  const std::size_t mark = std::min(spec.find('?'), spec.size());
  const auto& [info, make_stream] = generator::find(spec.substr(0, mark));
  const generator::Settings settings(info, spec.substr(std::min(mark + 1, spec.size())));
  const generator::Stream stream = make_stream(settings);

  Dataset data;
  data.name = info.name;
  data.source = "gen:" + std::string(spec);
  data.input_names = stream.input_names;
  data.target_names = {stream.target_name};
  data.inputs.resize(rows * data.n_inputs());
  data.targets.resize(rows);
  for (std::size_t row = 0; row < rows; ++row)
    data.targets[row] =
        stream.next(std::span(data.inputs).subspan(row * data.n_inputs(), data.n_inputs()));
  return data;
}

}  // namespace kalstream
