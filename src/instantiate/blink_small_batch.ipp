// blink_small_batch.ipp - the kernel of small batches for the default nodes and one word.
#include "blink_tree/small_batch_cuda.cuh"
#include "espalier/blink_tree/node.hpp"

namespace espalier::detail {

template <unsigned V>
using small_batch_view = blink_view<ESPALIER_WORD, V, node_slots<ESPALIER_WORD>(0)>;

template void launch_small_batch(const device&, cudaStream_t, const small_batch_job<small_batch_view<0>>&);
template void launch_small_batch(const device&, cudaStream_t, const small_batch_job<small_batch_view<4>>&);
template void launch_small_batch(const device&, cudaStream_t, const small_batch_job<small_batch_view<8>>&);
template void launch_small_batch(const device&, cudaStream_t, const small_batch_job<small_batch_view<16>>&);

}  // namespace espalier::detail
