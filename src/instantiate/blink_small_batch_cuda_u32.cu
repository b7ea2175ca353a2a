// The kernel of small batches on a GPU, keys of up to 4 bytes.
#include <cstdint>

#define ESPALIER_WORD std::uint32_t
#include "instantiate/blink_small_batch.ipp"
