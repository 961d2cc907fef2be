#include "core/memory_limit.h"

#include <gtest/gtest.h>

#include <fstream>

#include "temporary_folder.h"

namespace kalstream {
namespace {

constexpr std::uint64_t MiB = std::uint64_t{1} << 20;

/// A machine of 64 GiB, with what else is written into it.
struct Machine {
  Machine() { write("proc/meminfo", "MemTotal:       67108864 kB\nMemFree:        1 kB\n"); }

  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((root.path / path).parent_path());
    std::ofstream(root.path / path) << text;
  }
  std::uint64_t allows() const { return memory_allowed(root.path) / MiB; }

  test::TemporaryFolder root;
};

TEST(MemoryLimit, IsWhatTheMachineHas) {
  const Machine machine;
  EXPECT_EQ(machine.allows(), 65536U);
  machine.write("proc/self/cgroup", "0::/\n");
  EXPECT_EQ(machine.allows(), 65536U);
}

TEST(MemoryLimit, TheLeastOfAllGroupsAroundCounts) {
  const Machine machine;
  machine.write("proc/self/cgroup", "0::/system.slice/kalstream.service\n");
  machine.write("sys/fs/cgroup/system.slice/kalstream.service/memory.max", "max\n");
  EXPECT_EQ(machine.allows(), 65536U);
  machine.write("sys/fs/cgroup/system.slice/memory.max", "2147483648\n");
  EXPECT_EQ(machine.allows(), 2048U);
  machine.write("sys/fs/cgroup/system.slice/kalstream.service/memory.max", "1073741824\n");
  EXPECT_EQ(machine.allows(), 1024U);
}

TEST(MemoryLimit, InAContainerTheRootIsItsOwn) {
  const Machine machine;
  machine.write("proc/self/cgroup", "0::/../../docker/0123abc\n");
  machine.write("sys/fs/cgroup/memory.max", "536870912\n");
  EXPECT_EQ(machine.allows(), 512U);
}

TEST(MemoryLimit, TheOldHierarchiesAreKnown) {
  const Machine machine;
  machine.write("proc/self/cgroup",
                "5:cpu,cpuacct:/a\n4:hugetlb,memory:/docker/0123\n1:name=systemd:/b\n0::/\n");
  machine.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(machine.allows(), 65536U);
  machine.write("sys/fs/cgroup/memory/docker/memory.limit_in_bytes", "1073741824\n");
  machine.write("sys/fs/cgroup/memory/docker/0123/memory.limit_in_bytes", "3221225472\n");
  EXPECT_EQ(machine.allows(), 1024U);
}

TEST(MemoryLimit, WhereNothingIsKnownLittleIsTaken) {
  const test::TemporaryFolder empty;
  EXPECT_EQ(memory_allowed(empty.path), 1024 * MiB);
  EXPECT_GT(memory_allowed(), 0U);
}

TEST(MemoryLimit, SizesAreWrittenAsPeopleWriteThem) {
  EXPECT_EQ(bytes_of("2GiB"), 2048 * MiB);
  EXPECT_EQ(bytes_of("2G"), 2048 * MiB);
  EXPECT_EQ(bytes_of("1.5MiB"), 3 * MiB / 2);
  EXPECT_EQ(bytes_of("512K"), MiB / 2);
  EXPECT_EQ(bytes_of("1TiB"), MiB << 20);
  EXPECT_EQ(bytes_of("123456"), 123456U);
  for (const char* wrong : {"", "GiB", "2GB", "2 GiB", "-1G", "0", "1e400", "nan", "2Gi", "2giB"})
    EXPECT_THROW(bytes_of(wrong), std::invalid_argument) << wrong;
}

}  // namespace
}  // namespace kalstream
