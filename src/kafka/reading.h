// Reads what a topic holds, and no more: for records that are looked up.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kafka/consumer.h"

namespace kalstream::kafka {

using TakeMessage = std::function<void(const Message&)>;

// All with the settings of the client.

/// Every committed message of these partitions that is there at this moment, in the order of each
/// partition. Throws KafkaError if nothing comes for long, as the other does.
void read_topic(const Client& client, const std::string& topic,
                const std::vector<std::int32_t>& partitions, const TakeMessage& take);

/// Those of one partition from its offset on and before `end`, as far as they are there.
void read_range(const Client& client, const TopicPartition& from, std::int64_t end,
                const TakeMessage& take);

}  // namespace kalstream::kafka
