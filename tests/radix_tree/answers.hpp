// answers.hpp - every question of a radix tree beside the answer of a std::map.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "radix_tree/model.hpp"

namespace espalier::test {

/// Empty if all answers about these keys, as points, prefixes and ends of ranges, are right; else which is not.
[[nodiscard]] inline std::string wrong_answer(const radix_subject<std::uint64_t>& tree, const radix_model& m,
                                              const strings& asked, interval ends = interval::closed) {
  using slice = std::pair<std::map<std::string, std::uint64_t>::const_iterator,
                          std::map<std::string, std::uint64_t>::const_iterator>;
  const auto& all = m.all;
  const strings hi(asked.rbegin(), asked.rend());
  const std::size_t n = asked.size();
  std::vector<slice> ranges, prefixes;
  for (std::size_t i = 0; i < n; ++i) {
    const bool open_below = ends == interval::left_open || ends == interval::open;
    const bool open_above = ends == interval::right_open || ends == interval::open;
    const auto from = open_below ? all.upper_bound(asked[i]) : all.lower_bound(asked[i]);
    const auto to = open_above ? all.lower_bound(hi[i]) : all.upper_bound(hi[i]);
    const bool empty = asked[i] > hi[i] || (asked[i] == hi[i] && ends != interval::closed);
    ranges.emplace_back(from, empty ? from : to);
    auto end = all.lower_bound(asked[i]);
    while (end != all.end() && end->first.starts_with(asked[i])) ++end;
    prefixes.emplace_back(all.lower_bound(asked[i]), end);
  }

  std::vector<std::uint64_t> values, lower, upper, matched_values, counts, prefix_counts;
  std::vector<std::uint32_t> lengths;
  std::vector<std::uint8_t> found, there, matched;
  tree.find(asked, values, found);
  tree.contains(asked, there);
  tree.rank(asked, lower);
  tree.rank(asked, upper, bound_type::upper);
  tree.longest_prefix(asked, lengths, matched_values, matched);
  tree.count(asked, hi, counts, {ends});
  tree.count_prefix(asked, prefix_counts);
  const auto rank = [&](const auto& at) { return static_cast<std::uint64_t>(std::distance(all.begin(), at)); };
  for (std::size_t i = 0; i < n; ++i) {
    const std::string key = " of key " + std::to_string(i);
    const auto at = all.find(asked[i]);
    const bool is_there = at != all.end();
    if (found[i] != is_there || values[i] != (is_there ? at->second : 0)) return "find" + key;
    if (there[i] != is_there) return "contains" + key;
    if (lower[i] != rank(all.lower_bound(asked[i]))) return "rank" + key;
    if (upper[i] != rank(all.upper_bound(asked[i]))) return "upper rank" + key;
    auto longest = all.end();
    for (std::size_t length = 0; length <= asked[i].size(); ++length) {
      if (const auto p = all.find(asked[i].substr(0, length)); p != all.end()) longest = p;
    }
    const bool matches = longest != all.end();
    if (matched[i] != matches || lengths[i] != (matches ? longest->first.size() : 0) ||
        matched_values[i] != (matches ? longest->second : 0))
      return "longest_prefix" + key;
    const auto size = [](const slice& s) { return static_cast<std::uint64_t>(std::distance(s.first, s.second)); };
    if (counts[i] != size(ranges[i])) return "count" + key;
    if (prefix_counts[i] != size(prefixes[i])) return "count_prefix" + key;
  }

  const auto wrong_list = [](const listed<std::uint64_t>& got, const std::vector<slice>& slices) {
    std::size_t e = 0;
    if (got.offsets.size() != slices.size() + 1) return true;
    for (std::size_t i = 0; i < slices.size(); ++i) {
      if (got.offsets[i] != e) return true;
      for (auto it = slices[i].first; it != slices[i].second; ++it, ++e) {
        if (e >= got.keys.size() || got.keys[e] != it->first || got.values[e] != it->second) return true;
      }
    }
    return e != got.keys.size();
  };
  std::vector<slice> after, next, before;
  for (const std::string& key : asked) {
    const auto one = [&](auto at) { return slice(at, at == all.end() ? at : std::next(at)); };
    after.push_back(one(all.lower_bound(key)));
    next.push_back(one(all.upper_bound(key)));
    const auto at = all.lower_bound(key);
    before.emplace_back(at == all.begin() ? at : std::prev(at), at);
  }
  if (wrong_list(tree.range(asked, hi, {ends}), ranges)) return "range";
  if (wrong_list(tree.prefix(asked), prefixes)) return "prefix";
  if (wrong_list(tree.lower_bound(asked), after)) return "lower_bound";
  if (wrong_list(tree.upper_bound(asked), next)) return "upper_bound";
  if (wrong_list(tree.successor(asked), next)) return "successor";
  if (wrong_list(tree.predecessor(asked), before)) return "predecessor";

  for (const bool by_prefix : {false, true}) {
    std::vector<uint128> sums;
    std::vector<std::uint64_t> least, most;
    std::vector<std::uint8_t> has_least, has_most;
    std::vector<double> means;
    if (by_prefix) {
      tree.sum_prefix(asked, sums);
      tree.min_prefix(asked, least, has_least);
      tree.max_prefix(asked, most, has_most);
      tree.avg_prefix(asked, means);
    } else {
      tree.sum(asked, hi, sums, ends);
      tree.min(asked, hi, least, has_least, ends);
      tree.max(asked, hi, most, has_most, ends);
      tree.avg(asked, hi, means, ends);
    }
    for (std::size_t i = 0; i < n; ++i) {
      const std::string name = (by_prefix ? "_prefix of key " : " of range ") + std::to_string(i);
      uint128 sum = 0;
      std::uint64_t low = 0, high = 0, elements = 0;
      const slice& s = (by_prefix ? prefixes : ranges)[i];
      for (auto it = s.first; it != s.second; ++it, ++elements) {
        sum += it->second;
        low = elements == 0 ? it->second : std::min(low, it->second);
        high = std::max(high, it->second);
      }
      if (sums[i] != sum) return "sum" + name;
      if (least[i] != low || has_least[i] != (elements != 0)) return "min" + name;
      if (most[i] != high || has_most[i] != (elements != 0)) return "max" + name;
      const double mean = static_cast<double>(sum) / static_cast<double>(elements);
      if (elements == 0 ? !std::isnan(means[i]) : std::abs(means[i] - mean) > 1e-12 * mean) return "avg" + name;
    }
  }
  return {};
}

}  // namespace espalier::test
