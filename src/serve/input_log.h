// All that a served stream was given since its last checkpoint, on disk before it is answered.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
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

/// Files of entries, each with its number, its length and checksums. An entry is numbered one more
/// than the one before it, so that none can be missing unnoticed. Damage costs the entries that it
/// hit: those behind them are found by their checksums, and the damaged file is kept.
class InputLog {
 public:
  /// In a folder that is there. With `sync`, an entry survives the loss of power, too. Throws
  /// std::runtime_error naming the file, as all below do.
  InputLog(std::string folder, bool sync, System& system = System::real());

  using Take = std::function<void(const Input&)>;
  /// All entries from this number on, in order. Returns what people should know: which entries are
  /// damaged or missing, where they are kept, and where the log ends within an entry. Changes no
  /// file.
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
  /// A file that is being replayed.
  struct Replayed {
    std::uint64_t first;  // number of its first entry …
    std::uint64_t bound;  // … and of that of the next file
    const Descriptor& file;
    std::uint64_t size;
  };
  struct Entry;
  enum class Look : std::uint8_t;
  /// Where entries could not be read, since the last one that could.
  struct Damage {
    std::string path;
    std::uint64_t at = 0;  // byte
    bool is_open = false;  // it is not known how many entries there were
  };

  std::string path_of(std::uint64_t first) const;
  std::vector<std::uint64_t> files();
  void replay_file(std::uint64_t first, std::uint64_t bound, const Take& take);
  Look look_at(const Replayed& in, std::uint64_t at, Entry& entry);
  std::uint64_t find_entry(const Replayed& in, std::uint64_t at, std::uint64_t least);
  void pass_over(std::uint64_t until);
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
  std::optional<Damage> damage_;  // while entries are replayed
  std::vector<std::string> remarks_;
};

}  // namespace kalstream::serve
