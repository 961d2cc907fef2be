#include "fleet/worker_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "monitor/status.h"

namespace kalstream::fleet {
namespace {

using WorkerJson = nlohmann::json;

constexpr std::string_view gauge = "gauge";

/// Every number of a worker, once for all ways: visit(name in JSON, metric, number).
template <class Status, class Visit>
void each_number(Status& s, const Visit& visit) {
  using Text = std::string_view;
  const auto count = [&](const char* json, Text name, Text help, auto& value) {
    visit(json, {"counter", name, help}, value);
  };
  const auto level = [&](const char* json, Text name, Text help, auto& value) {
    visit(json, {gauge, name, help}, value);
  };
  level("uptime_s", "uptime_seconds", "Seconds since the worker was started.", s.uptime_seconds);
  count("inputs", "inputs_total", "Inputs answered.", s.inputs);
  count("refused", "refused_total", "Inputs that could not be used.", s.refused);
  level("inputs_per_s", "inputs_per_second", "Inputs per second, lately.", s.inputs_per_second);
  count("transactions", "transactions_total", "Transactions committed.", s.transactions);
  count("aborts", "aborts_total", "Transactions aborted, and tried again.", s.aborts);
  level("transaction_s", "transaction_seconds", "Seconds that the last transaction took.",
        s.transaction_seconds);
  count("snapshots", "snapshots_total", "Snapshots of models written.", s.snapshots);
  count("state_bytes", "state_bytes_total", "Bytes of snapshots written.", s.state_bytes);
  count("replayed", "replayed_total", "Inputs taken again, without an answer.", s.replayed);
  count("restores", "restores_total", "Partitions restored.", s.restores);
  level("restore_s", "restore_seconds", "Seconds that the last restored partition took.",
        s.restore_seconds);
  level("models", "models", "Models of this worker's partitions.", s.models);
  level("models_in_memory", "models_in_memory", "Of them, those in memory.", s.models_in_memory);
  level("memory_bytes", "memory_bytes", "Memory that counts against the limit.", s.memory_bytes);
  level("resident_bytes", "resident_memory_bytes", "Memory in use.", s.resident_bytes);
}

template <typename T>
void take(const WorkerJson& json, const char* name, T& to) {
  const auto at = json.find(name);
  if (at == json.end()) return;
  if (std::is_same_v<T, std::string> ? at->is_string() : at->is_number()) to = at->get<T>();
}

WorkerJson list_in(const WorkerJson& json, const char* name) {
  const auto list = json.find(name);
  return list != json.end() && list->is_array() ? *list : WorkerJson::array();
}

}  // namespace

double microseconds(double seconds) { return std::round(seconds * 1e7) / 10; }

std::string to_json(const WorkerStatus& s) {
  WorkerJson partitions = WorkerJson::array();
  for (const PartitionStatus& p : s.partitions)
    partitions.push_back({{"partition", p.partition},
                          {"phase", p.phase},
                          {"next", p.next},
                          {"lag", p.lag ? WorkerJson(*p.lag) : WorkerJson(nullptr)},
                          {"to_replay", p.to_replay},
                          {"models", p.models}});
  WorkerJson slowest = WorkerJson::array();
  for (const SlowKey& k : s.slowest)
    slowest.push_back({{"key", k.key}, {"us", microseconds(k.seconds)}});
  WorkerJson all = {{"instance", s.instance},
                    {"host", s.host},
                    {"pid", s.pid},
                    {"version", s.version},
                    {"engine", s.engine},
                    {"time_ms", s.time_ms},
                    {"partitions", std::move(partitions)},
                    {"slowest", std::move(slowest)}};
  each_number(s, [&](const char* name, const MetricFamily&, auto value) { all[name] = value; });
  return all.dump(-1, ' ', false, WorkerJson::error_handler_t::replace);
}

void read_json(std::string_view text, WorkerStatus& s) {
  const WorkerJson json = WorkerJson::parse(text, nullptr, /*allow_exceptions=*/false);
  take(json, "host", s.host);
  take(json, "version", s.version);
  take(json, "time_ms", s.time_ms);
  each_number(s, [&](const char* name, const MetricFamily&, auto& to) { take(json, name, to); });
  for (const WorkerJson& told : list_in(json, "partitions")) {
    PartitionStatus& p = s.partitions.emplace_back(PartitionStatus{.partition = -1, .phase = {}});
    take(told, "partition", p.partition);
    take(told, "phase", p.phase);
    take(told, "to_replay", p.to_replay);
    take(told, "models", p.models);
  }
  for (const WorkerJson& told : list_in(json, "slowest")) {
    double us = 0;
    take(told, "us", us);
    take(told, "key", s.slowest.emplace_back(SlowKey{.key = {}, .seconds = us / 1e6}).key);
  }
}

std::string prometheus_text(const WorkerStatus& s) {
  MetricsWriter to("kalstream_fleet_");
  to.add({gauge, "info", "What is running; always 1."},
         fmt::format("{{instance=\"{}\",version=\"{}\",engine=\"{}\"}}", escaped_label(s.instance),
                     escaped_label(s.version), escaped_label(s.engine)),
         1);
  each_number(
      s, [&](const char*, const MetricFamily& family, auto value) { to.add(family, "", value); });
  to.add({gauge, "partitions", "Partitions of this worker."}, "", s.partitions.size());
  const MetricFamily work = {"summary", "work_seconds", "Time that an input took."};
  to.add(work, "{quantile=\"0.5\"}", s.work.p50);
  to.add(work, "{quantile=\"0.99\"}", s.work.p99);
  to.add(work, "_sum", s.work.sum);
  to.add(work, "_count", s.work.count);
  for (const PartitionStatus& p : s.partitions) {
    const std::string label = fmt::format("{{partition=\"{}\"}}", p.partition);
    if (p.lag) to.add({gauge, "lag", "Inputs that are there and not taken yet."}, label, *p.lag);
    to.add({gauge, "to_replay", "Inputs left to be taken again before the partition is live."},
           label, p.to_replay);
    to.add({gauge, "live", "Whether the partition is answered, and not being restored."}, label,
           p.phase == "live" ? 1 : 0);
    to.add({gauge, "partition_models", "Models of the partition."}, label, p.models);
  }
  return to.text();
}

// ---- Counting.

void Tally::count_answer(std::string_view key, double took) {
  ++counted_.inputs;
  work_.record(took);
  constexpr std::size_t enough = 5;
  std::vector<SlowKey>& slowest = counted_.slowest;
  if (slowest.size() == enough && took <= slowest.back().seconds) return;
  const auto same = std::ranges::find(slowest, key, &SlowKey::key);
  if (same != slowest.end())
    same->seconds = std::max(same->seconds, took);
  else
    slowest.push_back({std::string(key), took});
  std::ranges::sort(slowest, std::greater{}, &SlowKey::seconds);
  if (slowest.size() > enough) slowest.pop_back();
}

// A mean over some 10,000 inputs.
void Tally::count_work(std::size_t inputs, double took) {
  busy_seconds_ += took;
  const double each = took / static_cast<double>(inputs);
  const double weight = std::min(1.0, static_cast<double>(inputs) / 10'000);
  seconds_per_input_ =
      seconds_per_input_ == 0 ? each : seconds_per_input_ + weight * (each - seconds_per_input_);
}

void Tally::count_restore(double took, std::uint64_t replayed) {
  ++counted_.restores;
  counted_.restore_seconds = took;
  counted_.replayed += replayed;
}

void Tally::count_messages(std::span<const Message> messages) {
  for (const Message& m : messages) {
    counted_.refused += m.topic == Topic::dead ? 1 : 0;
    counted_.snapshots += m.topic == Topic::state && (m.value || m.image) ? 1 : 0;
  }
}

bool Tally::a_second_has_passed() {
  const auto now = Clock::now();
  const double since = seconds(now - second_begun_);
  if (since < 1) return false;
  counted_.inputs_per_second = static_cast<double>(counted_.inputs - inputs_before_) / since;
  is_busy_ = busy_seconds_ > 0.5 * since;
  inputs_before_ = counted_.inputs;
  busy_seconds_ = 0;
  second_begun_ = now;
  return true;
}

WorkerStatus Tally::status() const {
  WorkerStatus status = counted_;
  status.uptime_seconds = seconds(Clock::now() - started_);
  status.work = work_.summary();
  return status;
}

}  // namespace kalstream::fleet
