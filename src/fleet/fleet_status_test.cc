#include "fleet/fleet_status.h"

#include <nlohmann/json.hpp>

namespace kalstream::fleet {
namespace {

FleetStatus example() {
  const KnownFleet fleet{
      .names = TopicNames("answers", "readings", "answers"),
      .records = {.fleet = begin_record("readings", "answers", {}), .schema = {}}};
  const kafka::Group group{
      .name = "answers",
      .state = "Stable",
      .members = {{.id = "x-1",
                   .instance = "one",
                   .host = "/127.0.0.1",
                   .partitions = {{"readings", 0}, {"readings", 2}}},
                  {.id = "x-2", .instance = "", .host = "h", .partitions = {}}}};
  const std::vector<kafka::TopicPartition> committed{
      {"readings", 0, 90}, {"readings", 1, kafka::TopicPartition::no_offset}, {"readings", 2, 7}};
  const std::vector<kafka::TopicPartition> ends{
      {"readings", 0, 100}, {"readings", 1, 5}, {"readings", 2, 7}};
  const std::map<std::string, std::string> words{
      {"one",
       R"({"instance":"one","host":"here","time_ms":59000,"models":12,"memory_bytes":1048576,
           "inputs_per_s":3.5,"slowest":[{"key":"a","us":7},{"key":"b","us":90}],"unknown":[1],
           "partitions":[{"partition":0,"phase":"replay","to_replay":4,"models":5},
                         {"partition":1,"phase":"live","models":99},{"partition":77},
                         {"partition":2,"phase":"live","models":7,"lag":null}]})"},
      {"gone", R"({"time_ms":1000,"slowest":[{"key":"c","us":1e9}],"models":"many"})"},
      {"odd", "no JSON"}};
  return status_of(fleet, group, committed, ends, words, 60000);
}

TEST(FleetStatus, PutsTogetherWhatIsKnown) {
  const FleetStatus status = example();
  ASSERT_EQ(status.partitions.size(), 3);
  EXPECT_EQ(status.partitions[0].lag, 10);
  EXPECT_EQ(status.partitions[0].worker, "one");
  EXPECT_EQ(status.partitions[0].phase, "replay");
  EXPECT_EQ(status.partitions[0].to_replay, 4);
  EXPECT_EQ(status.partitions[1].lag, 5) << "nothing is committed: all lies ahead";
  EXPECT_EQ(status.partitions[1].worker, "");
  EXPECT_EQ(status.partitions[1].models, 0) << "a worker that it does not belong to any more";
  EXPECT_EQ(status.partitions[2].lag, 0);
  EXPECT_EQ(status.lag(), 15);
  EXPECT_EQ(status.models(), 12);
  ASSERT_EQ(status.workers.size(), 3);
  EXPECT_EQ(status.workers[0].instance, "gone");
  EXPECT_FALSE(status.workers[0].is_member);
  EXPECT_EQ(status.workers[0].silent_seconds, 59);
  EXPECT_EQ(status.workers[1].instance, "one");
  EXPECT_EQ(status.workers[1].assigned, 2);
  EXPECT_EQ(status.workers[1].inputs_per_second, 3.5);
  EXPECT_EQ(status.workers[2].instance, "x-2");
  ASSERT_EQ(status.slowest.size(), 2) << "those of a worker that is gone are past";
  EXPECT_EQ(status.slowest[0].key, "b");
}

TEST(FleetStatus, IsJsonForPrograms) {
  const auto json = nlohmann::json::parse(to_json(example()));
  EXPECT_EQ(json.at("lag"), 15);
  EXPECT_EQ(json.at("group_state"), "Stable");
  EXPECT_TRUE(json.at("partitions").at(1).at("committed").is_null());
  EXPECT_EQ(json.at("partitions").at(2).at("worker"), "one");
  EXPECT_EQ(json.at("workers").at(1).at("models"), 12);
  EXPECT_EQ(json.at("slowest").at(0).at("us"), 90);
}

TEST(FleetStatus, IsATableForPeople) {
  const std::string text = to_text(example(), false);
  for (const char* part : {"2 workers, 12 models, 15 inputs behind, 1 partitions being restored, "
                           "1 partitions without a worker",
                           "replay, 4 to go", "gone, last word 59 s ago", "nobody"})
    EXPECT_NE(text.find(part), text.npos) << part << " is not in\n" << text;
}

}  // namespace
}  // namespace kalstream::fleet
