// Reads what a topic holds, and no more: for records that are looked up.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kafka/consumer.h"

namespace kalstream::kafka {

using TakeMessage = std::function<void(const Message&)>;

/// If nothing comes for so long a KafkaError is thrown.
inline constexpr Milliseconds usual_patience = std::chrono::seconds(15);

/// Every committed message of these partitions that is there at this moment, in the order of each
/// partition.
void read_topic(const Configuration& configuration, const std::string& topic,
                const std::vector<std::int32_t>& partitions, const Say& say,
                const TakeMessage& take, Milliseconds patience = usual_patience);

/// Those of one partition from its offset on and before `end`, as far as they are there.
void read_range(const Configuration& configuration, const TopicPartition& from, std::int64_t end,
                const Say& say, const TakeMessage& take, Milliseconds patience = usual_patience);

}  // namespace kalstream::kafka
