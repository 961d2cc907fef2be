#include "kafka/configuration.h"

#include <fstream>

#include "kafka/client.h"

namespace kalstream::kafka {
namespace {

std::string refusal(const std::string& assignment) {
  Configuration configuration("here:9092");
  try {
    configuration.take_option(assignment);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

std::filesystem::path file_with(const std::string& name, const std::string& text) {
  const auto path = std::filesystem::path(testing::TempDir()) / name;
  std::ofstream(path) << text;
  return path;
}

TEST(KafkaConfiguration, LaterSettingsReplaceEarlierOnes) {
  Configuration configuration("here:9092");
  configuration.take_option("linger.ms=7");
  configuration.take_option("linger.ms = 9");
  EXPECT_EQ(configuration.value("linger.ms"), "9");
  EXPECT_EQ(configuration.brokers(), "here:9092");
  EXPECT_EQ(configuration.value("unknown"), "");
}

TEST(KafkaConfiguration, SecretsAreNotTakenFromTheCommandLine) {
  for (const char* name : {"sasl.password", "ssl.key.password", "ssl.keystore.password",
                           "ssl.key.pem", "ssl.certificate.pem", "sasl.oauthbearer.config",
                           "sasl.oauthbearer.client.secret", "sasl.jaas.config"}) {
    const std::string text = refusal(std::string(name) + "=hunter2");
    EXPECT_NE(text.find("--kafka-file"), text.npos) << name;
    EXPECT_EQ(text.find("hunter2"), text.npos) << name;
  }
  EXPECT_EQ(refusal("sasl.username=me"), "");
  EXPECT_EQ(refusal("hunter2").find("hunter2"), std::string::npos);
}

TEST(KafkaConfiguration, SecretsComeFromFiles) {
  Configuration configuration("here:9092");
  configuration.take_file(
      file_with("kafka.conf", "# who we are\n\nsasl.username = me\r\nsasl.password=a=b #c\n"));
  EXPECT_EQ(configuration.value("sasl.username"), "me");
  EXPECT_EQ(configuration.value("sasl.password"), "a=b #c");
  const auto password = file_with("password", "hunter2\n");
  configuration.take_option("sasl.password=@" + password.string());
  EXPECT_EQ(configuration.value("sasl.password"), "hunter2");
  EXPECT_EQ(configuration.hide_secrets("user me: hunter2hunter2 is wrong"),
            "user me: ****** is wrong");
  EXPECT_THROW(configuration.take_option("sasl.password=@/not/there"), std::invalid_argument);
  EXPECT_THROW(configuration.take_file("/not/there"), std::invalid_argument);
}

TEST(KafkaConfiguration, ABadLineIsNamedButNotShown) {
  Configuration configuration("here:9092");
  try {
    configuration.take_file(file_with("bad.conf", "a=b\nhunter2\n"));
    FAIL();
  } catch (const std::invalid_argument& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("bad.conf:2: write name=value"), text.npos) << text;
    EXPECT_EQ(text.find("hunter2"), text.npos);
  }
}

TEST(KafkaConfiguration, WhatExactlyOnceRestsOnIsNotTheUsers) {
  EXPECT_NE(refusal("isolation.level=read_uncommitted").find("sets this itself"),
            std::string::npos);
  EXPECT_NE(refusal("bootstrap.servers=there").find("--brokers"), std::string::npos);
  EXPECT_THROW(Configuration(" "), std::invalid_argument);
}

TEST(KafkaLogFilter, TellsTheFirstAndThenOneInAWhile) {
  LogFilter filter(std::chrono::seconds(30));
  const LogFilter::Clock::time_point start{};
  const auto at = [&](int seconds) { return start + std::chrono::seconds(seconds); };
  EXPECT_EQ(filter.add(3, "FAIL", "[thrd:a/1]: a/1: refused", at(0)), "Kafka: a/1: refused");
  EXPECT_EQ(filter.add(3, "FAIL", "refused", at(1)), std::nullopt);
  EXPECT_EQ(filter.add(3, "FAIL", "refused", at(29)), std::nullopt);
  EXPECT_EQ(filter.add(4, "SESSTMOUT", "late", at(29)), "Kafka: late");
  EXPECT_EQ(filter.add(3, "FAIL", "refused", at(30)), "Kafka: refused (and 2 more like it)");
  EXPECT_EQ(filter.add(3, "FAIL", "refused", at(60)), "Kafka: refused");
  EXPECT_EQ(filter.add(7, "SEND", "debug", at(60)), "Kafka: SEND: debug");
  EXPECT_EQ(filter.add(7, "SEND", "debug", at(60)), "Kafka: SEND: debug");
  EXPECT_EQ(
      filter.add(4, "CONFWARN", "… is a producer property and will be ignored by this …", at(60)),
      std::nullopt);
}

}  // namespace
}  // namespace kalstream::kafka
