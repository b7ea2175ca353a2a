// radix_tree.ipp - the radix tree for every value slot, for one context.
#include "radix_tree/factory.hpp"
#include "radix_tree/index_impl.hpp"

#ifndef ESPALIER_RADIX_TREE_IPP
#define ESPALIER_RADIX_TREE_IPP
namespace espalier::detail {

template <class Context, unsigned V>
std::unique_ptr<radix_index> make_radix(const radix_request& r) {
  return std::make_unique<radix_index_impl<Context, V>>(r.dev, r.elements, r.keys, r.values, r.options, r.order);
}
template <class Context>
std::unique_ptr<radix_index> make_radix_on(const radix_request& r) {
  switch (value_slot(r.elements.value_bytes)) {
    case 0:
      return make_radix<Context, 0>(r);
    case 4:
      return make_radix<Context, 4>(r);
    case 8:
      return make_radix<Context, 8>(r);
    default:
      return make_radix<Context, 16>(r);
  }
}

}  // namespace espalier::detail
#endif

namespace espalier::detail {

template std::unique_ptr<radix_index> make_radix_on<ESPALIER_CONTEXT>(const radix_request&);

}  // namespace espalier::detail

#undef ESPALIER_CONTEXT
