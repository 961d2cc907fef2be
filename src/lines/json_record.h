// A line of JSON as a record. Internal to src/lines.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schema/record.h"

namespace kalstream {

/// Reads one line after the other, an object or an array each, into flat records.
class JsonLines {
 public:
  /// Throws DataError, and leaves something in `record`, if it cannot be read: text that is no
  /// JSON, a key twice, structures deeper or with more fields than anybody needs.
  void read(std::string_view line, Record& record);

 private:
  class Parsing;

  void require_distinct(const Record& record);

  std::string path_;                     // of the value that comes next
  std::vector<std::string> last_names_;  // of the last record: mostly those of the next
  std::vector<std::string_view> sorted_;
};

}  // namespace kalstream
