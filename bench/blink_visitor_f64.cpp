// blink_visitor_f64.cpp - B-link trees with f64 keys, of every value size.
#include "bench/typed_blink_visitor.hpp"

namespace espalier::bench {

template std::unique_ptr<blink_visitor> make_typed_blink_visitor<double>(scalar_kind value, const blink_shape& shape,
                                                                         const blink_pairs& pairs);

}  // namespace espalier::bench
