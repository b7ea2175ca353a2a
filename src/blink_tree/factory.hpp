// factory.hpp - the compiled trees, one translation unit per context and word (src/instantiate/blink_tree_*).
#pragma once

#include <memory>

#include "espalier/blink_tree/index.hpp"

namespace espalier::detail {

class blink_cpu_executor;
class blink_cuda_executor;

struct blink_request {
  const device& dev;
  element_type elements;
  blink_shape shape;
  const void* keys;
  const void* values;
  std::size_t n;
  const blink_options& options;
  const stream& order;
};

/// Returns null if no such tree is compiled.
template <class Context, class Word>
[[nodiscard]] std::unique_ptr<blink_index> make_blink_on(const blink_request& r);
/// The policies other than the default, which are compiled separately.
template <class Context, class Word>
[[nodiscard]] std::unique_ptr<blink_index> make_blink_policy_on(const blink_request& r);
template <class Context, class Word>
[[nodiscard]] std::unique_ptr<blink_index> make_blink_width_on(const blink_request& r);

}  // namespace espalier::detail
