// word_matches_test.cpp - rows of two sides with equal words, beside a map of lists: words close together and far
// apart, once and often on either side, rows without a key, and words that only one side has.
#include "engine/keys/hash_join_probe.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <unordered_map>

namespace espalier::engine {
namespace {

struct side {
  sort_key_column codes;
  packed_keys keys(const key_packer& packer) const { return packer.pack({&codes}, codes.words.size()); }
};

side random_side(std::size_t rows, std::uint64_t different, std::uint64_t step, bool nulls, unsigned seed) {
  std::mt19937_64 random(seed);
  side out;
  for (std::size_t i = 0; i < rows; ++i) {
    out.codes.words.push_back(1000 + (random() % different) * step);
    if (!nulls) continue;
    out.codes.nulls.push_back(random() % 10 == 0 ? 1 : 0);
    if (out.codes.nulls.back() != 0) out.codes.words.back() = 0;
  }
  return out;
}

void expect_matches(const side& build, const side& probe) {
  const auto packer = key_packer::plan({&build.codes}, build.codes.words.size(), false);
  ASSERT_TRUE(packer);
  const auto build_keys = build.keys(*packer), probe_keys = probe.keys(*packer);
  const auto got = matched_rows(build_keys, probe_keys);
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> expected;
  for (std::size_t row = 0; row < build.codes.words.size(); ++row) {
    if (!build.codes.is_null(row)) expected[build.codes.words[row]].push_back(static_cast<std::uint32_t>(row));
  }
  ASSERT_EQ(got.of_row.size(), probe.codes.words.size());
  for (std::size_t row = 0; row < probe.codes.words.size(); ++row) {
    const auto [at, count] = got.of_row[row];
    const auto found = expected.find(probe.codes.words[row]);
    const bool none = probe.codes.is_null(row) || found == expected.end();
    ASSERT_EQ(count, none ? 0 : found->second.size()) << row;
    if (none) continue;
    if (count == 1) {
      ASSERT_EQ(at, found->second[0]) << row;
    } else {
      ASSERT_TRUE(std::equal(found->second.begin(), found->second.end(), got.rows.begin() + at)) << row;
    }
  }
}

// Few rows, rows of several parts, and those whose words are asked for again and again.
TEST(WordMatches, areThoseOfAMap) {
  for (const std::uint64_t step : {std::uint64_t{1}, std::uint64_t{1'000'003}}) {
    for (const bool nulls : {false, true}) {
      for (const std::uint64_t different : {10, 30'000, 10'000'000}) {
        expect_matches(random_side(100, different, step, nulls, 1), random_side(1000, different, step, nulls, 2));
        expect_matches(random_side(100'000, different, step, nulls, 3), random_side(90'000, different, step, nulls, 4));
        expect_matches(random_side(50'000, different, step, nulls, 5), random_side(90'000, 7, step, nulls, 6));
      }
    }
  }
}

TEST(WordMatches, ofWordsThatAreThereOnce) {
  side build, probe;
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    build.codes.words.push_back((i * 7919 % 100'000) * 1'000'003);
    probe.codes.words.push_back((i * 104'729 % 110'000) * 1'000'003);
  }
  expect_matches(build, probe);
  build.codes.words[99'999] = build.codes.words[0];
  expect_matches(build, probe);
}

TEST(WordMatches, ofNoRows) {
  const side empty;
  const auto some = random_side(100, 10, 1, false, 7);
  expect_matches(empty, some);
  expect_matches(some, empty);
  expect_matches(empty, empty);
}

}  // namespace
}  // namespace espalier::engine
