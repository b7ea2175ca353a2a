// tally.hpp - counts elements: the change by a batch of writes, and the total, which needs no order of the leaves.
#pragma once

#include <algorithm>
#include <cstdint>

#include "espalier/blink_tree/node.hpp"
#include "espalier/blink_tree/options.hpp"
#include "espalier/device/buffer.hpp"
#include "espalier/sync/concurrent_access.hpp"

namespace espalier::detail {

/// *total += what(0) + ... + what(n - 1), modulo 2^64. Some thousand threads sum up one part each, so that they do not
/// all contend for one word: on a GPU with a stride, so that neighbouring threads read neighbouring elements; on a CPU
/// contiguously.
template <bool OnGpu, class What>
struct add_up_part {
  What what;
  std::size_t n, parts;
  std::uint64_t* total;
  ESPALIER_HD void operator()(std::size_t i) const {
    const std::size_t length = (n + parts - 1) / parts;
    std::uint64_t sum = 0;
    if constexpr (OnGpu) {
      for (std::size_t j = i; j < n; j += parts) sum += what(j);
    } else {
      const std::size_t last = (i + 1) * length < n ? (i + 1) * length : n;
      if constexpr (requires { what.sum(n, n); }) {
        sum = what.sum(i * length, last);
      } else {
        for (std::size_t j = i * length; j < last; ++j) sum += what(j);
      }
    }
#if defined(__CUDA_ARCH__)
    // Additions to one word are serialised: a whole warp adds its sum once.
    constexpr unsigned whole = 0xffffffffu;
    if (__activemask() == whole) {
      for (unsigned distance = 16; distance != 0; distance /= 2) sum += __shfl_down_sync(whole, sum, distance);
      if (i % 32 != 0) return;
    }
#endif
    if (sum != 0) (void)atomic_word_ref{total}.fetch_add(sum);
  }
  template <class Context>
  [[nodiscard]] static std::size_t parts_of(std::size_t n) {
    return Context::on_gpu ? std::min<std::size_t>(n, 16384) : (n + 65535) / 65536;
  }
};
template <class Context, class What>
void add_up(Context& context, std::size_t n, const What& what, std::uint64_t* total) {
  using part = add_up_part<Context::on_gpu, What>;
  const std::size_t parts = part::template parts_of<Context>(n);
  if (n != 0) context.for_each(parts, part{what, n, parts, total});
}

/// Change of the number of elements by element i of a batch, from its `done`: 1, 0, or minus 1.
struct change_of_count {
  const std::uint8_t* done;
  const std::uint8_t* ops;     ///< blink_op per element; if null, all are `op`
  const std::uint32_t* order;  ///< numbers of the elements; if null, all elements
  blink_op op;
  ESPALIER_HD std::uint64_t operator()(std::size_t i) const {
    const std::size_t e = order == nullptr ? i : order[i];
    if (done[e] != 1) return 0;
    const blink_op what = ops == nullptr ? op : static_cast<blink_op>(ops[e]);
    const bool brings = what == blink_op::insert || what == blink_op::insert_or_assign;
    return brings ? 1 : what == blink_op::erase ? ~std::uint64_t{0} : 0;
  }
  /// Sums up elements [first, last) in a CPU thread. Most batches have one operation: bytes are summed up as vectors.
  [[nodiscard]] ESPALIER_HD std::uint64_t sum(std::size_t first, std::size_t last) const {
    std::uint64_t total = 0;
    std::size_t i = first;
    if (ops == nullptr && order == nullptr && i < last) {
      constexpr unsigned piece = 128;  // a byte holds the sum of a piece
      std::uint64_t changed = 0;
      for (; i + piece <= last; i += piece) {
        std::uint8_t ones = 0;
        for (unsigned k = 0; k < piece; ++k) ones = static_cast<std::uint8_t>(ones + (done[i + k] == 1 ? 1 : 0));
        changed += ones;
      }
      const bool brings = op == blink_op::insert || op == blink_op::insert_or_assign;
      total = brings ? changed : op == blink_op::erase ? 0 - changed : 0;
    }
    for (; i < last; ++i) total += (*this)(i);
    return total;
  }
  [[nodiscard]] static bool may(const std::uint8_t* ops, blink_op op) {
    return ops != nullptr || (op != blink_op::find && op != blink_op::update);
  }
};

/// For node i of the leaves: 1 if it is live, or the number of its elements.
template <class View>
struct live_leaf {
  View tree;
  bool elements;
  ESPALIER_HD std::uint64_t operator()(std::size_t i) const {
    node_head<typename View::leaf_shape::word> h;
    h.set_info(*tree.leaf(static_cast<node_id>(i)).info());
    return h.dead ? 0 : elements ? h.count : 1;
  }
};

/// Sums of values of up to 4 bytes are computed in 64 bits.
inline void require_sums_fit(std::uint64_t elements) {
  if (elements >> 32 != 0)
    throw error("aggregate: sums of more than 2^32 values might not fit 64 bits; use 64-bit values or split the data.");
}

struct live_counts {
  std::uint64_t leaves, elements;
};
/// Precondition: no other operation of the owner is in progress; refs may be in use. Nodes below `nodes` have been in
/// use.
template <class Context, class View>
[[nodiscard]] live_counts count_live(Context& context, const View& tree, std::uint32_t nodes) {
  const buffer<live_counts> counts(context.get_device(), 1, context.order());
  context.zero(counts.data(), sizeof(live_counts));
  add_up(context, nodes, live_leaf<View>{tree, false}, &counts.data()->leaves);
  add_up(context, nodes, live_leaf<View>{tree, true}, &counts.data()->elements);
  return context.read(counts.data());
}

}  // namespace espalier::detail
