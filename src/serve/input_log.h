// All that a served stream was given since its last checkpoint, on disk before it is answered.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "system/system.h"

namespace kalstream::serve {

/// What a request asks a stream to do, as it can be done again.
struct Input {
  enum class Kind : std::uint8_t {
    object,  ///< a JSON object: one sample
    array,   ///< a JSON array of them
    lines,   ///< JSON, one sample a line
    csv,     ///< with a header
    put,     ///< the key's model begins from this state
    forget,  ///< the key's model
  };

  Kind kind = Kind::object;
  std::int64_t at = 0;  ///< when it came, in milliseconds since 1970
  std::string_view key;
  std::string_view body;
  std::vector<std::string_view> elements = {};  ///< of an array; views into its body
};

/// Files of entries, each with its number, its length and a checksum. An entry is there whole, or
/// it is the last and was never acknowledged.
class InputLog {
 public:
  /// In a folder that is there. With `sync`, an entry survives the loss of power, too. Throws
  /// std::runtime_error naming the file, as all below do.
  InputLog(std::string folder, bool sync, System& system = System::real());

  using Take = std::function<void(const Input&)>;
  /// All entries from this number on, in order. What people should know: of entries that are
  /// missing before the first that is there, of a last one that is not whole. Throws
  /// std::runtime_error if one is damaged that others follow.
  std::vector<std::string> replay(std::uint64_t from, const Take& take);

  /// The entry is there, or nothing has changed.
  void append(const Input& input);

  std::uint64_t next() const { return next_; }    ///< number of the next entry
  std::uint64_t bytes() const { return bytes_; }  ///< since the file was begun
  /// With the next entry; until then none is open, as many streams have nothing to say.
  void begin_file() {
    rolls_ = true;
    if (!half_written_) file_.close();
  }
  void remove_before(std::uint64_t number);  ///< files that hold only earlier ones

 private:
  std::string path_of(std::uint64_t first) const;
  std::vector<std::uint64_t> files();
  bool replay_file(std::uint64_t first, bool is_last, std::uint64_t from, const Take& take,
                   std::vector<std::string>& remarks);
  void open_file();
  void cut();
  [[noreturn]] void fail(const std::string& what) const;

  System& system_;
  std::string folder_;
  bool sync_;
  std::uint64_t next_ = 1;
  Descriptor file_;
  std::string path_;
  std::uint64_t bytes_ = 0;
  bool half_written_ = false;  // there is something behind bytes_
  bool rolls_ = false;         // to the next file
  std::string buffer_;
};

}  // namespace kalstream::serve
