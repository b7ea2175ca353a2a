// questions.hpp - what a reader asks while leaf 1 or 2 of a planted tree changes, and whether the answer can be right.
//
// `stays` are keys that are there throughout. Others may come or go meanwhile and may or may not be seen.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "blink_steps/race.hpp"

namespace espalier::test {

/// Is a key that stays found, with its value?
struct find_question {
  bool found = false;
  std::uint32_t value = 0;
  template <class Ref>
  void ask(const Ref& ref, std::uint32_t key) {
    found = ref.find(stepped_team{}, key, value);
  }
  [[nodiscard]] std::string wrong(std::uint32_t key, const std::set<std::uint32_t>&) const {
    return !found ? "a key that stays was not found" : value != value_of(key) ? "found with another value" : "";
  }
};

/// The first element at or after a place right in front of it.
struct lower_bound_question {
  bool found = false;
  std::uint32_t at = 0, value = 0;
  template <class Ref>
  void ask(const Ref& ref, std::uint32_t key) {
    found = ref.lower_bound(stepped_team{}, key - 1, at, value);
  }
  [[nodiscard]] std::string wrong(std::uint32_t key, const std::set<std::uint32_t>&) const {
    if (!found || at > key) return "the next key was passed by";
    return at < key - 1 || value != value_of(at) ? "found what cannot be there" : "";
  }
};

/// The last element before a place right behind it.
struct predecessor_question {
  bool found = false;
  std::uint32_t at = 0, value = 0;
  template <class Ref>
  void ask(const Ref& ref, std::uint32_t key) {
    found = ref.predecessor(stepped_team{}, key + 1, at, value);
  }
  [[nodiscard]] std::string wrong(std::uint32_t key, const std::set<std::uint32_t>&) const {
    if (!found || at < key) return "the key before was passed by";
    return at > key || value != value_of(at) ? "found what cannot be there" : "";
  }
};

/// Everything from leaf 1 to leaf 2.
template <class Tree>
struct scan_question {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> seen;
  static constexpr std::uint32_t lo() { return Tree::gap * (Tree::slots + 1); }
  static constexpr std::uint32_t hi() { return Tree::gap * 3 * Tree::slots; }
  template <class Ref>
  void ask(const Ref& ref, std::uint32_t) {
    ref.range(stepped_team{}, lo(), hi(), [&](std::uint32_t key, std::uint32_t value) {
      seen.emplace_back(key, value);
      return true;
    });
  }
  [[nodiscard]] std::string wrong(std::uint32_t, const std::set<std::uint32_t>& stays) const {
    std::set<std::uint32_t> missing(stays.lower_bound(lo()), stays.upper_bound(hi()));
    for (std::size_t i = 0; i < seen.size(); ++i) {
      if (i != 0 && seen[i].first <= seen[i - 1].first) return "a scan went back";
      if (seen[i].second != value_of(seen[i].first)) return "a scan met a key with another's value";
      missing.erase(seen[i].first);
    }
    return missing.empty() ? "" : "a scan missed key " + std::to_string(*missing.begin());
  }
};

/// The keys of a model, without some that go.
[[nodiscard]] inline std::set<std::uint32_t> keys_without(const std::map<std::uint32_t, std::uint32_t>& model,
                                                          const std::set<std::uint32_t>& gone = {}) {
  std::set<std::uint32_t> stays;
  for (const auto& [k, value] : model) {
    if (!gone.contains(k)) stays.insert(k);
  }
  return stays;
}

}  // namespace espalier::test
