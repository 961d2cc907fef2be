// Against the client's own mock cluster: what errors become. Exactly once is not for it to show.
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include "kafka/admin.h"
#include "kafka/consumer.h"
#include "kafka/producer.h"

namespace kalstream::kafka {
namespace {

using namespace std::chrono_literals;

constexpr std::int16_t init_producer_id = 22;  // Kafka's numbers of requests
constexpr std::int16_t end_transaction = 26;

/// A cluster that lives as long as its owner.
class Mock : public Client {
 public:
  Mock()
      : Client(Kind::producer, Configuration("mock").with("test.mock.num.brokers", "1"), {},
               nullptr),
        cluster_(rd_kafka_handle_mock_cluster(handle())) {
    rd_kafka_mock_topic_create(cluster_, "topic", 2, 1);
  }

  Configuration configuration() const {
    return Configuration(rd_kafka_mock_cluster_bootstraps(cluster_));
  }
  Configuration transactional() const { return configuration().set("transactional.id", "t"); }
  void fail_next(std::int16_t request, rd_kafka_resp_err_t code) {
    rd_kafka_mock_push_request_errors(cluster_, request, 1, code);
  }
  /// As if the broker were too old for it.
  void forget(std::int16_t request) { rd_kafka_mock_set_apiversion(cluster_, request, -1, -1); }

