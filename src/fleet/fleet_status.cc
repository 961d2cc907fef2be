#include "fleet/fleet_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <numeric>

#include "kafka/consumer.h"
#include "view/table.h"

namespace kalstream::fleet {
namespace {

using StatusJson = nlohmann::ordered_json;

constexpr double long_silence = 10;  // seconds; a worker tells every second
constexpr std::size_t most_slow_keys = 5;

// A member that is not static has no instance.
std::string name_of(const kafka::Member& member) {
  return member.instance.empty() ? member.id : member.instance;
}

}  // namespace

std::int64_t FleetStatus::lag() const {
  return std::transform_reduce(partitions.begin(), partitions.end(), std::int64_t{0}, std::plus(),
                               [](const Partition& p) { return p.lag; });
}

std::uint64_t FleetStatus::models() const {
  return std::transform_reduce(partitions.begin(), partitions.end(), std::uint64_t{0}, std::plus(),
                               [](const Partition& p) { return p.models; });
}

FleetStatus status_of(const KnownFleet& fleet, const kafka::Group& group,
                      const std::vector<kafka::TopicPartition>& committed,
                      const std::vector<kafka::TopicPartition>& ends,
                      const std::map<std::string, std::string>& words, std::int64_t now_ms) {
  FleetStatus status{.name = fleet.names.group,
                     .input = fleet.names.input,
                     .output = fleet.names.output,
                     .learner = fleet.records.fleet->settings.learner,
                     .group_state = group.state,
                     .partitions = std::vector<FleetStatus::Partition>(ends.size()),
                     .workers = {},
                     .slowest = {}};
  for (std::size_t p = 0; p < ends.size(); ++p) {
    FleetStatus::Partition& to = status.partitions[p];
    to.partition = static_cast<std::int32_t>(p);
    to.end = ends[p].offset;
    to.lag = to.end;
  }
  const auto partition = [&](std::int32_t p) -> FleetStatus::Partition* {
    return p >= 0 && static_cast<std::size_t>(p) < status.partitions.size()
               ? &status.partitions[static_cast<std::size_t>(p)]
               : nullptr;
  };
  for (const kafka::TopicPartition& c : committed) {
    auto* const to = partition(c.partition);
    if (to == nullptr || c.offset < 0) continue;
    to->committed = c.offset;
    to->lag = std::max<std::int64_t>(0, to->end - c.offset);
  }

  std::map<std::string, FleetStatus::Worker> workers;
  for (const kafka::Member& member : group.members) {
    FleetStatus::Worker& worker = workers[name_of(member)];
    worker.is_member = true;
    worker.host = member.host;
    worker.assigned = member.partitions.size();
    for (const kafka::TopicPartition& p : member.partitions)
      if (auto* const to = partition(p.partition)) to->worker = name_of(member);
  }
  for (const auto& [instance, word] : words) {
    if (!nlohmann::json::accept(word)) continue;
    FleetStatus::Worker& worker = workers[instance];
    worker.time_ms = now_ms;
    read_json(word, worker);
    worker.silent_seconds = std::max(0.0, static_cast<double>(now_ms - worker.time_ms) / 1000);
    if (!worker.is_member) continue;  // what it says of partitions and keys is past
    for (const PartitionStatus& told : worker.partitions) {
      auto* const to = partition(told.partition);
      if (to == nullptr || to->worker != instance) continue;
      to->phase = told.phase;
      to->to_replay = told.to_replay;
      to->models = told.models;
    }
    for (const SlowKey& slow : worker.slowest) status.slowest.push_back({slow, instance});
  }
  for (auto& [name, worker] : workers) {
    worker.instance = name;
    status.workers.push_back(std::move(worker));
  }
  std::ranges::stable_sort(status.slowest, std::greater(), &SlowKey::seconds);
  if (status.slowest.size() > most_slow_keys) status.slowest.resize(most_slow_keys);
  return status;
}

FleetStatus look_at(kafka::Admin& admin, const KnownFleet& fleet) {
  const auto input = admin.describe(fleet.names.input);
  std::vector<kafka::TopicPartition> partitions;
  for (std::int32_t p = 0; input && p < input->partitions; ++p)
    partitions.push_back({fleet.names.input, p, kafka::TopicPartition::end});
  std::map<std::string, std::string> words;
  kafka::read_topic(admin, fleet.names.workers, {0}, [&](const kafka::Message& message) {
    if (!message.key()) return;
    const std::string instance(*message.key());
    if (message.value())
      words[instance] = *message.value();
    else
      words.erase(instance);
  });
  const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  return status_of(fleet, admin.describe_group(fleet.names.group),
                   admin.group_offsets(fleet.names.group, partitions),
                   admin.offsets_at(partitions, std::chrono::seconds(10)), words, now.count());
}

std::string to_json(const FleetStatus& status) {
  StatusJson partitions = StatusJson::array();
  for (const auto& p : status.partitions)
    partitions.push_back({{"partition", p.partition},
                          {"committed", p.committed < 0 ? StatusJson() : StatusJson(p.committed)},
                          {"end", p.end},
                          {"lag", p.lag},
                          {"worker", p.worker.empty() ? StatusJson() : StatusJson(p.worker)},
                          {"phase", p.phase.empty() ? StatusJson() : StatusJson(p.phase)},
                          {"to_replay", p.to_replay},
                          {"models", p.models}});
  StatusJson workers = StatusJson::array();
  for (const auto& w : status.workers)
    workers.push_back({{"instance", w.instance},
                       {"host", w.host},
                       {"version", w.version},
                       {"member", w.is_member},
                       {"silent_s", w.silent_seconds},
                       {"uptime_s", w.uptime_seconds},
                       {"partitions", w.assigned},
                       {"models", w.models},
                       {"models_in_memory", w.models_in_memory},
                       {"memory_bytes", w.memory_bytes},
                       {"inputs", w.inputs},
                       {"inputs_per_s", w.inputs_per_second},
                       {"refused", w.refused},
                       {"transactions", w.transactions},
                       {"aborts", w.aborts},
                       {"state_bytes", w.state_bytes}});
  StatusJson slowest = StatusJson::array();
  for (const auto& s : status.slowest)
    slowest.push_back({{"key", s.key}, {"worker", s.worker}, {"us", microseconds(s.seconds)}});
  const StatusJson json{{"name", status.name},
                        {"input", status.input},
                        {"output", status.output},
                        {"learner", status.learner},
                        {"group_state", status.group_state},
                        {"lag", status.lag()},
                        {"models", status.models()},
                        {"partitions", std::move(partitions)},
                        {"workers", std::move(workers)},
                        {"slowest", std::move(slowest)}};
  return json.dump(2, ' ', false, StatusJson::error_handler_t::replace) + "\n";
}

std::string to_text(const FleetStatus& status, bool colours) {
  using view::Align;
  std::size_t restoring = 0;
  std::size_t nobodys = 0;
  std::size_t members = 0;
  for (const auto& p : status.partitions) {
    restoring += !p.phase.empty() && p.phase != "live" ? 1 : 0;
    nobodys += p.worker.empty() ? 1 : 0;
  }
  for (const auto& w : status.workers) members += w.is_member ? 1 : 0;
  std::string text =
      fmt::format("{}: {} → {}, {}; group {}, {} worker{}, {} models, {} inputs behind{}{}\n\n",
                  status.name, status.input, status.output, status.learner, status.group_state,
                  members, members == 1 ? "" : "s", status.models(), status.lag(),
                  restoring == 0 ? "" : fmt::format(", {} partitions being restored", restoring),
                  nobodys == 0 ? "" : fmt::format(", {} partitions without a worker", nobodys));

  auto columns = view::columns({"worker", "host"}, {"partitions", "models", "in memory", "memory",
                                                    "inputs/s", "refused", "aborts"});
  columns.push_back({"", Align::left});
  view::Table workers(columns);
  for (const auto& w : status.workers)
    workers.add_row(
        {view::one_line(w.instance), view::one_line(w.host), std::to_string(w.assigned),
         std::to_string(w.models), std::to_string(w.models_in_memory),
         fmt::format("{:.1f} MiB", static_cast<double>(w.memory_bytes) / (1024 * 1024)),
         fmt::format("{:.0f}", w.inputs_per_second), std::to_string(w.refused),
         std::to_string(w.aborts),
         !w.is_member ? "gone, last word " + view::format_seconds(w.silent_seconds) + " ago"
         : w.silent_seconds > long_silence ? "silent for " + view::format_seconds(w.silent_seconds)
                                           : ""});
  if (!status.workers.empty()) text += workers.to_text(colours) + "\n";

  columns = view::columns({}, {"partition", "committed", "end", "lag", "models"});
  columns.insert(columns.end(), {{"worker", Align::left}, {"", Align::left}});
  view::Table partitions(columns);
  for (const auto& p : status.partitions)
    partitions.add_row({std::to_string(p.partition),
                        p.committed < 0 ? "none" : std::to_string(p.committed),
                        std::to_string(p.end), std::to_string(p.lag), std::to_string(p.models),
                        p.worker.empty() ? "nobody" : view::one_line(p.worker),
                        p.phase == "replay" ? fmt::format("replay, {} to go", p.to_replay)
                        : p.phase == "live" ? ""
                                            : p.phase});
  text += partitions.to_text(colours);

  if (!status.slowest.empty()) {
    view::Table slowest({{"slowest key", Align::left}, {"time"}, {"worker", Align::left}});
    for (const auto& s : status.slowest)
      slowest.add_row(
          {view::one_line(s.key), view::format_seconds(s.seconds), view::one_line(s.worker)});
    text += "\n" + slowest.to_text(colours);
  }
  return text;
}

}  // namespace kalstream::fleet
