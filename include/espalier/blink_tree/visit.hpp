// visit.hpp - for_each, transform and reduce over all elements of a B-link tree.
//
// The keys are partitioned into ranges along the inner levels, and each range is scanned like any other range: a leaf
// that is split or merged concurrently neither hides an element nor shows one twice. A functor takes (key, value), or
// the key alone for a set. Trees on a CPU are visited by its threads; trees on a GPU by GPU threads, if the caller is
// compiled by nvcc (functors must then be __host__ __device__).
//
// Concurrently with writers (on a CPU; on a GPU the owner separates reads and writes) for_each and reduce read each
// leaf atomically, but different leaves at different times: an element that is present throughout is visited exactly
// once. transform needs the number of preceding elements, so other calls of the owner wait for it; writes through a ref
// do not wait and must be finished first. A functor may use a ref of the tree that is visited; it must not call the
// owner, which waits for the visit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "espalier/blink_tree/blink_tree.hpp"
#include "espalier/device/cpu.hpp"
#include "espalier/team/scalar_team.hpp"

#if ESPALIER_CUDA_COMPILER
#include "espalier/blink_tree/visit.cuh"
#endif

namespace espalier {

// As in static_tree/visit.hpp: the functions of two compilers must not share a name.
#if ESPALIER_CUDA_COMPILER
inline namespace visit_anywhere {
#else
inline namespace visit_on_cpu {
#endif

namespace visiting {

/// A tree on a CPU, partitioned into pieces that threads visit one at a time.
template <class Key, class Value, class Policy>
class leaf_pieces {
 public:
  using ref = blink_tree_ref<Key, Value, Policy>;
  using view = std::remove_cvref_t<decltype(std::declval<const ref&>().layout())>;
  using word = word_of<Key>;

  leaf_pieces(const detail::leaf_table& leaves, visit_order order)
      : tree_(*static_cast<const view*>(leaves.view)), lows_{word{0}} {
    if (order == visit_order::by_key) return;
    if (leaves.size != 0) {
      const auto* highs = static_cast<const word*>(leaves.highs);
      for (std::uint64_t i = leaves_per_piece; i < leaves.size; i += leaves_per_piece) cut(highs[i - 1] + 1);
    } else {
      cut_along_inner_nodes();
    }
  }
  [[nodiscard]] std::size_t size() const { return lows_.size(); }

  /// Calls call(element) for the elements of a piece in key order, until it returns false.
  template <class F, class Call>
  void scan(std::size_t piece, F& f, Call call) const {
    reader::scan(scalar_team{}, tree_, lows_[piece], last_of(piece), [&](word w, const raw& v) -> bool {
      const Key key = key_codec<Key>::decode(w);
      if constexpr (std::is_void_v<Value>) {
        return call([&]() -> decltype(auto) { return f(key); });
      } else {
        Value value;
        std::memcpy(static_cast<void*>(&value), &v, sizeof(value));
        return call([&]() -> decltype(auto) { return f(key, value); });
      }
    });
  }
  [[nodiscard]] std::uint64_t count(std::size_t piece) const {
    leaf_position start{};
    const node_id leaf = descent::leaf(scalar_team{}, tree_, lows_[piece]);
    return reader::count_from(scalar_team{}, tree_, leaf, lows_[piece], last_of(piece), ~std::uint64_t{0}, start);
  }

 private:
  using reads = typename detail::protocol_traits<Policy::protocol, Policy::inner>::reads;
  using reader = blink_reader<scalar_team, reads, view>;
  using descent = descender<scalar_team, reads, view>;
  using latch = typename reads::latch;
  using raw = typename view::leaf_shape::value;
  static constexpr unsigned slots = view::leaf_shape::slots;
  static constexpr word largest = static_cast<word>(~word{0});
  /// About ten thousand elements, which take longer than the dispatch of a piece.
  static constexpr std::uint64_t leaves_per_piece = std::max(1u, 8192 / slots);

  [[nodiscard]] word last_of(std::size_t piece) const {
    return piece + 1 == lows_.size() ? largest : static_cast<word>(lows_[piece + 1] - 1);
  }
  void cut(word low) {
    if (low > lows_.back()) lows_.push_back(low);
  }

  /// Partitions at each key of the inner level below which there is about one piece. Any keys would be valid, because
  /// writers may split nodes concurrently.
  void cut_along_inner_nodes() {
    const unsigned height = head_of(view::root).level;
    std::uint64_t below = 1;  // number of leaves below one key
    unsigned level = 1;
    for (; level < height && below * slots / 2 < leaves_per_piece; ++level) below *= slots / 2;
    const std::uint64_t step = std::max<std::uint64_t>(1, leaves_per_piece / below);
    std::uint64_t seen = 0;
    for (word x = 0;;) {
      const auto node = tree_.inner(descent::by_nodes(scalar_team{}, tree_, x, level).id);
      const std::uint32_t version = latch::read_begin(scalar_team{}, node.version());
      const auto h = inner_reader::head_alone(scalar_team{}, node);
      word keys[slots];
      for (unsigned i = 0; i < slots; ++i) keys[i] = load_relaxed(node.keys() + i);
      if (!latch::read_valid(scalar_team{}, node.version(), version)) continue;
      if (h.level != level || x > h.high) continue;  // split since then, or the root has grown
      for (unsigned i = 0; i < h.count; ++i) {
        if (++seen % step == 0) cut(keys[i]);
      }
      if (h.high == largest) return;
      x = static_cast<word>(h.high + 1);
    }
  }
  using inner_reader = node_reader<scalar_team, reads, typename view::inner_shape>;
  [[nodiscard]] auto head_of(node_id id) const {
    const auto node = tree_.inner(id);
    for (;;) {
      const std::uint32_t version = latch::read_begin(scalar_team{}, node.version());
      const auto h = inner_reader::head_alone(scalar_team{}, node);
      if (latch::read_valid(scalar_team{}, node.version(), version)) return h;
    }
  }

  view tree_;
  std::vector<word> lows_;  ///< first keys of pieces, ascending
};

/// The tree as referenced by enqueued work: the untyped index, whose address does not change when its owner is moved.
template <class Key, class Value, class Policy>
struct borrowed_map {
  const detail::blink_index* index;
  explicit borrowed_map(const blink_tree<Key, Value, Policy>& tree) : index(&tree.untyped()) {}
  [[nodiscard]] const device& get_device() const { return index->get_device(); }
};

/// Calls prepare(pieces) once, then visit(pieces, piece) for each piece of a CPU tree, from all its threads.
template <class Key, class Value, class Policy, class Prepare, class Visit>
void over_pieces(const borrowed_map<Key, Value, Policy>& tree, detail::visit_concurrency others, visit_order order,
                 const stream& s, Prepare prepare, Visit visit) {
  tree.index->visit(
      others,
      [&](const detail::leaf_table& leaves) {
        const leaf_pieces<Key, Value, Policy> pieces(leaves, order);
        prepare(pieces);
        cpu_backend(tree.get_device())
            .for_each(
                pieces.size(), [&](std::size_t piece) { visit(pieces, piece); }, 1);
      },
      tree.get_device().resolve(s));
}
struct nothing_to_prepare {
  template <class Pieces>
  void operator()(const Pieces&) const {}
};

// Visits on a CPU.

template <class Key, class Value, class Policy, class F>
void for_each_here(const borrowed_map<Key, Value, Policy>& tree, F& f, visit_order order, const stream& s) {
  over_pieces(tree, detail::visit_concurrency::writers, order, s, nothing_to_prepare{},
              [&](const auto& pieces, std::size_t piece) {
                pieces.scan(piece, f, [](auto&& call) {
                  call();
                  return true;
                });
              });
}

template <class Key, class Value, class Policy, class T, class F>
std::size_t transform_here(const borrowed_map<Key, Value, Policy>& tree, std::span<T> out, F& f, const stream& s) {
  std::vector<std::uint64_t> offsets;
  const auto count = [&](const auto& pieces) {
    offsets.assign(pieces.size() + 1, 0);
    cpu_backend(tree.get_device())
        .for_each(
            pieces.size(), [&](std::size_t i) { offsets[i + 1] = pieces.count(i); }, 1);
    for (std::size_t i = 0; i < pieces.size(); ++i) offsets[i + 1] += offsets[i];
  };
  over_pieces(tree, detail::visit_concurrency::none, visit_order::any, s, count,
              [&](const auto& pieces, std::size_t piece) {
                std::uint64_t at = offsets[piece];
                const std::uint64_t end = std::min<std::uint64_t>(offsets[piece + 1], out.size());
                if (at >= end) return;
                pieces.scan(piece, f, [&](auto&& call) {
                  out[at] = call();
                  return ++at < end;
                });
              });
  return offsets.back();
}

template <class Key, class Value, class Policy, class T, class Map, class Combine>
[[nodiscard]] T reduce_here(const borrowed_map<Key, Value, Policy>& tree, T init, Map& map, Combine& combine,
                            const stream& s) {
  struct piece_result {  // not a bare T, because threads must not share the bits of a vector<bool>
    T x;
    bool there;
  };
  std::vector<piece_result> partial;
  const auto prepare = [&](const auto& pieces) { partial.assign(pieces.size(), {init, false}); };
  // Pieces are combined in key order below, so visiting them in any order serves both orders.
  over_pieces(tree, detail::visit_concurrency::writers, visit_order::any, s, prepare,
              [&](const auto& pieces, std::size_t piece) {
                piece_result mine{init, false};
                pieces.scan(piece, map, [&](auto&& call) {
                  mine = {mine.there ? combine(mine.x, call()) : call(), true};
                  return true;
                });
                partial[piece] = mine;
              });
  for (const piece_result& p : partial) {
    if (p.there) init = combine(init, p.x);
  }
  return init;
}

}  // namespace visiting

/// Calls f for each element; with by_key in key order, by one thread. Returns when all elements are visited.
template <class Key, class Value, class Policy, class F>
void for_each(const blink_tree<Key, Value, Policy>& tree, F f, visit_order order = visit_order::any,
              const stream& s = {}) {
#if ESPALIER_CUDA_COMPILER
  if (tree.get_device().kind() == device_kind::cuda) {
    detail::enqueue_for_each_leaf(tree, f, order, tree.get_device().resolve(s));
    return tree.get_device().resolve(s).synchronize();
  }
#endif
  visiting::for_each_here(visiting::borrowed_map(tree), f, order, s);
}

/// Writes out[rank] = f(element) for the first out.size() elements in key order; `out` is host or device memory.
/// Returns the number of elements, which may exceed out.size(), when complete.
template <class Key, class Value, class Policy, class T, class F>
std::size_t transform(const blink_tree<Key, Value, Policy>& tree, std::span<T> out, F f, const stream& s = {}) {
#if ESPALIER_CUDA_COMPILER
  if (tree.get_device().kind() == device_kind::cuda) {
    const std::size_t size = detail::enqueue_transform_leaves(tree, out, f, tree.get_device().resolve(s));
    tree.get_device().resolve(s).synchronize();
    return size;
  }
#endif
  return visiting::transform_here(visiting::borrowed_map(tree), out, f, s);
}

/// Returns combine(... combine(init, map(e0)) ..., map(en)) for an associative combine. visit_order::any also requires
/// it to be commutative; by_key combines in key order. `init` is used once.
template <class Key, class Value, class Policy, class T, class Map, class Combine>
[[nodiscard]] T reduce(const blink_tree<Key, Value, Policy>& tree, T init, Map map, Combine combine,
                       [[maybe_unused]] visit_order order = visit_order::any, const stream& s = {}) {
#if ESPALIER_CUDA_COMPILER
  if (tree.get_device().kind() == device_kind::cuda) {
    T result = init;
    detail::enqueue_reduce_leaves(tree, &result, init, map, combine, order, tree.get_device().resolve(s));
    tree.get_device().resolve(s).synchronize();
    return result;
  }
#endif
  return visiting::reduce_here(visiting::borrowed_map(tree), init, map, combine, s);
}

// ---- _async forms -------------------------------------------------------------------------------------------
// On a GPU the host waits if a tree has no express lane, because its leaves are listed first.

template <class Key, class Value, class Policy, class F>
void for_each_async(const blink_tree<Key, Value, Policy>& tree, F f, visit_order order = visit_order::any,
                    const stream& s = {}) {
#if ESPALIER_CUDA_COMPILER
  if (tree.get_device().kind() == device_kind::cuda) {
    return detail::enqueue_for_each_leaf(tree, f, order, tree.get_device().resolve(s));
  }
#endif
  const stream in = tree.get_device().resolve(s);
  tree.get_device().enqueue(in, [tree = visiting::borrowed_map(tree), f, order, in]() mutable {
    visiting::for_each_here(tree, f, order, in);
  });
}

/// As transform(), enqueued. *size receives the number of elements; it is host memory that must live until the stream
/// is synchronised, or null.
template <class Key, class Value, class Policy, class T, class F>
void transform_async(const blink_tree<Key, Value, Policy>& tree, std::span<T> out, F f, std::size_t* size = nullptr,
                     const stream& s = {}) {
#if ESPALIER_CUDA_COMPILER
  if (tree.get_device().kind() == device_kind::cuda) {
    const std::size_t n = detail::enqueue_transform_leaves(tree, out, f, tree.get_device().resolve(s));
    if (size != nullptr) *size = n;
    return;
  }
#endif
  const stream in = tree.get_device().resolve(s);
  tree.get_device().enqueue(in, [tree = visiting::borrowed_map(tree), out, f, size, in]() mutable {
    const std::size_t n = visiting::transform_here(tree, out, f, in);
    if (size != nullptr) *size = n;
  });
}

/// As reduce(), enqueued; writes the result to *out in host or device memory.
template <class Key, class Value, class Policy, class T, class Map, class Combine>
void reduce_async(const blink_tree<Key, Value, Policy>& tree, T* out, T init, Map map, Combine combine,
                  [[maybe_unused]] visit_order order = visit_order::any, const stream& s = {}) {
#if ESPALIER_CUDA_COMPILER
  if (tree.get_device().kind() == device_kind::cuda) {
    return detail::enqueue_reduce_leaves(tree, out, init, map, combine, order, tree.get_device().resolve(s));
  }
#endif
  const stream in = tree.get_device().resolve(s);
  tree.get_device().enqueue(in, [tree = visiting::borrowed_map(tree), out, init, map, combine, in]() mutable {
    *out = visiting::reduce_here(tree, init, map, combine, in);
  });
}

}  // inline namespace

}  // namespace espalier
