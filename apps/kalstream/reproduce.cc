// kalstream reproduce: the paper's tables, figures and searches, beside the published numbers.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <ranges>

#include "commands.h"
#include "comparison_view.h"
#include "eval/parallel.h"
#include "io/atomic_file.h"
#include "paper/report.h"

namespace kalstream::cli {
namespace {

namespace fs = std::filesystem;
using namespace kalstream::paper;

struct ReproduceArguments {
  std::string part;
  std::string data;
  std::string out = "kalstream-reproduction";
  std::size_t seeds = 0;
  std::vector<std::string> only;
  std::vector<std::string> learners;
  std::size_t jobs = 0;
  bool quick = false;
  bool resume = false;
  bool quiet = false;
};

// The published numbers of seeds; the quick form's after them.
constexpr std::size_t table1_seeds = 20, table1_seeds_quick = 3;
constexpr std::size_t table2_seeds = 3, table2_seeds_quick = 1;
constexpr std::size_t search_seeds = 10, search_seeds_quick = 2;
constexpr std::size_t search_rows = 1000;
constexpr std::uint64_t search_first_seed = 31;  // as published: apart from the tables' seeds
constexpr int quick_addition_streams = 2;

bool wants(const ReproduceArguments& a, const std::string& part) {
  return a.part == part || a.part == "all" || (part == "table1" && a.part == "figures");
}

// What the user says holds for the part asked for; "all" never takes more than was published.
std::size_t seeds_for(const ReproduceArguments& a, std::size_t full, std::size_t quick) {
  if (a.seeds == 0) return a.quick ? quick : full;
  return a.part == "all" ? std::min(a.seeds, full) : a.seeds;
}

bool chosen(const ReproduceArguments& a, const std::string& stream) {
  return a.only.empty() || std::find(a.only.begin(), a.only.end(), stream) != a.only.end();
}

void check_only(const ReproduceArguments& a) {
  std::vector<std::string> known;
  for (const Experiment e : regression_streams()) known.emplace_back(to_string(e));
  for (const char* n : {"add3", "add4", "add5"}) known.emplace_back(n);
  for (const std::string& name : a.only)
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw std::invalid_argument(
          fmt::format("--only {}: unknown stream; known: {}", name, fmt::join(known, ", ")));
}

std::vector<Stream> load_regression_streams(const ReproduceArguments& a) {
  std::vector<Stream> streams;
  for (const Experiment e : regression_streams())
    if (chosen(a, std::string(to_string(e))))
      streams.push_back(regression_stream(e, a.data, table1_rows()));
  return streams;
}

std::vector<Table2Part> load_addition_streams(const ReproduceArguments& a) {
  std::vector<Table2Part> parts;
  for (const int n : {3, 4, 5}) {
    if (!chosen(a, fmt::format("add{}", n)) || (a.quick && a.only.empty() && n > 3)) continue;
    Table2Part part{n, {}, {}};
    for (int k = 1; k <= (a.quick ? quick_addition_streams : addition_streams); ++k)
      part.streams.push_back(addition_stream(n, k, a.data, published_warm_up + addition_steps));
    parts.push_back(std::move(part));
  }
  return parts;
}

std::vector<SearchResult> plan_searches(const ReproduceArguments& a,
                                        const std::vector<Stream>& streams,
                                        const std::vector<const Variant*>& variants) {
  const std::size_t seeds = seeds_for(a, search_seeds, search_seeds_quick);
  std::vector<SearchResult> searches;
  for (const Stream& s : streams) {
    if (s.missing() || (a.quick && !searches.empty() && searches.front().stream != s.label))
      continue;
    for (const Variant* v : variants) {
      if (v->learner.empty() || v->key == "ekf") continue;
      GridSearch search{.name = fmt::format("search-{}-{}", s.name, v->key),
                        .data = &s.data,
                        .contender = {std::string(v->learner), options_of(*v, s.experiment)},
                        .axes = published_grid(std::string(v->learner)),
                        .evaluation = {.steps = search_rows, .warm_up = published_warm_up}};
      for (std::size_t k = 0; k < seeds; ++k) search.seeds.push_back(search_first_seed + k);
      searches.push_back({s.experiment, s.label, std::move(search), {}});
    }
  }
  return searches;
}

// The command again, with DIR for the user's own folder.
std::string command_line(const ReproduceArguments& a) {
  std::string line = "kalstream reproduce " + a.part;
  if (!a.data.empty()) line += " --data DIR";
  if (a.seeds > 0) line += fmt::format(" --seeds {}", a.seeds);
  if (!a.only.empty()) line += fmt::format(" --only {}", fmt::join(a.only, ","));
  if (!a.learners.empty()) line += fmt::format(" --learners {}", fmt::join(a.learners, ","));
  if (a.quick) line += " --quick";
  return line;
}

std::string without_markup(std::string text) {
  for (std::size_t at = 0; (at = text.find("**", at)) != std::string::npos;) text.erase(at, 2);
  return text;
}

void write_all(const fs::path& out, const Reproduction& r) {
  const view::Document document = report(r);
  fs::create_directories(out / "figures");
  for (const auto& figure : document.figures())
    write_file(out / "figures" / (figure.name + ".svg"), figure.svg);
  write_file(out / "results.json", paper::results_json(r));
  write_file(out / "report.md", document.to_markdown());
  write_file(out / "report.html", document.to_html());
}

void reproduce(const ReproduceArguments& a) {
  check_only(a);
  if (!a.data.empty() && !fs::is_directory(a.data))
    throw DataError(
        fmt::format("--data {}: is not a directory; it should hold kin8nm.csv, "
                    "puma8nm.mat, … (see docs/reproduction.md)",
                    a.data));
  const auto variants = chosen_variants(a.learners);
  const fs::path out = a.out;
  fs::create_directories(out);
  require_writable(out / "report.html");

  std::vector<Stream> streams;
  if (wants(a, "table1") || wants(a, "search")) streams = load_regression_streams(a);
  std::vector<Table2Part> additions;
  if (wants(a, "table2")) additions = load_addition_streams(a);
  for (const Stream& s : streams)
    if (s.substitute && !a.quiet) fmt::print(stderr, "{}: {}\n", s.name, s.origin);

  // One queue for everything, so that all cores are busy to the end.
  std::vector<Job> jobs;
  const auto append = [&](std::vector<Job> more) {
    const std::size_t begin = jobs.size();
    jobs.insert(jobs.end(), std::make_move_iterator(more.begin()),
                std::make_move_iterator(more.end()));
    return std::pair(begin, jobs.size() - begin);
  };
  const auto seeds1 = first_seeds(seeds_for(a, table1_seeds, table1_seeds_quick));
  const auto seeds2 = first_seeds(seeds_for(a, table2_seeds, table2_seeds_quick));
  std::pair<std::size_t, std::size_t> table1_at;
  std::pair<std::size_t, std::size_t> table2_at;
  if (wants(a, "table1")) table1_at = append(table1_jobs(streams, variants, seeds1));
  table2_at = append(table2_jobs(additions, variants, seeds2));
  auto searches =
      wants(a, "search") ? plan_searches(a, streams, variants) : std::vector<SearchResult>{};
  std::vector<std::pair<std::size_t, std::size_t>> searches_at;
  for (const SearchResult& s : searches) searches_at.push_back(append(jobs_of(s.search)));
  if (jobs.empty())
    throw std::invalid_argument(
        "nothing to do: no stream of --only and no learner of --learners is part of " + a.part);

  const auto results = run_jobs_with_progress(
      "reproduce", jobs, {.directory = out / "runs", .resume = a.resume, .jobs = a.jobs}, !a.quiet);
  const auto part = [&](std::pair<std::size_t, std::size_t> at) {
    return std::span(results).subspan(at.first, at.second);
  };

  Reproduction r{.command = command_line(a), .quick = a.quick};
  for (std::size_t k = 0; k < searches.size(); ++k) {
    searches[k].surface = surface_of(searches[k].search, part(searches_at[k]));
    searches[k].search.data = nullptr;
  }
  r.searches = std::move(searches);
  if (wants(a, "table1")) {
    r.table1 = fill_table1(std::move(streams), variants, seeds1, part(table1_at));
    r.figures_only = a.part == "figures";
  }
  if (!additions.empty())
    r.table2 = fill_table2(std::move(additions), variants, seeds2, part(table2_at));
  write_all(out, r);

  if (a.quiet) return;
  for (const std::string& line : verdicts(r)) fmt::print("{}\n\n", without_markup(line));
  fmt::print("{}\n", fs::absolute(out / "report.html").lexically_normal().string());
}

}  // namespace

void add_reproduce(CLI::App& app) {
  auto a = std::make_shared<ReproduceArguments>();
  const auto learners = variants() | std::views::transform(&Variant::key);
  CLI::App* cmd = app.add_subcommand(
      "reproduce", "Run the paper's experiments again, beside the published numbers");
  cmd->add_option("part", a->part, "table1, table2, figures, search or all")
      ->required()
      ->check(CLI::IsMember({"table1", "table2", "figures", "search", "all"}));
  cmd->add_option("--data", a->data,
                  "Folder with kin8nm, kin32fm, elevators, puma8nm, puma8nh, puma32fm and, if you "
                  "have them, add3seq1 … add5seq5, as .csv, .arff or .mat; what is missing is "
                  "replaced by a generator that resembles it, and labelled");
  cmd->add_option("--out", a->out, "Folder for report.html, report.md, results.json, figures")
      ->capture_default_str();
  cmd->add_option("--seeds", a->seeds,
                  "Random starts (default: 20 for table 1, 3 per stream for table 2, 10 for "
                  "searches; 'all' takes at most these)")
      ->check(whole_number(1, 1e6));
  cmd->add_option("--only", a->only, "Streams: kin8nm, …, add3, add4, add5")->delimiter(',');
  cmd->add_option("--learners", a->learners, fmt::format("{}", fmt::join(learners, ", ")))
      ->delimiter(',');
  cmd->add_option("--jobs", a->jobs,
                  fmt::format("Runs at a time (default: {}, one per core)", default_jobs()))
      ->check(whole_number(0, 1e4));
  cmd->add_flag("--quick", a->quick, "A few seeds and streams: everything works, in two minutes");
  cmd->add_flag("--resume", a->resume,
                "Keep the runs that are finished in OUT/runs, if this program made them from the "
                "same data and settings");
  cmd->add_flag("--quiet", a->quiet, "Nothing but files and errors");
  cmd->footer(
      "Finished runs are kept in OUT/runs as they come: interrupt at any time, go on with "
      "--resume.\n"
      "Results do not depend on --jobs.\n\n"
      "  kalstream reproduce all --quick\n"
      "  kalstream reproduce table1 --data DIR --only kin8nm,elevators --seeds 20\n");
  cmd->callback([a] { reproduce(*a); });
}

}  // namespace kalstream::cli
