// radix_peers.hpp - std::map and absl::btree_map of std::string beside the radix tree: finds only, in as many threads
// as the tree has, by std::string_view so that no question costs a string.
#pragma once

#include "bench/options.hpp"
#include "bench/radix_data.hpp"
#include "bench/row.hpp"
#include "espalier/device/device.hpp"

namespace espalier::bench {

/// `expected`: the right answers, checked before the timing.
void add_radix_peers(operation op, const options& what, const radix_data& data, const radix_questions& questions,
                     const answers& expected, const device& where, row& r);

}  // namespace espalier::bench
