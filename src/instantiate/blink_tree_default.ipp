// blink_tree_default.ipp - the default policy for every value slot, for one context and word.
#include "blink_tree/factory.hpp"
#include "blink_tree/index_impl.hpp"
#include "espalier/blink_tree/node.hpp"

// One file may instantiate several words (cmake/cuda.cmake).
#ifndef ESPALIER_BLINK_TREE_DEFAULT_IPP
#define ESPALIER_BLINK_TREE_DEFAULT_IPP
namespace espalier::detail {

template <class Context, class Word, unsigned V>
std::unique_ptr<blink_index> make_default(const blink_request& r) {
  return std::make_unique<
      blink_index_impl<Context, Word, V, node_slots<Word>(0), protocol::blink, inner_index::express_lane>>(
      r.dev, r.elements, r.options, r.keys, r.values, r.n, r.order);
}

template <class Context, class Word>
std::unique_ptr<blink_index> make_blink_on(const blink_request& r) {
  const unsigned slots = r.shape.slots == node_slots<Word>(0) ? 0 : r.shape.slots;
  if (r.shape.protocol != protocol::blink || r.shape.inner != inner_index::express_lane || slots != 0) {
#ifdef ESPALIER_DEFAULT_SHAPE_ONLY
    return nullptr;
#else
    if (r.elements.value_bytes != sizeof(Word)) return nullptr;
    const bool by_width =
        slots != 0 && r.shape.protocol == protocol::blink && r.shape.inner == inner_index::express_lane;
    return by_width ? make_blink_width_on<Context, Word>(r) : make_blink_policy_on<Context, Word>(r);
#endif
  }
  switch (value_slot(r.elements.value_bytes)) {
    case 0:
      return make_default<Context, Word, 0>(r);
    case 4:
      return make_default<Context, Word, 4>(r);
    case 8:
      return make_default<Context, Word, 8>(r);
    default:
      return make_default<Context, Word, 16>(r);
  }
}

}  // namespace espalier::detail
#endif

namespace espalier::detail {

template std::unique_ptr<blink_index> make_blink_on<ESPALIER_CONTEXT, ESPALIER_WORD>(const blink_request&);

}  // namespace espalier::detail

#undef ESPALIER_CONTEXT
#undef ESPALIER_WORD
