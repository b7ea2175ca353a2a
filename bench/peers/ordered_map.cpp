// ordered_map.cpp - selects the map for a pair of types.
#include "bench/peers/ordered_map.hpp"

namespace espalier::bench {

template <class Key>
std::unique_ptr<ordered_map> make_typed_ordered_map(std::string_view name, const data_spec& spec,
                                                    unsigned threads);  // ordered_map.cpp.in

std::unique_ptr<ordered_map> make_ordered_map(std::string_view name, const data_spec& spec, unsigned threads) {
  return with_built_type(spec.key, [&]<class Key>() { return make_typed_ordered_map<Key>(name, spec, threads); });
}

}  // namespace espalier::bench
