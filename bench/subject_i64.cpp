// subject_i64.cpp - indexes with i64 keys and every value type.
#include "bench/typed_subject.hpp"

namespace espalier::bench {

template std::unique_ptr<subject> make_typed_subject<std::int64_t>(scalar_kind value);

}  // namespace espalier::bench
