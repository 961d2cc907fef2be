// kalstream stream: answers a live stream line by line, learning from each.
#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <optional>

#include "commands.h"
#include "core/memory_limit.h"
#include "io/atomic_file.h"
#include "serve/door.h"
#include "settings/stream_settings.h"
#include "stores/file_store.h"
#include "stores/folder_store.h"
#include "stream/driver.h"
#include "stream/line_output.h"
#include "stream/line_records.h"
#include "stream_options.h"
#include "stream_summary.h"

namespace kalstream::cli {
namespace {

struct StreamArguments {
  std::string follow;
  std::string format;
  std::vector<std::string> columns;
  StreamSettings settings;
  std::size_t max_models = 10'000;
  std::string memory;
  std::string start;
  std::string checkpoint;
  std::string every = "30s";
  bool resume = false;
  bool replay = false;
  std::string answers;
  std::string metrics_file;
  std::optional<std::uint16_t> metrics_port;
  std::optional<std::uint16_t> page_port;
  std::string json;
  bool strict = false;
  bool quiet = false;
};

// A file, or with keys a folder; nullptr: nothing is kept. One that is there is gone on from only
// where the user says so.
std::unique_ptr<StateStore> open_store(const StreamArguments& a) {
  if (a.checkpoint.empty()) return nullptr;
  std::unique_ptr<StateStore> store;
  if (a.settings.fields.key.empty())
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
  options.engine = engine_options(a.settings, say);
  if (!a.start.empty() && a.settings.jobs > 1 && a.settings.fields.key.empty())
    throw std::invalid_argument(
        "--jobs: the learner of --start has the threads it was made with; leave it away");
  if (!a.start.empty()) {
    Learnt learnt = read_learnt(a.start);
    options.engine.start = std::make_shared<CalibratedLearner>(std::move(learnt.learner));
    options.engine.start_schema = std::move(learnt.schema);
  }
  options.engine.max_models = a.max_models;
  options.engine.memory = a.memory.empty() ? memory_allowed() / 2 : bytes_of(a.memory);
  options.cadence = cadence_of(a.every);
  if (!a.answers.empty()) options.json = a.answers == "jsonl";
  options.strict = a.strict;
  options.jobs = a.settings.jobs > 0 ? a.settings.jobs : default_jobs();
  options.monitor = {.metrics_file = a.metrics_file, .metrics_port = a.metrics_port, .say = say};
  return options;
}

void stream(const StreamArguments& a) {
  const auto say = [quiet = a.quiet](const std::string& text) {
    if (!quiet) say_to_people(text);
  };
  if (!a.json.empty()) require_writable(a.json);
  DriverOptions options = options_of(a, say);
  std::unique_ptr<serve::StreamPage> page;
  if (a.page_port) {
    page = std::make_unique<serve::StreamPage>(a.follow, a.settings, *a.page_port);
    options.monitor.observer = page.get();
    options.listeners = {page.get()};
    say(fmt::format("the page is at http://127.0.0.1:{}/", page->port()));
  }
  const auto store = open_store(a);
  Signals signals;
  const Format format = a.format.empty()    ? Format::unknown
                        : a.format == "csv" ? Format::delimited
                                            : Format::json;
  LineRecords source(
      {.follow = a.follow, .format = format, .columns = a.columns, .replay = a.replay},
      signals.descriptor());
  Driver driver(std::move(options), source, store.get(), signals);
  if (a.resume) driver.resume();
  if (store && !store->remark().empty()) say(store->remark());
  LineOutput output(STDOUT_FILENO, signals);

  if (driver.metrics_port() > 0)
    say(fmt::format(
        "metrics at http://127.0.0.1:{0}/metrics; 'kalstream top --metrics-port {0}' shows them",
        driver.metrics_port()));
  const auto report = [&] {
    const StreamStatus status = driver.status();
    if (!a.json.empty()) write_file(a.json, summary_json(status));
    if (!a.quiet) std::fputs((summary(status) + "\n").c_str(), stderr);
  };
  try {
    driver.run(output);
  } catch (const std::runtime_error&) {
    report();
    throw;
  }
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
  add_stream_settings(*cmd, a->settings);
  cmd->add_option("--max-models", a->max_models,
                  "Models in memory; others wait in the folder of --checkpoint")
      ->check(whole_number(1, 1e9))
      ->capture_default_str();
  cmd->add_option("--memory", a->memory,
                  "Memory for them and all that belongs to the stream: 2GiB, 512MiB (default: half "
                  "of what the machine or its control group allows)");
  CLI::Option* start = cmd->add_option(
      "--start", a->start, "Begin with the learner that 'run --save' or another stream has kept");
  for (const StreamOption& option : stream_options())
    if (option.of_learner) start->excludes(cmd->get_option(std::string("--") + option.name));
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
  cmd->add_option("--page", a->page_port,
                  "Show the stream at http://127.0.0.1:PORT/, live; 0 takes a free port");
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
      "  zcat meters.jsonl.gz | kalstream stream --key meter --jobs 8 > answers.jsonl\n"
      "  kcat -C -t ticks -u | kalstream stream --inputs none --target price --horizon 5\n"
      "  nc -lk 9000 | kalstream stream --metrics-port 9464\n\n"
      "SIGTERM and SIGINT write a last checkpoint and end with code 0, SIGHUP writes one.\n");
  cmd->callback([a] { stream(*a); });
}

}  // namespace kalstream::cli
