#pragma once

#include <filesystem>
#include <string_view>

namespace kalstream {

/// Writes the whole text to `path` or leaves what was there: first to a neighbouring temporary
/// file, then renamed. Throws std::runtime_error naming the path.
void write_file(const std::filesystem::path& path, std::string_view text);

}  // namespace kalstream