 private:
  rd_kafka_mock_cluster_t* cluster_;
};

template <typename Work>
KafkaError error_of(Work work) {
  try {
    work();
  } catch (const KafkaError& error) {
    return error;
  }
  return {0, KafkaError::Kind::plain, "no error"};
}

TEST(KafkaClient, WhatIsWrittenIsRead) {
  Mock mock;
  std::vector<Delivery> deliveries;
  Producer producer(mock.transactional(), [&](const Delivery& d) { deliveries.push_back(d); }, {});
  producer.init_transactions(60s);
  producer.begin();
  const std::vector<Header> headers{{"a", "1"}, {"b", ""}, {"a", "2"}};
  producer.produce(
      {.topic = "topic", .partition = 1, .key = "k", .value = "v", .headers = headers, .tag = 7});
  producer.produce({.topic = "topic", .partition = 1, .key = "", .value = {}, .tag = 8});
  producer.produce({.topic = "topic", .partition = 1, .key = {}, .value = "", .tag = 9});
  producer.commit(60s);
  ASSERT_EQ(deliveries.size(), 3);
  EXPECT_EQ(deliveries[1].tag, 8);
  EXPECT_EQ(deliveries[1].offset, 1);
  EXPECT_EQ(deliveries[1].error, 0);

  Consumer consumer(mock.configuration().set("enable.partition.eof", "true").set("group.id", "g"),
                    {});
  consumer.assign({{"topic", 1, TopicPartition::beginning}});
  std::vector<Message> messages;
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  while ((messages.empty() || !messages.back().is_end()) &&
         std::chrono::steady_clock::now() < deadline)
    if (auto message = consumer.poll(100ms)) messages.push_back(std::move(*message));
  ASSERT_EQ(messages.size(), 4);
  EXPECT_EQ(messages[0].topic(), "topic");
  EXPECT_EQ(messages[0].partition(), 1);
  EXPECT_EQ(messages[0].offset(), 0);
  EXPECT_EQ(messages[0].key(), "k");
  EXPECT_EQ(messages[0].value(), "v");
  EXPECT_EQ(messages[0].header("a"), "2");
  EXPECT_EQ(messages[0].header("b"), "");
  EXPECT_EQ(messages[0].header("c"), std::nullopt);
  EXPECT_EQ(messages[0].headers().size(), 3);
  EXPECT_EQ(messages[1].key(), "");
  EXPECT_EQ(messages[1].value(), std::nullopt);
  EXPECT_EQ(messages[2].key(), std::nullopt);
  EXPECT_EQ(messages[2].value(), "");
  EXPECT_EQ(messages[3].offset(), 3);
}

TEST(KafkaClient, ReadsFromTheOffsetThatWasAssigned) {
  Mock mock;
  Producer producer(mock.transactional(), {}, {});
  producer.init_transactions(60s);
  producer.begin();
  for (const char* value : {"0", "1", "2"}) producer.produce({.topic = "topic", .value = value});
  producer.commit(60s);
  Consumer consumer(mock.configuration(), {});
  consumer.assign({{"topic", 0, 2}});
  consumer.pause({{"topic", 0}});
  consumer.resume({{"topic", 0}});
  std::optional<Message> message;
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  while (!message && std::chrono::steady_clock::now() < deadline) message = consumer.poll(100ms);
  ASSERT_TRUE(message);
  EXPECT_EQ(message->value(), "2");
}

TEST(KafkaClient, SaysWhatIsLeftToDoAboutAnError) {
  Mock mock;
  Producer producer(mock.transactional(), {}, {});
  mock.fail_next(init_producer_id, RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
  const KafkaError not_allowed = error_of([&] { producer.init_transactions(60s); });
  EXPECT_EQ(not_allowed.code(), RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
  EXPECT_TRUE(not_allowed.fatal());
  EXPECT_NE(std::string(not_allowed.what()).find("an ACL"), std::string::npos)
      << not_allowed.what();
  EXPECT_TRUE(error_of([&] { producer.require_sound(); }).fatal());

  Producer next(mock.transactional(), {}, {});
  next.init_transactions(60s);
  next.begin();
  next.produce({.topic = "topic", .value = "1"});
  mock.fail_next(end_transaction, RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH);
  const KafkaError fenced = error_of([&] { next.commit(60s); });
  EXPECT_TRUE(fenced.fenced()) << fenced.what();
  EXPECT_NE(std::string(fenced.what()).find("--instance"), std::string::npos) << fenced.what();
}

TEST(KafkaClient, ABrokerThatIsTooOldIsToldSo) {
  Mock mock;
  mock.forget(init_producer_id);
  Producer producer(mock.transactional(), {}, {});
  const KafkaError error = error_of([&] { producer.init_transactions(5s); });
  EXPECT_NE(std::string(error.what()).find("too old"), std::string::npos) << error.what();
}

TEST(KafkaClient, NobodyAnswers) {
  Admin admin(Configuration("127.0.0.1:1"), {}, 1s);
  const KafkaError error = error_of([&] { admin.connect(); });
  const std::string text = error.what();
  EXPECT_NE(text.find("no connection to 127.0.0.1:1"), text.npos) << text;
  EXPECT_NE(text.find("refused"), text.npos) << text;
  EXPECT_NE(text.find("--brokers"), text.npos) << text;
}

TEST(KafkaClient, SettingsThatDoNotExistAreUsageErrors) {
  const auto make = [](const char* name, const char* value) {
    Producer(Configuration("x:1").with(name, value), {}, {});
  };
  EXPECT_THROW(make("linger.s", "5"), std::invalid_argument);
  EXPECT_THROW(make("linger.ms", "soon"), std::invalid_argument);
}

TEST(KafkaPartition, IsThatOfJavasClients) {
  // Of Kafka's own tests: the hash of these is −973932308, −790332482, −985981536, −1486304829.
  constexpr std::int32_t many = 0x7fffffff;
  const auto positive = [](std::int32_t hash) { return (hash & 0x7fffffff) % many; };
  EXPECT_EQ(partition_of("21", many), positive(-973932308));
  EXPECT_EQ(partition_of("foobar", many), positive(-790332482));
  EXPECT_EQ(partition_of("a-little-bit-long-string", many), positive(-985981536));
  EXPECT_EQ(partition_of("a-little-bit-longer-string", many), positive(-1486304829));
  EXPECT_EQ(partition_of("abc", many), positive(479470107));
}

}  // namespace
}  // namespace kalstream::kafka
