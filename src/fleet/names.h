// Names of headers and topics: what other programs see of a fleet.
#pragma once

#include <string>

namespace kalstream::fleet {

// Of answers.
inline constexpr const char* input_header = "kalstream-input";  ///< PARTITION:OFFSET
inline constexpr const char* chain_header = "kalstream-chain";  ///< and of snapshots
// Of snapshots, whose value is the model's checkpoint.
inline constexpr const char* included_header = "kalstream-included";  ///< inputs before this offset
inline constexpr const char* engine_header = "kalstream-engine";
// Of dead letters.
inline constexpr const char* reason_header = "kalstream-reason";
inline constexpr const char* topic_header = "kalstream-topic";
inline constexpr const char* partition_header = "kalstream-partition";
inline constexpr const char* offset_header = "kalstream-offset";
// Of inputs.
inline constexpr const char* import_header = "kalstream-import";

}  // namespace kalstream::fleet
