// kalstream fleet: a worker.
#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <set>
#include <thread>

#include "commands.h"
#include "core/memory_limit.h"
#include "fleet/find_schema.h"
#include "fleet/instance.h"
#include "fleet/kafka_log.h"
#include "fleet/worker.h"
#include "fleet_options.h"
#include "io/atomic_file.h"
#include "monitor/metrics_server.h"
#include "schema/rules.h"
#include "stream/signals.h"
#include "stream_options.h"

namespace kalstream::cli {
namespace {

using namespace std::chrono_literals;
using fleet::Milliseconds;

struct WorkerArguments {
  KafkaArguments kafka;
  std::string input;
  std::string output;
  std::string name;
  StreamSettings settings;
  std::string instance;
  std::string cache;
  std::string memory;
  std::string transaction = "100ms";
  std::int64_t snapshot_every = 0;
  std::string metrics_file;
  std::optional<std::uint16_t> metrics_port;
  bool accept_replay = false;
};

// "100ms", "1s".
Milliseconds duration_of(const std::string& text) {
  double n = 0;
  const char* const end = text.data() + text.size();
  const auto [unit, error] = std::from_chars(text.data(), end, n);
  const std::string_view rest(unit, static_cast<std::size_t>(end - unit));
  const double ms = rest == "ms" ? n : rest == "s" ? 1000 * n : -1;
  if (error != std::errc() || !(ms >= 1 && ms <= 60'000))
    throw std::invalid_argument(
        fmt::format("--transaction {}: write a time from 1ms to 60s", text));
  return Milliseconds(static_cast<std::int64_t>(ms));
}

/// Where metrics go.
class Metrics {
 public:
  Metrics(const WorkerArguments& a, const fleet::Say& say) : file_(a.metrics_file), say_(say) {
    if (!file_.empty()) require_writable(file_);
    if (!a.metrics_port) return;
    server_ = std::make_unique<MetricsServer>(*a.metrics_port);
    say(fmt::format("metrics at http://127.0.0.1:{}/metrics", server_->port()));
  }

  void look_at_clock(fleet::Worker& worker) {
    const auto now = std::chrono::steady_clock::now();
    if ((!server_ && file_.empty()) || now - last_ < 1s) return;
    last_ = now;
    std::string text = prometheus_text(worker.status());
    try {
      if (!file_.empty()) replace_file(file_, text);
      failed_ = false;
    } catch (const std::exception& error) {
      if (!failed_) say_(error.what());
      failed_ = true;
    }
    if (server_) server_->publish(std::move(text));
  }

 private:
  std::string file_;
  fleet::Say say_;
  std::unique_ptr<MetricsServer> server_;
  bool failed_ = false;
  std::chrono::steady_clock::time_point last_;
};

/// The fleet as this worker found it.
class FleetWorker {
 public:
  explicit FleetWorker(const WorkerArguments& a)
      : a_(a),
        name_(a.name.empty() ? a.output : a.name),
        configuration_(configuration_of(a.kafka)),
        fleet_(find()),
        instance_(fleet::take_instance(a.instance, a.cache.empty()
                                                       ? fleet::default_cache(name_)
                                                       : std::filesystem::path(a.cache))),
        cache_(instance_.folder,
               fmt::format("{} {} {}", configuration_.brokers(), fleet_.names.state,
                           to_json(*fleet_.records.fleet)),
               say_to_people),
        metrics_(a, say_to_people) {
    fleet::use_kernels(*fleet_.records.fleet);
    options_.instance = instance_.name;
    options_.transaction = duration_of(a.transaction);
    if (a.snapshot_every > 0) options_.snapshot_every = a.snapshot_every;
    options_.memory = a.memory.empty() ? memory_allowed() / 2 : bytes_of(a.memory);
    options_.spill = instance_.folder;
    options_.jobs = a.settings.jobs > 0 ? a.settings.jobs : fleet_.records.fleet->settings.jobs;
    options_.cache = &cache_;
    options_.stop = [this] { return signals_.stop(); };
    options_.shard.input = fleet_.names.input;
    options_.shard.needs_keys = partitions_ > 1;
    options_.shard.accept_replay = a.accept_replay;
    options_.shard.say = say_to_people;
  }

  // What is lost is begun anew; what is taken by another is left to it.
  void run() {
    say_to_people(fmt::format("worker {} of the fleet {}: {} -> {}, {} partitions", instance_.name,
                              name_, fleet_.names.input, fleet_.names.output, partitions_));
    while (!signals_.stop()) {
      fleet::KafkaLog log(configuration_, fleet_.names, partitions_, instance_.name, say_to_people);
      try {
        if (!log.connect(options_.stop) || !work(log)) return;
      } catch (const fleet::TransactionsFenced& error) {
        require_alone(log);
        begin_anew(error.what());
      } catch (const fleet::MembershipLost& error) {
        begin_anew(error.what());
      }
    }
  }

 private:
  fleet::KnownFleet find() {
    if (name_.empty())
      throw std::invalid_argument("--output, or --name of the fleet: which one is it?");
    kafka::Admin admin(configuration_, say_to_people);
    fleet::KnownFleet found = fleet::find_fleet(admin, name_);
    const auto require = [](const char* option, const std::string& here, const std::string& there) {
      if (!here.empty() && here != there)
        throw std::invalid_argument(fmt::format(
            "{} {}: the fleet was begun with {}; begin another with --name", option, here, there));
    };
    require("--input", a_.input, found.names.input);
    require("--output", a_.output, found.names.output);
    fleet::require_no_contradiction(*found.records.fleet, a_.settings);
    partitions_ = fleet::check_topics(
        admin, found.names, a_.snapshot_every > 0 ? a_.snapshot_every : fleet::usual_replay);
    return found;
  }

  // The first schema in the fleet's topic counts, whoever wrote it.
  bool settle_schema(fleet::Log& log) {
    fleet::FleetRecords& records = fleet_.records;
    if (records.schema) return true;
    const FieldChoice fields =
        engine_options(records.fleet->settings, [](const std::string&) {}).fields;
    const auto found = fleet::find_schema(log, fields, options_.stop, say_to_people);
    if (!found) return false;
    const kafka::Admin admin(configuration_, say_to_people);
    records = fleet::read_records(admin, fleet_.names);
    if (!records.schema)
      records = fleet::append_record(admin, fleet_.names,
                                     fleet::propose(*records.fleet, *found, say_to_people));
    for (const std::string& remark : remarks(records.schema->schema)) say_to_people(remark);
    return true;
  }

  // False: told to stop.
  bool work(fleet::Log& log) {
    if (!settle_schema(log)) return false;
    const auto say_once = [said =
                               std::make_shared<std::set<std::string>>()](const std::string& text) {
      if (said->insert(text).second) say_to_people(text);
    };
    options_.shard.engine =
        engine_options(settings_of(*fleet_.records.fleet, *fleet_.records.schema), say_once);
    options_.shard.engine.schema = fleet_.records.schema->schema;
    fleet::Worker worker(options_, log);
    while (!signals_.stop()) {
      worker.step(100ms);
      metrics_.look_at_clock(worker);
    }
    say_to_people("hands over: the last snapshots");
    worker.finish();
    return false;
  }

  // A transaction that timed out, as of a worker that hung, looks as if another process had the
  // name. One that has it makes the group say so.
  static void require_alone(fleet::Log& log) {
    const auto until = std::chrono::steady_clock::now() + 3s;
    while (std::chrono::steady_clock::now() < until) {
      try {
        log.poll_group();
      } catch (const fleet::MembershipLost&) {
        return;
      }
      std::this_thread::sleep_for(50ms);
    }
  }

  void begin_anew(const std::string& why) {
    say_to_people(fmt::format("begins anew with what is committed: {}", why));
    std::this_thread::sleep_for(200ms);
  }

  const WorkerArguments& a_;
  std::string name_;
  kafka::Configuration configuration_;
  std::int32_t partitions_ = 0;
  fleet::KnownFleet fleet_;
  fleet::Instance instance_;
  fleet::SnapshotCache cache_;
  Metrics metrics_;
  kalstream::Signals signals_;
  fleet::WorkerOptions options_;
};

}  // namespace

void add_fleet_worker(CLI::App& cmd) {
  auto a = std::make_shared<WorkerArguments>();
  add_kafka_options(cmd, a->kafka);
  cmd.add_option("--input", a->input, "Topic of the inputs");
  cmd.add_option("--output", a->output, "Topic of the answers");
  cmd.add_option("--name", a->name, "Of the fleet (default: the output)");
  add_stream_settings(cmd, a->settings);
  cmd.add_option("--instance", a->instance,
                 "Name of this worker, its own and always the same (default: HOST-1, HOST-2, …)");
  cmd.add_option(
      "--cache", a->cache,
      "Folder for what can be had again: the last snapshots, and models that do not fit in "
      "memory (default: in the system's folder for temporary files)");
  cmd.add_option("--memory", a->memory,
                 "Memory for models and all that belongs to them: 2GiB, 512MiB (default: half of "
                 "what the machine or its control group allows)");
  cmd.add_option("--transaction", a->transaction, "Answers are committed so often: 100ms, 1s")
      ->capture_default_str();
  cmd.add_option("--snapshot-every", a->snapshot_every,
                 "Inputs of a partition between two snapshots of a model: as many may have to be "
                 "taken again after a crash (default: what takes a second)")
      ->check(whole_number(1, 1e9));
  cmd.add_option("--metrics-file", a->metrics_file,
                 "Write metrics every second, in Prometheus' text format");
  cmd.add_option("--metrics-port", a->metrics_port,
                 "Serve them at http://127.0.0.1:PORT/metrics; 0 takes a free port");
  cmd.add_flag("--accept-replay", a->accept_replay,
               "Go on though what is restored is not what was answered before");
  cmd.callback([a, &cmd] {
    if (cmd.get_subcommands().empty()) FleetWorker(*a).run();
  });
}

}  // namespace kalstream::cli
