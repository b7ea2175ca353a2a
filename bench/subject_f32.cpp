// subject_f32.cpp - indexes with f32 keys and every value type.
#include "bench/typed_subject.hpp"

namespace espalier::bench {

template std::unique_ptr<subject> make_typed_subject<float>(scalar_kind value);

}  // namespace espalier::bench
