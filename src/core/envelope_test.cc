#include "core/envelope.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kalstream/snapshot.h"

namespace kalstream {
namespace {

constexpr Envelope outside{{0x89, 'O', 'U', 'T', 'S', '\r', '\n', 0x1a}, 1, "outside"};
constexpr Envelope inside{{0x89, 'I', 'N', 'S', 'D', '\r', '\n', 0x1a}, 1, "inside"};

std::vector<std::byte> sealed(const Envelope& envelope, std::span<const std::byte> contents) {
  std::vector<std::byte> bytes;
  const std::size_t begins = begin(envelope, bytes);
  bytes.insert(bytes.end(), contents.begin(), contents.end());
  close(bytes, begins);
  seal(bytes);
  return bytes;
}

TEST(Envelope, TwoSealedAtOnceAreAsOneAfterTheOther) {
  std::vector<std::byte> contents;
  for (int k = 0; k < 1000; ++k) contents.push_back(static_cast<std::byte>(k * k));
  auto expected = sealed(inside, contents);
  const std::size_t size = expected.size();
  const auto before = as_bytes("before");
  const auto behind = as_bytes("behind it");
  expected.insert(expected.begin(), before.begin(), before.end());
  expected.insert(expected.end(), behind.begin(), behind.end());
  expected = sealed(outside, expected);

  auto bytes = expected;
  const auto inner = std::span(bytes).subspan(24 + before.size(), size);
  for (std::span<std::byte> envelope : {std::span(bytes), inner})
    for (std::byte& b : envelope.last(8)) b = {};
  EXPECT_THROW(open(outside, bytes), SnapshotError);
  EXPECT_EQ(open(outside, bytes, Checksum::passed_over).left(), expected.size() - 32);
  seal_both(bytes, inner);
  EXPECT_EQ(bytes, expected);
  EXPECT_EQ(open(inside, inner).left(), contents.size());
}

TEST(Archive, NumbersInSinglePrecision) {
  for (std::size_t n = 0; n < 20; ++n) {
    std::vector<float> numbers(n);
    for (std::size_t k = 0; k < n; ++k) numbers[k] = std::exp(static_cast<float>(k) - 10);
    std::vector<std::byte> bytes;
    Archive(bytes).run(numbers);
    EXPECT_EQ(bytes.size(), (n + 1) / 2 * 8);
    std::vector<float> read(n);
    Archive from{std::span<const std::byte>(bytes)};
    from.run(read);
    EXPECT_EQ(read, numbers);
    EXPECT_EQ(from.left(), 0U);
    if (n == 0) continue;
    const auto refused = [&](std::span<const std::byte> changed) {
      EXPECT_THROW(Archive(changed).run(read), SnapshotError) << n;
    };
    refused(std::span(bytes).first(bytes.size() - 1));
    if (n % 2 == 1) {  // half a word is left over
      auto changed = bytes;
      changed.back() = std::byte{1};
      refused(changed);
    }
    for (const float v : {INFINITY, -INFINITY, NAN}) {
      std::vector<float> wrong = numbers;
      wrong[n / 2] = v;
      EXPECT_THROW(Archive(bytes).run(wrong), SnapshotError);
    }
  }
}

}  // namespace
}  // namespace kalstream
