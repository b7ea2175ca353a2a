// subject.cpp - picks the index for a pair of types.
#include "bench/subject.hpp"

namespace espalier::bench {

template <class Key>
std::unique_ptr<subject> make_typed_subject(scalar_kind value);  // one file per key type: subject_u32.cpp, ...

std::unique_ptr<subject> make_subject(scalar_kind key, scalar_kind value) {
  return with_type(key, [&]<class Key>() { return make_typed_subject<Key>(value); });
}

}  // namespace espalier::bench
