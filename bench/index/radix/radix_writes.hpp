// radix_writes.hpp - batches that change the radix tree, and what must be there afterwards.
//
//   update  random keys, as those of find: some may come twice, and then the last one's value stays
//   insert  keys that follow the tree's in the data set
//   erase   random keys of the tree, each at most once
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/data/radix_data.hpp"
#include "espalier/radix_tree/index.hpp"

namespace espalier::bench {

struct radix_batch {
  espalier::detail::radix_write what{};
  radix_questions elements;
  column values;  ///< none where keys are erased
  column before;  ///< of updates: the values that these keys have, for putting things back
  answers done;   ///< one column: as the tree must answer
  std::uint64_t size_after = 0;
  std::vector<std::string> notes;
};

/// Fewer than `n` where the tree has not so many keys to erase, or the data set to insert.
[[nodiscard]] radix_batch make_radix_batch(operation op, const radix_data& data, std::uint64_t n, double hit_rate);

/// What finding every key of the data, or every key of a batch that inserts, must answer after it: values, found.
[[nodiscard]] answers contents_after(const radix_batch& batch, const radix_data& data);
[[nodiscard]] answers batch_after(const radix_batch& batch);

}  // namespace espalier::bench
