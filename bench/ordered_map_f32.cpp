// ordered_map_f32.cpp - std::map and absl::btree_map with f32 keys.
#include "bench/typed_ordered_map.hpp"

namespace espalier::bench {

template std::unique_ptr<ordered_map> make_typed_ordered_map<float>(std::string_view name, const data_spec& spec,
                                                                    unsigned threads);

}  // namespace espalier::bench
