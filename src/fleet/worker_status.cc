#include "fleet/worker_status.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace kalstream::fleet {
namespace {

std::string escaped(std::string_view label) {
  std::string text;
  for (const char c : label) {
    if (c == '\\' || c == '"') text += '\\';
    text += c == '\n' ? ' ' : c;
  }
  return text;
}

class Series {
 public:
  void family(const char* type, const char* name, const char* help) {
    name_ = name;
    text_ += fmt::format("# HELP kalstream_fleet_{0} {1}\n# TYPE kalstream_fleet_{0} {2}\n", name,
                         help, type);
  }
  template <class Number>
  void add(Number value, const std::string& labels = "") {
    if constexpr (std::is_floating_point_v<Number>)
      if (std::isnan(value)) return;
    text_ += fmt::format("kalstream_fleet_{}{} {}\n", name_, labels, value);
  }
  template <class Number>
  void one(const char* type, const char* name, const char* help, Number value) {
    family(type, name, help);
    add(value);
  }
  std::string take() { return std::move(text_); }

 private:
  const char* name_ = "";
  std::string text_;
};

}  // namespace

std::string to_json(const WorkerStatus& s) {
  using nlohmann::json;
  json partitions = json::array();
  for (const PartitionStatus& p : s.partitions)
    partitions.push_back({{"partition", p.partition},
                          {"phase", p.phase},
                          {"next", p.next},
                          {"lag", p.lag ? json(*p.lag) : json(nullptr)},
                          {"to_replay", p.to_replay},
                          {"models", p.models}});
  json slowest = json::array();
  for (const SlowKey& k : s.slowest)
    slowest.push_back({{"key", k.key}, {"us", std::round(k.seconds * 1e7) / 10}});
  const json all = {{"instance", s.instance},
                    {"host", s.host},
                    {"pid", s.pid},
                    {"version", s.version},
                    {"engine", s.engine},
                    {"time_ms", s.time_ms},
                    {"uptime_s", s.uptime_seconds},
                    {"partitions", std::move(partitions)},
                    {"slowest", std::move(slowest)},
                    {"inputs", s.inputs},
                    {"refused", s.refused},
                    {"inputs_per_s", s.inputs_per_second},
                    {"replayed", s.replayed},
                    {"restores", s.restores},
                    {"restore_s", s.restore_seconds},
                    {"transactions", s.transactions},
                    {"aborts", s.aborts},
                    {"transaction_s", s.transaction_seconds},
                    {"snapshots", s.snapshots},
                    {"state_bytes", s.state_bytes},
                    {"models", s.models},
                    {"models_in_memory", s.models_in_memory},
                    {"memory_bytes", s.memory_bytes},
                    {"resident_bytes", s.resident_bytes}};
  return all.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string prometheus_text(const WorkerStatus& s) {
  Series to;
  to.family("gauge", "info", "What is running; always 1.");
  to.add(1, fmt::format("{{instance=\"{}\",version=\"{}\",engine=\"{}\"}}", escaped(s.instance),
                        escaped(s.version), escaped(s.engine)));
  to.one("gauge", "uptime_seconds", "Seconds since the worker was started.", s.uptime_seconds);
  to.one("counter", "inputs_total", "Inputs answered.", s.inputs);
  to.one("counter", "refused_total", "Inputs that could not be used.", s.refused);
  to.one("gauge", "inputs_per_second", "Inputs per second, lately.", s.inputs_per_second);
  to.one("counter", "transactions_total", "Transactions committed.", s.transactions);
  to.one("counter", "aborts_total", "Transactions aborted, and tried again.", s.aborts);
  to.one("gauge", "transaction_seconds", "Seconds that the last transaction took.",
         s.transaction_seconds);
  to.one("counter", "snapshots_total", "Snapshots of models written.", s.snapshots);
  to.one("counter", "state_bytes_total", "Bytes of snapshots written.", s.state_bytes);
  to.one("counter", "replayed_total", "Inputs taken again, without an answer.", s.replayed);
  to.one("counter", "restores_total", "Partitions restored.", s.restores);
  to.one("gauge", "restore_seconds", "Seconds that the last restored partition took.",
         s.restore_seconds);
  to.one("gauge", "models", "Models of this worker's partitions.", s.models);
  to.one("gauge", "models_in_memory", "Of them, those in memory.", s.models_in_memory);
  to.one("gauge", "memory_bytes", "Memory that counts against the limit.", s.memory_bytes);
  to.one("gauge", "resident_memory_bytes", "Memory in use.", s.resident_bytes);
  to.one("gauge", "partitions", "Partitions of this worker.", s.partitions.size());
  to.family("summary", "work_seconds", "Time that an input took.");
  to.add(s.work.p50, "{quantile=\"0.5\"}");
  to.add(s.work.p99, "{quantile=\"0.99\"}");
  to.add(s.work.sum, "_sum");
  to.add(s.work.count, "_count");
  const auto each = [&](const char* name, const char* help, const auto& value) {
    to.family("gauge", name, help);
    for (const PartitionStatus& p : s.partitions)
      if (const auto v = value(p)) to.add(*v, fmt::format("{{partition=\"{}\"}}", p.partition));
  };
  each("lag", "Inputs that are there and not taken yet.",
       [](const PartitionStatus& p) { return p.lag; });
  each("to_replay", "Inputs left to be taken again before the partition is live.",
       [](const PartitionStatus& p) { return std::optional(p.to_replay); });
  each("live", "Whether the partition is answered, and not being restored.",
       [](const PartitionStatus& p) { return std::optional(p.phase == "live" ? 1 : 0); });
  each("partition_models", "Models of the partition.",
       [](const PartitionStatus& p) { return std::optional(p.models); });
  return to.take();
}

}  // namespace kalstream::fleet
