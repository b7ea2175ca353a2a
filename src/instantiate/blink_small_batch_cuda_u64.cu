// The kernel of small batches on a GPU, keys of up to 8 bytes.
#include <cstdint>

#define ESPALIER_WORD std::uint64_t
#include "instantiate/blink_small_batch.ipp"
