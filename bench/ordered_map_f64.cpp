// ordered_map_f64.cpp - std::map and absl::btree_map with f64 keys.
#include "bench/typed_ordered_map.hpp"

namespace espalier::bench {

template std::unique_ptr<ordered_map> make_typed_ordered_map<double>(std::string_view name, const data_spec& spec,
                                                                     unsigned threads);

}  // namespace espalier::bench
