// kalstream stream: answers a live stream line by line, learning from each.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <charconv>
#include <cmath>
#include <memory>
#include <optional>

#include "commands.h"
#include "eval/budget.h"
#include "eval/contenders.h"
#include "field_options.h"
#include "io/atomic_file.h"
#include "io/snapshot_file.h"
#include "kalstream/settings.h"
#include "stores/file_store.h"
#include "stores/folder_store.h"
#include "stream/driver.h"
#include "stream/line_records.h"
#include "stream/memory_limit.h"
#include "stream/text_sink.h"
#include "stream_summary.h"
#include "view/table.h"

namespace kalstream::cli {
namespace {

struct StreamArguments {
  std::string follow;
  std::string format;
  std::vector<std::string> columns;
  FieldChoice fields;
  std::size_t max_models = 10'000;
  std::string memory;
  std::string learner = "auto";
  std::string start;
  std::size_t lags = 0;
  std::size_t hidden = 0;
  std::size_t window = 0;
  std::size_t experts = 0;
  std::size_t jobs = 1;
  double budget_us = 0;
  std::uint64_t seed = 1;
  std::vector<std::string> set;
  bool unscaled = false;
  bool predict_only = false;
  std::size_t horizon = 0;
  double interval = 0;
  std::size_t max_delay = 1000;
  std::string checkpoint;
  std::string every = "30s";
  bool resume = false;
  bool replay = false;
  std::string answers;
  std::string metrics_file;
  std::optional<std::uint16_t> metrics_port;
  std::string json;
  std::string missing = "refuse";
  bool strict = false;
  bool quiet = false;
};

// "5000": samples; "30s", "5m", "2h": time.
Cadence cadence_of(const std::string& text) {
  Cadence cadence;
  double n = 0;
  const char* const end = text.data() + text.size();
  const auto [unit, error] = std::from_chars(text.data(), end, n);
  const std::string_view rest(unit, static_cast<std::size_t>(end - unit));
  const double seconds = rest == "s" ? 1 : rest == "m" ? 60 : rest == "h" ? 3600 : 0;
  const bool sound = error == std::errc() && n > 0 && n * std::max(seconds, 1.0) <= 1e9;
  if (sound && rest.empty() && n == std::floor(n))
    cadence.samples = static_cast<std::uint64_t>(n);
  else if (sound && seconds > 0)
    cadence.time = std::chrono::milliseconds(std::max(1L, std::lround(1000 * n * seconds)));
  else
    throw std::invalid_argument(
        fmt::format("--every {}: write a number of samples (5000) or a time (30s, 5m, 2h)", text));
  return cadence;
}

Contender contender_of(const StreamArguments& a) {
  auto contenders = make_contenders({a.learner}, "", {});
  Contender& c = contenders.front();
  c.scaled = !a.unscaled;
  if (a.hidden > 0) c.options.network.hidden = a.hidden;
  if (a.window > 0) c.options.network.window = a.window;
  if (auto* rule = std::get_if<Auto>(&c.options.rule))
    rule->experts = a.experts;
  else if (a.experts > 0 || a.budget_us > 0)
    throw std::invalid_argument("--experts and --budget-us are for auto and auto-max");
  if (a.lags > 0) set_lags(contenders, a.lags);
  set_threads(contenders, a.jobs);
  for (const std::string& assignment : a.set) {
    if (assignment.find("..") != std::string::npos && assignment.find('@') == std::string::npos)
      throw std::invalid_argument(
          fmt::format("--set {}: a stream has no end to span; write A..B@SAMPLES", assignment));
    apply_setting(contenders, assignment, 1);
  }
  c.options.network.seed = a.seed;
  const bool threads = std::visit(
      [](const auto& rule) {
        if constexpr (requires { rule.threads; })
          return rule.threads > 1;
        else
          return false;
      },
      c.options.rule);
  if (threads && !a.fields.key.empty())
    throw std::invalid_argument(
        "--key: every model would have threads of its own; leave out --jobs and threads");
  return c;
}

// The learner, once the first sample tells how many inputs and targets there are.
auto recipe_of(const StreamArguments& a, const std::function<void(const std::string&)>& say) {
  return [c = contender_of(a), budget = a.budget_us, say](std::size_t inputs,
                                                          std::size_t outputs) -> Recipe {
    LearnerOptions options = c.options;
    options.network.inputs = inputs;
    options.network.outputs = outputs;
    if (inputs + options.lags == 0 && !sees_past_targets(options.rule))
      throw std::invalid_argument(
          fmt::format("{} has nothing to predict from: the stream has no inputs; give --lags 8, or "
                      "use auto",
                      c.name));
    if (const std::string remark = remark_on(options); !remark.empty()) say(remark);
    if (budget > 0) {
      options.validate();
      const ExpertChoice choice = choose_experts(options, budget);
      say(fmt::format("{}--experts {} of {}, some {} µs per sample",
                      choice.within ? "" : "cannot keep within the budget: ", choice.experts,
                      choice.most, view::format_number(choice.us, 3)));
      std::get<Auto>(options.rule).experts = choice.experts;
    }
    return {options, c.scaled && !takes_raw_data(options.rule)};
  };
}

// A file, or with keys a folder; nullptr: nothing is kept. One that is there is gone on from only
// where the user says so.
std::unique_ptr<StateStore> open_store(const StreamArguments& a) {
  if (a.checkpoint.empty()) return nullptr;
  std::unique_ptr<StateStore> store;
  if (a.fields.key.empty())
    store = std::make_unique<FileStore>(a.checkpoint);
  else
    store = std::make_unique<FolderStore>(a.checkpoint);
  if (!a.resume && store->stream())
    throw std::invalid_argument(fmt::format(
        "--checkpoint {}: there is one already; go on from it with --resume, or name another",
        a.checkpoint));
  return store;
}

DriverOptions options_of(const StreamArguments& a,
                         const std::function<void(const std::string&)>& say) {
  DriverOptions options;
  options.engine.fields = a.fields;
  if (a.start.empty()) {
    options.engine.recipe = recipe_of(a, say);
  } else {
    Learnt learnt = read_learnt(a.start);
    options.engine.start = std::move(learnt.learner);
    options.engine.start_schema = std::move(learnt.schema);
  }
  options.engine.model = {.learns = !a.predict_only,
                          .coverage = a.interval,
                          .horizon = a.horizon,
                          .max_delay = a.max_delay};
  options.engine.hold_missing = a.missing == "hold";
  options.engine.max_models = a.max_models;
  options.engine.memory = a.memory.empty() ? memory_allowed() / 2 : bytes_of(a.memory);
  options.cadence = cadence_of(a.every);
  options.strict = a.strict;
  options.monitor = {.metrics_file = a.metrics_file, .metrics_port = a.metrics_port, .say = say};
  return options;
}

// Where nobody can hear it, the stream goes on.
void say_aloud(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stderr); }

Format format_of(const std::string& name) {
  return name.empty() ? Format::unknown : name == "csv" ? Format::delimited : Format::json;
}

void stream(const StreamArguments& a) {
  const auto say = [quiet = a.quiet](const std::string& text) {
    if (!quiet) say_aloud(fmt::format("kalstream: {}\n", text));
  };
  if (!a.json.empty()) require_writable(a.json);
  DriverOptions options = options_of(a, say);
  const auto store = open_store(a);
  Signals signals;
  LineRecords source(
      {.follow = a.follow, .format = format_of(a.format), .columns = a.columns, .replay = a.replay},
      signals.descriptor());
  Driver driver(std::move(options), source, store.get(), signals);
  if (a.resume) driver.resume();
  if (store && !store->remark().empty()) say(store->remark());
  std::optional<bool> json_answers;
  if (!a.answers.empty()) json_answers = a.answers == "jsonl";
  TextSink sink(STDOUT_FILENO, json_answers, source, driver.engine(), signals);

  if (driver.metrics_port() > 0)
    say(fmt::format(
        "metrics at http://127.0.0.1:{0}/metrics; 'kalstream top --metrics-port {0}' shows them",
        driver.metrics_port()));
  const auto report = [&] {
    const StreamStatus status = driver.status();
    if (!a.json.empty()) write_file(a.json, summary_json(status));
    if (!a.quiet) say_aloud(summary(status) + "\n");
  };
  try {
    driver.run(sink);
  } catch (const std::runtime_error&) {
    report();
    throw;
  }
  if (source.has_unfinished())
    say("the last line has no end and may not be whole: it is left for the next time");
  report();
}

}  // namespace

