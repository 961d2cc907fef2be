#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace kalstream {

/// Writes the whole text to `path` or leaves what was there: first to a neighbouring temporary
/// file, then renamed. A link is followed; a device or pipe is written to directly. Throws
/// std::runtime_error naming the path.
void write_file(const std::filesystem::path& path, std::string_view text);

/// The same, and what was there is kept under the name with ".previous" added.
void write_file_and_keep(const std::filesystem::path& path, std::string_view text);

/// The same without waiting for the disk: for what is written again soon.
void replace_file(const std::filesystem::path& path, std::string_view text);

/// Many files at little more cost than one: all are on the disk before the first takes its name.
/// What was added and not committed is forgotten.
class FileBatch {
 public:
  FileBatch() = default;
  ~FileBatch();
  FileBatch(const FileBatch&) = delete;
  FileBatch& operator=(const FileBatch&) = delete;

  /// Throws std::runtime_error naming the path.
  void add(const std::filesystem::path& path, std::string_view text);
  void commit();

 private:
  std::vector<std::filesystem::path> paths_;
};

/// Throws what write_file would if it cannot write there; for use before long work.
void require_writable(const std::filesystem::path& path);

}  // namespace kalstream
