// ordered_map_i64.cpp - std::map and absl::btree_map with i64 keys.
#include "bench/typed_ordered_map.hpp"

namespace espalier::bench {

template std::unique_ptr<ordered_map> make_typed_ordered_map<std::int64_t>(std::string_view name, const data_spec& spec,
                                                                           unsigned threads);

}  // namespace espalier::bench
