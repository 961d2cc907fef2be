#include "kafka/reading.h"

#include <fmt/format.h>

namespace kalstream::kafka {

namespace {

/// Until `take` returns false for the last partition that is left; it is also given ends.
void read_until(const Client& client, const std::vector<TopicPartition>& partitions,
                const std::function<bool(const Message&)>& take) {
  constexpr auto patience = std::chrono::seconds(15);
  // The end of a partition is known only after an empty answer, which a broker is slow to give.
  Consumer consumer(
      client.configuration().with("enable.partition.eof", "true").set("fetch.wait.max.ms", "20"),
      client.say());
  consumer.assign(partitions);
  auto last = std::chrono::steady_clock::now();
  std::vector<bool> done(partitions.size());
  for (std::size_t left = partitions.size(); left > 0;) {
    const auto message = consumer.poll(Milliseconds(100));
    const auto now = std::chrono::steady_clock::now();
    if (!message) {
      if (now - last <= patience) continue;
      const auto [code, text] = consumer.last_complaint();
      throw KafkaError(
          code, KafkaError::Kind::retriable,
          fmt::format("reading the topic {} does not get on{}{}{}", partitions.front().topic,
                      text.empty() ? "" : ": ", text, advice_for(code)));
    }
    last = now;
    for (std::size_t i = 0; i < partitions.size(); ++i) {
      if (done[i] || partitions[i].partition != message->partition() || take(*message)) continue;
      consumer.pause({partitions[i]});
      done[i] = true;
      --left;
    }
  }
}

}  // namespace

void read_topic(const Client& client, const std::string& topic,
                const std::vector<std::int32_t>& partitions, const TakeMessage& take) {
  std::vector<TopicPartition> from;
  for (const std::int32_t p : partitions) from.push_back({topic, p, TopicPartition::beginning});
  read_until(client, from, [&](const Message& message) {
    if (!message.is_end()) take(message);
    return !message.is_end();
  });
}

void read_range(const Client& client, const TopicPartition& from, std::int64_t end,
                const TakeMessage& take) {
  read_until(client, {from}, [&](const Message& message) {
    if (message.is_end() || message.offset() >= end) return false;
    take(message);
    return message.offset() + 1 < end;
  });
}

}  // namespace kalstream::kafka
