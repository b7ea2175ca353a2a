// blink_small_batch.ipp - the kernel of small batches for the default nodes and one word.
#include "blink_tree/small_batch_cuda.cuh"
#include "espalier/blink_tree/node.hpp"

namespace espalier::detail {

template <class Word, unsigned V>
using small_batch_view = blink_view<Word, V, node_slots<Word>(0)>;

template void launch_small_batch(const device&, cudaStream_t,
                                 const small_batch_job<small_batch_view<ESPALIER_WORD, 0>>&);
template void launch_small_batch(const device&, cudaStream_t,
                                 const small_batch_job<small_batch_view<ESPALIER_WORD, 4>>&);
template void launch_small_batch(const device&, cudaStream_t,
                                 const small_batch_job<small_batch_view<ESPALIER_WORD, 8>>&);
template void launch_small_batch(const device&, cudaStream_t,
                                 const small_batch_job<small_batch_view<ESPALIER_WORD, 16>>&);

}  // namespace espalier::detail

#undef ESPALIER_WORD
