// radix_writes.hpp - batches that change the radix tree, and the expected content afterwards.
//
//   update  random keys, as those of find; if a key occurs twice, its last value remains
//   insert  keys that follow the tree's in the data set
//   erase   distinct random keys of the tree
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/data/radix_data.hpp"
#include "espalier/radix_tree/index.hpp"

namespace espalier::bench {

struct radix_batch {
  write_op what{};
  radix_questions elements;
  column values;  ///< empty for erases
  column before;  ///< for updates: the old values of these keys, to restore them
  answers done;   ///< one column: the expected results
  std::uint64_t size_after = 0;
  std::vector<std::string> notes;
};

/// Returns fewer than `n` keys if the tree does not have that many to erase, or the data set to insert.
[[nodiscard]] radix_batch make_radix_batch(operation op, const radix_data& data, std::uint64_t n, double hit_rate);

/// Returns the expected results (values, found) of finding every key of the data, or every key of an insert batch,
/// after it.
[[nodiscard]] answers contents_after(const radix_batch& batch, const radix_data& data);
[[nodiscard]] answers batch_after(const radix_batch& batch);

}  // namespace espalier::bench
