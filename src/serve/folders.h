// Folders of streams: what is to become of them outlives the process that was told.
#pragma once

#include <string>
#include <vector>

#include "system/system.h"

namespace kalstream::serve {

enum class Mark : std::uint8_t {
  reset,    ///< all but the options is to be removed
  removed,  ///< all of it
};

const char* name_of(Mark mark);
/// Throw std::runtime_error naming the path, as all below do.
void mark(const std::string& folder, Mark mark, System& system);
void unmark(const std::string& folder, Mark mark, System& system);
bool is_marked(const std::string& folder, Mark mark, System& system);

/// Files and folders in it but these.
void remove_all_but(const std::string& folder, const std::vector<std::string>& kept,
                    System& system);
/// With all that is in it, its marks last.
void remove_folder(const std::string& folder, System& system);
void make_folder(const std::string& path, System& system);

/// A name as part of a path, whatever is in it: "a.b" is "612e62".
std::string in_hex(std::string_view name);

}  // namespace kalstream::serve