void add_stream(CLI::App& app) {
  auto a = std::make_shared<StreamArguments>();
  CLI::App* cmd = app.add_subcommand(
      "stream", "Answer a live stream line by line, learning from every target; for months");
  cmd->add_option("--follow", a->follow,
                  "Read this file and wait for what is appended, also across rotation, instead of "
                  "standard input");
  cmd->add_option("--format", a->format, "jsonl or csv (default: the first line tells)")
      ->check(CLI::IsMember({"jsonl", "csv"}));
  add_column_names(*cmd, a->columns);
  add_field_options(*cmd, a->fields);
  cmd->add_option("--id", a->fields.id,
                  "Field that names a sample, so that its target can come later")
      ->capture_default_str();
  cmd->add_option("--key", a->fields.key, "Field that names a model: one for each of its values");
  cmd->add_option("--missing", a->missing,
                  "Lines that lack inputs: refuse them, or hold the last values of these inputs")
      ->check(CLI::IsMember({"refuse", "hold"}))
      ->capture_default_str();
  cmd->add_option("--max-models", a->max_models,
                  "Models in memory; others wait in the folder of --checkpoint")
      ->check(whole_number(1, 1e9))
      ->capture_default_str();
  cmd->add_option("--memory", a->memory,
                  "Memory for them and all that belongs to the stream: 2GiB, 512MiB (default: half "
                  "of what the machine or its control group allows)");
  cmd->add_option("--learner", a->learner, "As for run")->capture_default_str();
  CLI::Option* start = cmd->add_option(
      "--start", a->start, "Begin with the learner that 'run --save' or another stream has kept");
  cmd->add_option("--lags", a->lags, "So many past targets are inputs as well")
      ->check(whole_number(1, 1e5));
  cmd->add_option("--hidden", a->hidden, "Units (default 16)")->check(whole_number(1, 1e6));
  cmd->add_option("--window", a->window, "Samples to back-propagate through (default 10)")
      ->check(whole_number(1, 1e6));
  CLI::Option* experts = cmd->add_option("--experts", a->experts, "Networks of auto (default: all)")
                             ->check(whole_number(1, 1e3));
  cmd->add_option("--budget-us", a->budget_us,
                  "As many of them as keep a sample within this many microseconds here")
      ->check(whole_number(1, 1e9))
      ->excludes(experts);
  cmd->add_option("--jobs", a->jobs,
                  "Threads for the experts of auto and alg2, or for a large "
                  "ekf; the answers are the same")
      ->check(whole_number(1, 1e4))
      ->capture_default_str();
  cmd->add_option("--seed", a->seed, "Of the random start")->capture_default_str();
  cmd->add_option("--set", a->set, "key=value ..., as for run");
  cmd->add_flag("--unscaled", a->unscaled,
                "Give inputs and targets to the network as they are; by itself it sees them "
                "standardised, causally");
  for (const char* decided : {"--learner", "--lags", "--hidden", "--window", "--experts",
                              "--budget-us", "--jobs", "--seed", "--set", "--unscaled"})
    start->excludes(cmd->get_option(decided));
  cmd->add_flag("--predict-only,!--learn", a->predict_only,
                "Predict and score, but learn nothing (default: --learn)");
  cmd->add_option("--horizon", a->horizon,
                  "Forecast this many samples after each, inputs staying what they are")
      ->check(whole_number(1, ModelOptions::longest_horizon));
  cmd->add_option("--interval", a->interval,
                  "Bounds around every prediction that hold this fraction of targets, e.g. 0.9")
      ->check(CLI::Range(0.01, 0.999));
  cmd->add_option("--max-delay", a->max_delay,
                  "A sample with an id waits for its target while this many others come")
      ->check(whole_number(0, ModelOptions::longest_delay))
      ->capture_default_str();
  CLI::Option* checkpoint =
      cmd->add_option("--checkpoint", a->checkpoint,
                      "Keep everything in this file (with --key: folder), to go on from");
  cmd->add_option("--every", a->every, "Between checkpoints: samples (5000) or time (30s, 5m, 2h)")
      ->capture_default_str()
      ->needs(checkpoint);
  CLI::Option* resume = cmd->add_flag("--resume", a->resume,
                                      "Go on from the checkpoint if there is one; a file goes on "
                                      "where it was, a pipe with what comes")
                            ->needs(checkpoint);
  cmd->add_flag("--replay", a->replay,
                "With --resume: the pipe begins again with its first line; what the checkpoint "
                "knows is passed over")
      ->needs(resume);
  cmd->add_option("--answers", a->answers, "jsonl or csv (default: as the stream is written)")
      ->check(CLI::IsMember({"jsonl", "csv"}));
  cmd->add_option("--metrics-file", a->metrics_file,
                  "Write metrics every second, in Prometheus' text format");
  cmd->add_option("--metrics-port", a->metrics_port,
                  "Serve them at http://127.0.0.1:PORT/metrics; 0 takes a free port");
  cmd->add_option("--json", a->json, "Write a summary at the end as JSON");
  cmd->add_flag("--strict", a->strict, "Stop at the first line that cannot be used");
  cmd->add_flag("--quiet", a->quiet, "No warnings, no summary");
  cmd->footer(
      "One answer per line:\n"
      "  {\"temp\":21.5,\"load\":0.3,\"target\":7}   is predicted, answered, then learnt\n"
      "  {\"id\":8,\"temp\":21.6,\"load\":0.4}       is predicted and waits\n"
      "  {\"id\":8,\"target\":7.2}                 is its target, learnt when all before it are\n"
      "CSV works the same, with an empty field for what is missing. A line that cannot be used is\n"
      "answered with the reason and passed over; one without all inputs, too, but with\n"
      "--missing hold the last values stand in.\n\n"
      "  kalstream stream --follow sensor.jsonl --interval 0.9\n"
      "  kalstream stream --follow log.csv --target y --checkpoint state.kal --resume\n"
      "  mosquitto_sub -t plant/# | kalstream stream --key device --checkpoint models --resume\n"
      "  kcat -C -t ticks -u | kalstream stream --inputs none --target price --horizon 5\n"
      "  nc -lk 9000 | kalstream stream --metrics-port 9464\n\n"
      "SIGTERM and SIGINT write a last checkpoint and end with code 0, SIGHUP writes one.\n");
  cmd->callback([a] { stream(*a); });
}

}  // namespace kalstream::cli
