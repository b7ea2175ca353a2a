// prepared_side_test.cpp - appends at the end and elsewhere, new groups, compact(), and calls that fail.
#include "espalier/join/prepared_side.hpp"

#include <gtest/gtest.h>

#include "join/join_cases.hpp"

namespace espalier::test {
namespace {

template <class Key>
void append_to(side_data<Key>& all, const side_data<Key>& more) {
  const std::size_t old = all.keys.size();
  all.keys.insert(all.keys.end(), more.keys.begin(), more.keys.end());
  all.codes.insert(all.codes.end(), more.codes.begin(), more.codes.end());
  all.groups = std::max(all.groups, more.groups);
  std::vector<std::uint8_t> bits(all.keys.size() / 8 + 1, 0);
  for (std::size_t i = 0; i < all.keys.size(); ++i) {
    const bool valid = i < old ? all.bits()[i] : more.bits()[i - old];
    if (valid) bits[i / 8] = static_cast<std::uint8_t>(bits[i / 8] | (1u << (i % 8)));
  }
  all.validity = bits;
  all.offset = 0;
}

TEST(PreparedSide, AppendsGiveTheRowsOfTheWholeSide) {
  std::mt19937_64 random(23);
  for (int round = 0; round < 60; ++round) {
    const std::uint32_t first_groups = round % 3 == 0 ? 0u : 3u;
    auto all = random_side<std::int64_t>(
        random, {.rows = random() % 40, .groups = first_groups, .has_nulls = round % 2 == 0, .order = shape::shuffled});
    prepared_side side = prepared_side::build(
        {.on = column_view(all.keys, all.bits()), .by = all.codes, .groups = first_groups}, device::cpu(1 + round % 2));
    std::int64_t last = 60;
    for (int step = 0; step < 6; ++step) {
      const std::uint32_t groups =
          first_groups == 0 ? 0u : std::max(all.groups, 3u + static_cast<std::uint32_t>(step / 2));
      auto more = random_side<std::int64_t>(random, {.rows = random() % 25,
                                                     .groups = groups,
                                                     .has_nulls = round % 4 == 0,
                                                     .order = round % 5 == 0 ? shape::shuffled : shape::sorted});
      if (round % 5 != 1) {  // at the end; in the other rounds anywhere, and the group is merged
        for (std::int64_t& key : more.keys) key = last + std::abs(key % 50);
        std::sort(more.keys.begin(), more.keys.end());
        if (!more.keys.empty()) last = more.keys.back();
      }
      side.append({.on = column_view(more.keys, more.bits()), .by = more.codes, .groups = groups});
      append_to(all, more);
      if (round % 3 == 1 && step == 3) side.compact();
      const auto left = random_side<std::int64_t>(
          random,
          {.rows = 50, .groups = groups, .order = step % 2 == 0 ? shape::sorted : shape::shuffled, .spread = 200});
      for (const asof_direction direction :
           {asof_direction::backward, asof_direction::forward, asof_direction::nearest}) {
        const asof_options options{.direction = direction, .allow_exact_matches = step % 3 != 0};
        std::vector<row_number> rows(left.keys.size());
        if (side.size() != 0 && side.groups() != groups) continue;  // nothing was appended
        side.asof_join(left.side(), rows, options);
        ASSERT_EQ(rows, oracle_asof(left, all, options, {})) << "round " << round << " step " << step;
      }
    }
    EXPECT_EQ(side.size(), all.keys.size());
  }
}

TEST(PreparedSide, SidesInOrderOfTheSameSizeAreJoinedByOnePass) {
  std::mt19937_64 random(37);
  for (int round = 0; round < 40; ++round) {
    constexpr std::uint32_t groups = 7;
    auto all = random_side<std::int64_t>(random, {.rows = 30 + random() % 300, .groups = groups, .used_groups = 5});
    for (std::int64_t& key : all.keys) key = std::clamp<std::int64_t>(key, -100, 100);
    prepared_side side = prepared_side::build(all.side(), device::cpu(1 + round % 2));
    const auto join = [&](std::size_t rows, bool has_nulls) {
      const auto left = random_side<std::int64_t>(
          random, {.rows = rows, .groups = groups, .has_nulls = has_nulls, .order = shape::sorted});
      for (const asof_direction direction :
           {asof_direction::backward, asof_direction::forward, asof_direction::nearest}) {
        const asof_options options{
            .direction = direction, .allow_exact_matches = round % 3 != 0, .tolerance = key_distance(round % 5 + 1)};
        std::vector<row_number> found(left.keys.size());
        side.asof_join(left.side(), found, options);
        ASSERT_EQ(found, oracle_asof(left, all, options, round % 5 + 1)) << "round " << round;
      }
    };
    const std::size_t before = side.bytes();
    join(all.keys.size() / 4 - 1, false);
    EXPECT_EQ(side.bytes(), before);  // few left rows are searched in their groups
    join(all.keys.size(), round % 2 == 0);
    if (round % 2 == 1) {
      EXPECT_EQ(side.bytes(), before + all.keys.size() * 12);  // keys and codes by row
    }
    for (int step = 0; step < 4; ++step) {
      auto more = random_side<std::int64_t>(
          random, {.rows = 1 + random() % 40, .groups = groups, .has_nulls = round % 4 == 3 && step == 2});
      const bool is_at_end = round % 4 != 1 || step != 1;
      for (std::int64_t& key : more.keys) key = is_at_end ? all.keys.back() : std::clamp<std::int64_t>(key, -100, 100);
      if (is_at_end && step != 3) more.keys.back() += 3;
      side.append(more.side());
      append_to(all, more);
      if (step == round % 4) side.compact();
      join(all.keys.size(), round % 2 == 0);
    }
  }
}

TEST(PreparedSide, SmallBatchesOfManyGroups) {
  std::mt19937_64 random(29);
  const auto right = random_side<double>(random, {.rows = 20'000, .groups = 5'000, .order = shape::shuffled});
  const prepared_side side = prepared_side::build(right.side(), device::cpu(2));
  for (const std::size_t rows : {std::size_t{1}, std::size_t{17}, std::size_t{200}}) {
    const auto left = random_side<double>(random, {.rows = rows, .groups = 5'000, .order = shape::shuffled});
    std::vector<row_number> found(rows);
    side.asof_join(left.side(), found);
    EXPECT_EQ(found, oracle_asof(left, right, {}, {}));
  }
}

TEST(PreparedSide, AppendsInOrderTakeMemoryInProportion) {
  std::vector<std::int64_t> keys(64'000);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<std::int64_t>(i);
  prepared_side side = prepared_side::build({.on = std::span(keys).first(1'000)});
  for (std::size_t at = 1'000; at < keys.size(); at += 1'000) side.append({.on = std::span(keys).subspan(at, 1'000)});
  EXPECT_LE(side.bytes(), keys.size() * 12 * 2);
  std::vector<row_number> rows(keys.size());
  side.asof_join({.on = keys}, rows);
  for (std::size_t i = 0; i < keys.size(); ++i) ASSERT_EQ(rows[i], i);
  side.compact();
  EXPECT_LE(side.bytes(), keys.size() * 12 + keys.size() / 8 + 4'096);
  std::fill(rows.begin(), rows.end(), 0u);
  side.asof_join({.on = keys}, rows);
  for (std::size_t i = 0; i < keys.size(); ++i) ASSERT_EQ(rows[i], i);
}

TEST(PreparedSide, AFailedAppendChangesNothing) {
  const std::vector<std::int64_t> keys{1, 5, 9};
  const std::vector<std::int32_t> other{1};
  const std::vector<std::uint32_t> codes{0, 1, 5};
  prepared_side side = prepared_side::build({.on = keys});
  EXPECT_THROW(side.append({.on = other}), error);
  EXPECT_THROW(side.append({.on = keys, .by = codes, .groups = 6}), error);
  prepared_side grouped = prepared_side::build({.on = keys, .by = codes, .groups = 6});
  EXPECT_THROW(grouped.append({.on = keys}), error);
  EXPECT_THROW(grouped.append({.on = keys, .by = codes, .groups = 3}), error);
  const std::vector<std::uint32_t> wrong{0, 7, 1};
  EXPECT_THROW(grouped.append({.on = keys, .by = wrong, .groups = 7}), error);
  EXPECT_EQ(grouped.size(), 3u);
  EXPECT_EQ(grouped.groups(), 6u);
  std::vector<row_number> rows(3);
  grouped.asof_join({.on = keys, .by = codes, .groups = 6}, rows);
  EXPECT_EQ(rows, (std::vector<row_number>{0, 1, 2}));
}

TEST(PreparedSide, AnEmptySideMatchesNothingAndTakesAppends) {
  const std::vector<float> none, keys{1.0f, 2.0f};
  const std::vector<std::uint32_t> codes{1, 0};
  prepared_side side = prepared_side::build({.on = none});
  std::vector<row_number> rows(2, 0);
  side.asof_join({.on = keys}, rows);
  EXPECT_EQ(rows, (std::vector<row_number>{no_row, no_row}));
  side.append({.on = keys, .by = codes, .groups = 2});
  side.asof_join({.on = keys, .by = codes, .groups = 2}, rows);
  EXPECT_EQ(rows, (std::vector<row_number>{0, 1}));
}

}  // namespace
}  // namespace espalier::test
