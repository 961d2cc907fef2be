#include "kafka/client.h"

#include <fmt/format.h>

#include <array>

namespace kalstream::kafka {

std::optional<std::string> LogFilter::add(int level, std::string_view facility,
                                          std::string_view text, Clock::time_point now) {
  constexpr int debugging = 7;  // somebody has asked for it (debug=…)
  // Consumers and producers share one configuration, and complain of what is the other's.
  if (facility == "CONFWARN" && text.find("will be ignored by this") != text.npos) return {};
  if (facility == "GETPID" && text.find("retrying") != text.npos) return {};  // a new cluster
  if (text.starts_with("[thrd:"))
    if (const auto end = text.find("]: "); end != text.npos) text.remove_prefix(end + 3);
  if (level >= debugging) return fmt::format("Kafka: {}: {}", facility, text);

  auto [at, is_new] = facilities_.try_emplace(std::string(facility));
  Facility& seen = at->second;
  if (!is_new && now < seen.next) {
    ++seen.held;
    return {};
  }
  seen.next = now + interval_;
  const std::uint64_t held = std::exchange(seen.held, 0);
  return held == 0 ? fmt::format("Kafka: {}", text)
                   : fmt::format("Kafka: {} (and {} more like it)", text, held);
}

Client::Client(Kind kind, Configuration configuration, Say say, Prepare prepare)
    : configuration_(std::move(configuration)), say_(std::move(say)) {
  std::array<char, 512> why{};
  Owner<rd_kafka_conf_t, rd_kafka_conf_destroy> conf(rd_kafka_conf_new());
  for (const auto& [name, value] : configuration_.values())
    if (rd_kafka_conf_set(conf.get(), name.c_str(), value.c_str(), why.data(), why.size()) !=
        RD_KAFKA_CONF_OK)
      throw std::invalid_argument(
          configuration_.hide_secrets(fmt::format("Kafka's setting {}: {}", name, why.data())));
  rd_kafka_conf_set_opaque(conf.get(), this);
  rd_kafka_conf_set_log_cb(
      conf.get(), [](const rd_kafka_t* handle, int level, const char* facility, const char* text) {
        static_cast<Client*>(rd_kafka_opaque(handle))->log(level, facility, text);
      });
  rd_kafka_conf_set_error_cb(conf.get(), [](rd_kafka_t*, int code, const char* text, void* client) {
    if (code != RD_KAFKA_RESP_ERR__FATAL)  // require_sound() asks for that
      static_cast<Client*>(client)->note_complaint(code, text);
  });
  if (prepare != nullptr) prepare(conf.get());
  rd_kafka_t* const handle =
      rd_kafka_new(kind == Kind::consumer ? RD_KAFKA_CONSUMER : RD_KAFKA_PRODUCER, conf.get(),
                   why.data(), why.size());
  if (handle == nullptr)
    throw std::invalid_argument(
        configuration_.hide_secrets(fmt::format("Kafka's settings: {}", why.data())));
  static_cast<void>(conf.release());  // the handle's now
  handle_.reset(handle);
}

void Client::log(int level, const char* facility, const char* text) {
  const std::lock_guard lock(mutex_);
  const auto line = filter_.add(level, facility, text, LogFilter::Clock::now());
  if (line && say_) say_(configuration_.hide_secrets(*line));
}

void Client::note_complaint(int code, const std::string& text) {
  const std::lock_guard lock(mutex_);
  // That all are down follows from what was said before, which tells more.
  if (code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN && complaint_code_ != 0) return;
  complaint_code_ = code;
  complained_ = LogFilter::Clock::now();
  // "… (after 0ms in state CONNECT, 3 identical error(s) suppressed)": nobody wants to know that.
  complaint_ = configuration_.hide_secrets(text.substr(0, text.rfind(" (after ")));
}

std::pair<int, std::string> Client::last_complaint() const {
  constexpr auto old = std::chrono::minutes(1);  // says nothing of what happens now
  const std::lock_guard lock(mutex_);
  if (LogFilter::Clock::now() - complained_ > old) return {};
  return {complaint_code_, complaint_};
}

void Client::require_sound() const {
  std::array<char, 512> why{};
  const auto code = rd_kafka_fatal_error(handle(), why.data(), why.size());
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
    fail(code, KafkaError::Kind::fatal, "Kafka's client cannot go on", why.data());
}

void Client::fail(int code, KafkaError::Kind kind, const std::string& doing,
                  const std::string& details) const {
  std::string text = fmt::format("{}: {}", doing, details.empty() ? name_of(code) : details);
  if (text.ends_with('.')) text.pop_back();
  // A call that was given up says nothing of the reason; the connections may know it.
  const bool gave_up = code == RD_KAFKA_RESP_ERR__TIMED_OUT ||
                       code == RD_KAFKA_RESP_ERR__TRANSPORT ||
                       code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN;
  std::string advice = advice_for(code);
  if (const auto [complaint_code, complaint] = last_complaint(); gave_up && complaint_code != 0) {
    text += fmt::format(" ({})", complaint);
    advice = advice_for(complaint_code);
  }
  throw KafkaError(code, kind, configuration_.hide_secrets(text) + advice);
}

void Client::require(rd_kafka_error_t* error, const std::string& doing) const {
  if (error == nullptr) return;
  const Error owner(error);
  const int code = rd_kafka_error_code(error);
  const auto kind = rd_kafka_error_is_fatal(error) != 0             ? KafkaError::Kind::fatal
                    : rd_kafka_error_txn_requires_abort(error) != 0 ? KafkaError::Kind::abortable
                    : rd_kafka_error_is_retriable(error) != 0       ? KafkaError::Kind::retriable
                                                                    : KafkaError::Kind::plain;
  fail(code, kind, doing, rd_kafka_error_string(error));
}

void Client::require(int code, const std::string& doing) const {
  if (code == RD_KAFKA_RESP_ERR_NO_ERROR) return;
  if (code == RD_KAFKA_RESP_ERR__FATAL) require_sound();
  fail(code, may_pass(code) ? KafkaError::Kind::retriable : KafkaError::Kind::plain, doing, "");
}

std::vector<TopicPartition> Client::require(const PartitionList& list, const char* doing) const {
  for (int i = 0; i < list->cnt; ++i)
    require(list->elems[i].err,
            fmt::format(fmt::runtime(doing), list->elems[i].topic, list->elems[i].partition));
  return from_list(*list);
}

std::vector<TopicPartition> Client::offsets_at(std::vector<TopicPartition> partitions,
                                               Milliseconds timeout) const {
  if (partitions.empty()) return partitions;
  const PartitionList list = to_list(partitions);
  require(rd_kafka_offsets_for_times(handle(), list.get(), static_cast<int>(timeout.count())),
          "offsets cannot be found");
  return require(list, "the offsets of {} [{}] cannot be found");
}

}  // namespace kalstream::kafka
