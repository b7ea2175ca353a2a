// group_encoder_test.cpp - equal rows get equal codes, other rows other codes, whatever columns and threads.
#include "espalier/join/group_encoder.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

namespace espalier::test {
namespace {

/// Codes by definition: in the order of first appearance.
template <class Row>
std::vector<std::uint32_t> expected_codes(const std::vector<Row>& rows, std::map<Row, std::uint32_t>& known) {
  std::vector<std::uint32_t> codes;
  for (const Row& row : rows)
    codes.push_back(known.emplace(row, static_cast<std::uint32_t>(known.size())).first->second);
  return codes;
}

class GroupEncoder : public ::testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Threads, GroupEncoder, ::testing::Values(1u, 2u));

TEST_P(GroupEncoder, IntegersOfSmallAndLargeRanges) {
  for (const std::uint64_t range : {500u, 100'000u, 4'000'000'000u}) {
    std::mt19937_64 random(range);
    group_encoder encoder(device::cpu(GetParam()));
    std::map<std::uint32_t, std::uint32_t> known;
    for (int batch = 0; batch < 3; ++batch) {
      std::vector<std::uint32_t> values(50'000), codes(values.size());
      for (std::uint32_t& v : values)
        v = static_cast<std::uint32_t>(random() % range + 17 * static_cast<unsigned>(batch));
      encoder.encode({{values}}, codes);
      ASSERT_TRUE(codes == expected_codes(values, known)) << range;
      ASSERT_EQ(encoder.groups(), known.size());
      std::vector<std::uint32_t> again(values.size());
      encoder.lookup({{values}}, again);
      ASSERT_TRUE(codes == again) << range;
    }
    const std::vector<std::uint32_t> absent{4'294'967'295u};
    std::vector<std::uint32_t> code(1);
    encoder.lookup({{absent}}, code);
    EXPECT_EQ(code[0], no_group);
  }
}

TEST_P(GroupEncoder, StringsWithOtherColumnsAndNulls) {
  std::mt19937_64 random(5);
  group_encoder encoder(device::cpu(GetParam()));
  std::map<std::pair<std::string, int>, std::uint32_t> known;
  for (int batch = 0; batch < 2; ++batch) {
    const std::size_t n = 40'000;
    std::vector<std::int32_t> offsets{0};
    std::vector<std::int64_t> wide_offsets{0};
    std::string text;
    std::vector<std::int16_t> numbers;
    std::vector<std::uint8_t> validity(n / 8 + 1, 0xff);
    std::vector<std::uint32_t> codes(n), expected(n, no_group);
    for (std::size_t i = 0; i < n; ++i) {
      std::string word(random() % 12, static_cast<char>('a' + random() % 3));
      numbers.push_back(static_cast<std::int16_t>(random() % 5) - 2);
      text += word;
      offsets.push_back(static_cast<std::int32_t>(text.size()));
      wide_offsets.push_back(static_cast<std::int64_t>(text.size()));
      if (random() % 7 == 0) {
        validity[i / 8] = static_cast<std::uint8_t>(validity[i / 8] & ~(1u << (i % 8)));
      } else {
        expected[i] =
            known.emplace(std::pair(word, numbers.back()), static_cast<std::uint32_t>(known.size())).first->second;
      }
    }
    const bitmap_view bits{validity.data(), 0};
    if (batch == 0) {
      encoder.encode({by_column::strings(std::span<const std::int32_t>(offsets), text.data(), bits), {numbers}}, codes);
    } else {
      encoder.encode({by_column::strings(std::span<const std::int64_t>(wide_offsets), text.data(), bits), {numbers}},
                     codes);
    }
    ASSERT_TRUE(codes == expected) << batch;
  }
}

TEST_P(GroupEncoder, FloatsWideValuesAndPackedColumns) {
  group_encoder floats(device::cpu(GetParam()));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> values{0.0, -0.0, nan, -nan, 1.5};
  std::vector<std::uint32_t> codes(5);
  floats.encode({{values}}, codes);
  EXPECT_EQ(codes, (std::vector<std::uint32_t>{0, 0, 1, 1, 2}));

  group_encoder pairs(device::cpu(GetParam()));
  const std::vector<std::uint16_t> a{1, 2, 1, 2, 1};
  const std::vector<float> b{0.0f, 1.0f, -0.0f, 2.0f, 1.0f};
  pairs.encode({{a}, {b}}, codes);
  EXPECT_EQ(codes, (std::vector<std::uint32_t>{0, 1, 0, 2, 3}));

  group_encoder wide(device::cpu(GetParam()));
  const std::vector<int128> w{1, int128{1} << 100, 1};
  codes.resize(3);
  wide.encode({by_column::fixed(w)}, codes);
  EXPECT_EQ(codes, (std::vector<std::uint32_t>{0, 1, 0}));
}

TEST(GroupEncoderErrors, SayWhatToDo) {
  group_encoder encoder;
  const std::vector<int> values{1, 2};
  const std::vector<std::int64_t> wide{1, 2};
  std::vector<std::uint32_t> codes(2), few(1);
  EXPECT_THROW(encoder.encode(std::span<const by_column>{}, codes), error);
  EXPECT_THROW(encoder.encode({{values}}, few), error);
  encoder.lookup({{values}}, codes);
  EXPECT_EQ(codes, (std::vector<std::uint32_t>{no_group, no_group}));
  encoder.encode({{values}}, codes);
  EXPECT_THROW(encoder.encode({{wide}}, codes), error);
  EXPECT_THROW(encoder.lookup({{values}, {values}}, codes), error);
  struct odd {
    char bytes[3];
  };
  const std::vector<odd> three(2);
  EXPECT_THROW(static_cast<void>(by_column::fixed(three)), error);
}

}  // namespace
}  // namespace espalier::test
