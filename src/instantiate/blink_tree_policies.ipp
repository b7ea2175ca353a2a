// blink_tree_policies.ipp - protocols and inner indexes other than the default, for one context and word. Narrow nodes
// with inner nodes that name every leaf are the most instructive in a dump: they exist on a CPU, for u64.
#include "blink_tree/factory.hpp"
#include "blink_tree/index_impl.hpp"
#include "espalier/blink_tree/node.hpp"

// One file may instantiate several words (cmake/cuda.cmake).
#ifndef ESPALIER_BLINK_TREE_POLICIES_IPP
#define ESPALIER_BLINK_TREE_POLICIES_IPP
namespace espalier::detail {

template <class Context, class Word, protocol P, inner_index U, unsigned N = node_slots<Word>(0)>
std::unique_ptr<blink_index> make_policy(const blink_request& r) {
  return std::make_unique<blink_index_impl<Context, Word, sizeof(Word), N, P, U>>(r.dev, r.elements, r.options, r.keys,
                                                                                  r.values, r.n, r.order);
}

template <class Context, class Word>
std::unique_ptr<blink_index> make_narrow(const blink_request& r) {
  if constexpr (!Context::on_gpu && sizeof(Word) == 8) {
    if (r.shape.slots != 8 || r.shape.inner != inner_index::inner_nodes) return nullptr;
    if (r.shape.protocol == protocol::blink)
      return make_policy<Context, Word, protocol::blink, inner_index::inner_nodes, 8>(r);
    if (r.shape.protocol == protocol::latch_coupling)
      return make_policy<Context, Word, protocol::latch_coupling, inner_index::inner_nodes, 8>(r);
  }
  return nullptr;
}

template <class Context, class Word>
std::unique_ptr<blink_index> make_blink_policy_on(const blink_request& r) {
  if (r.shape.slots != 0 && r.shape.slots != node_slots<Word>(0)) return make_narrow<Context, Word>(r);
  if (r.shape.protocol == protocol::blink && r.shape.inner == inner_index::inner_nodes)
    return make_policy<Context, Word, protocol::blink, inner_index::inner_nodes>(r);
  if (r.shape.protocol == protocol::single_writer && r.shape.inner == inner_index::express_lane)
    return make_policy<Context, Word, protocol::single_writer, inner_index::express_lane>(r);
  if (r.shape.protocol == protocol::single_writer && r.shape.inner == inner_index::inner_nodes)
    return make_policy<Context, Word, protocol::single_writer, inner_index::inner_nodes>(r);
  if (r.shape.protocol == protocol::latch_coupling && r.shape.inner == inner_index::inner_nodes)
    return make_policy<Context, Word, protocol::latch_coupling, inner_index::inner_nodes>(r);
  return nullptr;
}

}  // namespace espalier::detail
#endif

namespace espalier::detail {

template std::unique_ptr<blink_index> make_blink_policy_on<ESPALIER_CONTEXT, ESPALIER_WORD>(const blink_request&);

}  // namespace espalier::detail

#undef ESPALIER_CONTEXT
#undef ESPALIER_WORD
