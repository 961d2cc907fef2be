// One process at a time.
#pragma once

#include <filesystem>

#include "system/system.h"

namespace kalstream {

/// Holds a file that says who holds it, for as long as it lives. The system lets go of it when the
/// process ends, however it ends.
class Lock {
 public:
  /// Throws std::runtime_error, with the number of the process that has it, if another one does.
  explicit Lock(std::filesystem::path path, System& system = System::real());
  ~Lock();
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  /// Takes it again if its file was removed. Throws as the constructor does.
  void keep();

 private:
  bool is_named();
  void take();

  System& system_;
  std::string path_;
  Descriptor file_;
};

}  // namespace kalstream
