// blink_visitor.cpp - selects the visitor for a key type.
#include "bench/index/blink/blink_visitor.hpp"

#include "bench/harness/cli_names.hpp"

namespace espalier::bench {

template <class Key>
std::unique_ptr<blink_visitor> make_typed_blink_visitor(scalar_kind value, const blink_shape& shape,
                                                        const blink_pairs& pairs);  // blink_visitor.cpp.in

std::unique_ptr<blink_visitor> make_blink_visitor(const data_spec& spec, const blink_shape& shape,
                                                  const blink_pairs& pairs) {
  return with_built_type(spec.key,
                         [&]<class Key>() { return make_typed_blink_visitor<Key>(spec.value, shape, pairs); });
}

std::string visited_blink_trees(device_kind dev) {
  return dev == device_kind::cuda ? "keys u32, u64, f32 and f64 with values of their size, --slots for u32 and u64"
                                  : "every shape for keys u32 and u64, the default for all";
}

}  // namespace espalier::bench
