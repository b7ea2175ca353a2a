// subject_i32.cpp - indexes with i32 keys and every value type.
#include "bench/typed_subject.hpp"

namespace espalier::bench {

template std::unique_ptr<subject> make_typed_subject<std::int32_t>(scalar_kind value);

}  // namespace espalier::bench
