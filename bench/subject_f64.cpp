// subject_f64.cpp - indexes with f64 keys and every value type.
#include "bench/typed_subject.hpp"

namespace espalier::bench {

template std::unique_ptr<subject> make_typed_subject<double>(scalar_kind value);

}  // namespace espalier::bench
