// where_keys_crowd_test.cpp - the search of a B-link tree's express lane among keys that crowd: it ends at the right
// line or at the one before, however many separators of a group are equal, or in an earlier group.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "espalier/static_tree/search.hpp"
#include "espalier/team/scalar_team.hpp"
#include "static_tree/build.hpp"
#include "static_tree/cpu_executor.hpp"
#include "support/families.hpp"

namespace espalier::test {
namespace {

template <class Word>
using lane_search = searcher<scalar_team, Word, external_keys>;

/// What a lane is made of: high keys of leaves, the last of which has no end.
template <class Word>
std::vector<Word> highs_of(std::vector<Word> keys) {
  keys.push_back(std::numeric_limits<Word>::max());
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

template <class Word>
void check_lines(const std::string& what, const std::vector<Word>& highs) {
  SCOPED_TRACE(what + ", " + std::to_string(highs.size()) + " lines");
  const device cpu = device::cpu();
  detail::cpu_executor context(cpu, cpu.default_stream());
  const detail::element_type elements{sizeof(Word) == 4 ? scalar_kind::u32 : scalar_kind::u64, scalar_kind::opaque, 0};
  const auto lane = detail::builder<detail::cpu_executor, Word, external_keys>(context, elements, build_options{})
                        .over(highs.data(), highs.size());
  std::vector<Word> queries = highs;
  for (const Word high : highs) {
    if (high != 0) queries.push_back(static_cast<Word>(high - 1));
    if (high != std::numeric_limits<Word>::max()) queries.push_back(static_cast<Word>(high + 1));
  }
  random_words random(highs.size());
  for (int i = 0; i < 1000; ++i) queries.push_back(static_cast<Word>(random()));
  for (const Word query : queries) {
    const Word x = std::max(query, lane.view.first);
    const auto right = static_cast<std::uint64_t>(std::lower_bound(highs.begin(), highs.end(), x) - highs.begin());
    const std::uint32_t group = lane_search<Word>::group_of(lane.view, *lane_search<Word>::cell_of(lane.view, x), x);
    const std::uint64_t line = lane_search<Word>::near_line_of(scalar_team{}, lane.view, group, x);
    ASSERT_LE(line, right) << "key " << x;
    const bool in_an_earlier_group = line / lane_search<Word>::lines < right / lane_search<Word>::lines;
    ASSERT_TRUE(line + 1 >= right || in_an_earlier_group) << "key " << x << ": line " << line << ", not " << right;
  }
}

template <class Word>
void check_crowds() {
  constexpr unsigned bits = 8 * sizeof(Word);
  constexpr Word middle = Word{1} << (bits - 1);
  check_lines<Word>("one line", highs_of<Word>({}));
  check_lines<Word>("two lines", highs_of<Word>({5}));
  for (const unsigned length : {2u, 20u, 100u, 1000u}) {
    std::vector<Word> keys;
    for (Word i = 0; i < length; ++i) keys.push_back(static_cast<Word>(middle + 2 * i));
    check_lines("a crowd alone", highs_of(keys));
    for (Word i = 1; i < 200; ++i) keys.push_back(static_cast<Word>(i << (bits - 8)));
    check_lines("a crowd among even keys", highs_of(keys));
  }
  std::vector<Word> keys;
  random_words random(7);
  for (int crowd = 0; crowd < 64; ++crowd) {
    const auto first = static_cast<Word>(random());
    for (Word i = 0; i < 90; ++i) keys.push_back(static_cast<Word>(first + 3 * i));
    for (int i = 0; i < 300; ++i) keys.push_back(static_cast<Word>(random()));
  }
  check_lines("64 crowds among random keys", highs_of(keys));
  keys.clear();
  for (unsigned bit = 0; bit < bits; ++bit) {
    for (Word i = 0; i < 30; ++i) keys.push_back(static_cast<Word>((Word{1} << bit) + i));
  }
  check_lines("crowds at every scale", highs_of(keys));
}

TEST(CrowdedLines, AreFoundByKeysOfFourBytes) { check_crowds<std::uint32_t>(); }
TEST(CrowdedLines, AreFoundByKeysOfEightBytes) { check_crowds<std::uint64_t>(); }

}  // namespace
}  // namespace espalier::test
