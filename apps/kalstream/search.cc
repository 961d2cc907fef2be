// kalstream search: the best of a grid of settings on a stream.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "checks.h"
#include "commands.h"
#include "comparison_view.h"
#include "contenders/contenders.h"
#include "data/source.h"
#include "eval/parallel.h"
#include "io/atomic_file.h"
#include "io/results.h"
#include "search/grid.h"
#include "stream_options.h"
#include "view/progress.h"
#include "view/table.h"

namespace kalstream::cli {
namespace {

namespace fs = std::filesystem;

struct SearchArguments {
  std::string data;
  std::vector<std::string> columns;
  StreamSettings settings;
  std::size_t delay = 0;
  std::string learner = "alg2";
  std::string preset;
  std::vector<std::string> grid;
  std::vector<std::string> set;
  std::size_t steps = 1000;
  std::string seeds = "10";
  ScalingArguments scaling;
  std::size_t jobs = 0;
  std::string out;
  std::string plot;
  std::string json;
  bool resume = false;
  bool quiet = false;
};

std::vector<GridAxis> axes_of(const SearchArguments& a) {
  std::vector<GridAxis> axes;
  for (const std::string& text : a.grid) {
    axes.push_back(parse_axis(text));
    for (std::size_t k = 0; k + 1 < axes.size(); ++k)
      if (axes[k].key == axes.back().key)
        throw std::invalid_argument(fmt::format("--grid names {} twice", axes[k].key));
  }
  if (axes.empty()) axes = published_grid(a.learner);
  if (axes.empty())
    throw std::invalid_argument(fmt::format(
        "the paper searched no grid for {}; name one with --grid KEY=V1,V2,... (kalstream inspect "
        "--learner {} lists the keys)",
        a.learner, a.learner));
  return axes;
}

std::string surface_json(const GridSearch& s, const std::vector<GridPoint>& surface) {
  using Json = nlohmann::ordered_json;
  Json root{{"data", s.data->source},
            {"learner", s.contender.name},
            {"steps", std::min(s.evaluation.steps, s.data->rows())},
            {"seeds", s.seeds},
            {"measure", measure_of(s)},
            {"keys", Json::array()}};
  for (const GridAxis& axis : s.axes) root["keys"].push_back(axis.key);
  const auto point = [](const GridPoint& p) {
    return Json{{"values", p.values},
                {"mean", json_number(p.mean)},
                {"deviation", json_number(p.deviation)}};
  };
  root["best"] = point(surface[best_point(surface)]);
  root["points"] = Json::array();
  for (const GridPoint& p : surface) root["points"].push_back(point(p));
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

void print_best(const SearchArguments& arguments, const GridSearch& s,
                const std::vector<GridPoint>& surface) {
  constexpr std::size_t shown = 10;
  std::vector<GridPoint> sorted = surface;
  std::ranges::stable_sort(
      sorted, {}, [](const GridPoint& p) { return std::isnan(p.mean) ? INFINITY : p.mean; });

  std::vector<view::Column> columns;
  for (const GridAxis& axis : s.axes) columns.push_back({axis.key});
  columns.push_back({fmt::format("{} mean", measure_of(s))});
  columns.push_back({"± over seeds"});
  view::Table table(columns);
  for (std::size_t k = 0; k < std::min(shown, sorted.size()); ++k) {
    const GridPoint& p = sorted[k];
    std::vector<view::Cell> cells;
    for (const std::string& v : p.values) cells.emplace_back(v, k == 0);
    cells.emplace_back(fmt::format("{:.4f}", p.mean), k == 0);
    cells.emplace_back(fmt::format("{:.4f}", p.deviation));
    table.add_row(std::move(cells));
  }
  fmt::print("{}: {}, first {} rows, {}, {}{}\n{}", s.data->source, s.contender.name,
             std::min(s.evaluation.steps, s.data->rows()), view::plural(s.seeds.size(), "seed"),
             view::plural(surface.size(), "combination"),
             surface.size() > shown ? fmt::format("; the best {}", shown) : "",
             table.to_text(view::is_terminal(stdout)));
  const GridPoint& best = sorted.front();
  fmt::print("kalstream run {} --learner {}", s.data->source, s.contender.name);
  if (!arguments.preset.empty()) fmt::print(" --preset {}", arguments.preset);
  if (s.contender.scaled != is_scaled({}, arguments.preset, s.contender.options.rule))
    fmt::print(" {}", s.contender.scaled ? "--scale" : "--unscaled");
  if (s.contender.options.lags > 0) fmt::print(" --lags {}", s.contender.options.lags);
  for (std::size_t a = 0; a < s.axes.size(); ++a)
    fmt::print(" --set {}={}", s.axes[a].key, best.values[a]);
  fmt::print("\n");
}

void search(const SearchArguments& a) {
  if (a.resume && a.out.empty())
    throw std::invalid_argument("--resume needs --out, the folder with the finished runs");
  const auto axes = axes_of(a);
  Dataset data = load(a.data, a.steps, read_options(a.settings, a.columns));
  settle_elapsed(a.settings.time, false, data);
  auto contenders = make_contenders({a.learner}, a.preset, data);
  contenders.front().scaled = is_scaled(a.scaling, a.preset, contenders.front().options.rule);
  const StreamSettings& s = a.settings;
  if (s.hidden > 0) contenders.front().options.network.hidden = s.hidden;
  set_loss(contenders, s.loss);
  if (s.lags > 0) set_lags(contenders, s.lags);
  for (const std::string& assignment : a.set) apply_setting(contenders, assignment, a.steps);
  const EvaluationOptions evaluation{.steps = a.steps,
                                     .warm_up = a.preset.empty() ? 0 : published_warm_up,
                                     .missing = missing_inputs_named(s.missing),
                                     .delay = a.delay,
                                     .max_delay = s.max_delay,
                                     .periods = periods_of(s.time)};
  if (!data.schema.has_classes()) {
    check_target_range(data, contenders, a.steps);
    check_something_to_predict(data, a.steps, takes_gaps(evaluation.missing, contenders));
  }

  const fs::path out = a.out;
  for (const std::string& file : {a.plot, a.json})
    if (!file.empty() && file != "-") require_writable(file);
  if (!a.out.empty()) {
    fs::create_directories(out);
    require_writable(out / "search.json");
  }

  const GridSearch grid{.name = "search",
                        .data = &data,
                        .contender = contenders.front(),
                        .axes = axes,
                        .seeds = parse_seeds(a.seeds),
                        .evaluation = evaluation,
                        .of_classes = data.schema.has_classes()};
  const JobsOptions options{
      .directory = a.out.empty() ? fs::path() : out / "runs", .resume = a.resume, .jobs = a.jobs};
  const auto jobs = jobs_of(grid);
  for (const Job& job : jobs) check_inputs(data, {job.contender});  // lags may be in the grid
  const auto runs = run_jobs_with_progress("search", jobs, options, !a.quiet);
  const auto surface = surface_of(grid, runs);

  if (!a.quiet && a.json != "-") print_best(a, grid, surface);
  const std::string json = surface_json(grid, surface);
  const std::string picture =
      surface_picture(grid, surface, fmt::format("{} on {}", a.learner, data.name));
  write_or_print(a.json, [&] { return json; });
  if (!a.plot.empty()) write_file(a.plot, picture);
  if (!a.out.empty()) {
    write_file(out / "search.json", json);
    write_file(out / "search.svg", picture);
    if (!a.quiet && a.json != "-") fmt::print("{}\n", fs::absolute(out / "search.svg").string());
  }
}

}  // namespace

void add_search(CLI::App& app) {
  auto a = std::make_shared<SearchArguments>();
  CLI::App* cmd = app.add_subcommand("search", "Try a grid of settings on a stream");
  add_data(*cmd, a->data);
  cmd->add_option("--learner", a->learner, "Which learner")->capture_default_str();
  cmd->add_option("--grid", a->grid,
                  "key=v1,v2,... or key=FIRST:STEP:LAST; may be repeated (default: the grid the "
                  "paper searched for this learner)");
  cmd->add_option("--preset", a->preset, "For what the grid leaves: paper or authors, as for run");
  cmd->add_option("--set", a->set, "key=value for what the grid leaves");
  cmd->add_option("--steps", a->steps, "Rows to use, from the first on")
      ->check(whole_number(1, 1e12))
      ->capture_default_str();
  cmd->add_option("--seeds", a->seeds, "How many random starts, or which: 10, 31..40")
      ->capture_default_str();
  add_field_settings(*cmd, a->settings);
  add_column_names(*cmd, a->columns);
  cmd->add_option("--delay", a->delay, "Targets come so many rows late, as for run")
      ->check(whole_number(1, ModelOptions::longest_delay));
  add_settings(*cmd, a->settings,
               {"max-delay", "missing", "period", "elapsed", "loss", "hidden", "lags"});
  add_scaling(*cmd, a->scaling);
  cmd->add_option("--jobs", a->jobs,
                  fmt::format("Runs at a time (default: {}, one per core)", default_jobs()))
      ->check(whole_number(0, 1e4));
  cmd->add_option("--out", a->out,
                  "Folder for search.json, search.svg and the finished runs, for --resume");
  cmd->add_flag("--resume", a->resume, "Keep the runs that are finished in OUT/runs");
  cmd->add_option("--plot", a->plot, "Draw the whole surface as SVG")->check(svg_name());
  cmd->add_option("--json", a->json, "Write the surface as JSON; - for standard output");
  cmd->add_flag("--quiet", a->quiet, "No table, no progress");
  cmd->footer(
      "Choosing settings on the rows that are scored later flatters them: search on the first "
      "rows\n"
      "only, and score on what follows.\n\n"
      "  kalstream search my.csv --learner adam --grid learning_rate=0.001:0.001:0.015\n"
      "  kalstream search my.csv --grid initial_covariance=1,10,100 \\\n"
      "                   --grid process_noise=1e-4,1e-5,1e-6 --plot surface.svg\n");
  cmd->callback([a] { search(*a); });
}

}  // namespace kalstream::cli
