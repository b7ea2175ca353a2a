// system_under_test.cpp - selects the index for a pair of types.
#include "bench/index/static/system_under_test.hpp"

namespace espalier::bench {

template <class Key>
std::unique_ptr<system_under_test> make_typed_system_under_test(scalar_kind value);  // system_under_test.cpp.in

std::unique_ptr<system_under_test> make_system_under_test(scalar_kind key, scalar_kind value) {
  return with_built_type(key, [&]<class Key>() { return make_typed_system_under_test<Key>(value); });
}

}  // namespace espalier::bench
