// blink_visitor_u32.cpp - B-link trees with u32 keys, of every value size and shape.
#include "bench/typed_blink_visitor.hpp"

namespace espalier::bench {

template std::unique_ptr<blink_visitor> make_typed_blink_visitor<std::uint32_t>(scalar_kind value,
                                                                                const blink_shape& shape,
                                                                                const blink_pairs& pairs);

}  // namespace espalier::bench
