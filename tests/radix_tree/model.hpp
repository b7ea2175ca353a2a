// model.hpp - what a radix tree must hold after a sequence of writes: a std::map that is written one by one.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "radix_tree/subject.hpp"

namespace espalier::test {

class radix_model {
 public:
  /// What `done` must say.
  std::vector<std::uint8_t> apply(radix_op op, const strings& keys, const std::vector<std::uint64_t>& values) {
    std::vector<std::uint8_t> done;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const bool there = all.count(keys[i]) != 0;
      if (op == radix_op::insert) all.emplace(keys[i], values[i]);
      if (op == radix_op::insert_or_assign || (op == radix_op::update && there)) all[keys[i]] = values[i];
      if (op == radix_op::erase) all.erase(keys[i]);
      done.push_back(op == radix_op::update || op == radix_op::erase ? there : !there);
    }
    return done;
  }
  std::map<std::string, std::uint64_t> all;
};

inline constexpr radix_path all_paths[] = {radix_path::automatic, radix_path::in_place, radix_path::rebuild};

/// Empty if the tree is sound and holds just that.
[[nodiscard]] inline std::string difference(const radix_subject<std::uint64_t>& tree, const radix_model& m) {
  const validation v = tree.tree().validate();
  if (!v.ok) return v.problem;
  if (tree.size() != m.all.size()) return std::to_string(tree.size()) + " keys, not " + std::to_string(m.all.size());
  const listed<std::uint64_t> got = tree.prefix({""});
  std::size_t i = 0;
  for (const auto& [key, value] : m.all) {
    if (got.keys[i] != key || got.values[i] != value) return "element " + std::to_string(i) + " differs";
    ++i;
  }
  return {};
}

}  // namespace espalier::test
