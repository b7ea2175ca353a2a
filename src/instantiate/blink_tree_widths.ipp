// blink_tree_widths.ipp - nodes of other widths, from 8 slots to pages of 4096, for one context and word. Sanitizer
// builds have one narrow and one wide width (ESPALIER_FEW_WIDTHS), because each takes ten seconds to compile.
#include "blink_tree/factory.hpp"
#include "blink_tree/index_impl.hpp"

// One file may instantiate several words (cmake/cuda.cmake).
#ifndef ESPALIER_BLINK_TREE_WIDTHS_IPP
#define ESPALIER_BLINK_TREE_WIDTHS_IPP
namespace espalier::detail {

template <class Context, class Word, unsigned N>
std::unique_ptr<blink_index> make_width(const blink_request& r) {
  return std::make_unique<blink_index_impl<Context, Word, sizeof(Word), N, protocol::blink, inner_index::express_lane>>(
      r.dev, r.elements, r.options, r.keys, r.values, r.n, r.order);
}

template <class Context, class Word>
std::unique_ptr<blink_index> make_blink_width_on(const blink_request& r) {
  if (r.shape.protocol != protocol::blink || r.shape.inner != inner_index::express_lane) return nullptr;
  switch (r.shape.slots) {
    case 8:
      return make_width<Context, Word, 8>(r);
    case 128:
      return make_width<Context, Word, 128>(r);
#ifndef ESPALIER_FEW_WIDTHS
    case 32:
      return make_width<Context, Word, 32>(r);
    case 4096:
      return make_width<Context, Word, 4096>(r);
#endif
    default:
      return nullptr;
  }
}

}  // namespace espalier::detail
#endif

namespace espalier::detail {

template std::unique_ptr<blink_index> make_blink_width_on<ESPALIER_CONTEXT, ESPALIER_WORD>(const blink_request&);

}  // namespace espalier::detail

#undef ESPALIER_CONTEXT
#undef ESPALIER_WORD
