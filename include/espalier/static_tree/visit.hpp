// visit.hpp - for_each, transform and reduce over all elements of a static tree, or over a range of ranks.
//
// Elements are stored in key order without gaps, so a visit is one streaming pass over the lines. A functor takes (key,
// value), or the key alone for a set. Trees on a CPU are visited by its threads; trees on a GPU by GPU threads, if the
// caller is compiled by nvcc (functors must then be __host__ __device__). lower_bound and upper_bound return the ranks
// of a key range.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "espalier/static_tree/static_tree.hpp"

#if ESPALIER_CUDA_COMPILER
#include "espalier/static_tree/visit.cuh"
#endif

namespace espalier {

// The host compiler and nvcc make different functions of each of these. They must not share a name, or the linker keeps
// either one (ODR).
#if ESPALIER_CUDA_COMPILER
inline namespace visit_anywhere {
#else
inline namespace visit_on_cpu {
#endif

struct visit_options {
  std::uint64_t first = 0;
  std::uint64_t last = std::numeric_limits<std::uint64_t>::max();  ///< one past the last rank, clamped to the size
  visit_order order = visit_order::any;  ///< by_key: for_each in key order by one thread; reduce combines in key order
};

namespace visiting {

/// Calls visit(rank, line, slot) for ranks [first, last). Whole lines have a constant number of slots, so that the
/// inner loop unrolls.
template <class Ref, class Visit>
void for_each_slot(const Ref& ref, std::uint64_t first, std::uint64_t last, Visit visit) {
  constexpr unsigned slots = std::remove_cvref_t<decltype(ref.layout())>::shape::keys_per_line;
  std::uint64_t rank = first;
  for (; rank < last && rank % slots != 0; ++rank) visit(rank, rank / slots, static_cast<unsigned>(rank % slots));
  for (; rank + slots <= last; rank += slots) {
    for (unsigned j = 0; j < slots; ++j) visit(rank + j, rank / slots, j);
  }
  for (; rank < last; ++rank) visit(rank, rank / slots, static_cast<unsigned>(rank % slots));
}

/// Calls f(key, value), or f(key) for a set.
template <class Ref, class F>
decltype(auto) call_with(const Ref& ref, F& f, std::uint64_t line, unsigned slot) {
  using codec_type = key_codec<typename Ref::key_type>;
  const auto& t = ref.layout();
  if constexpr (std::is_void_v<typename Ref::value_type>) {
    return f(codec_type::decode(t.line_keys(line)[slot]));
  } else {
    typename Ref::value_type value;
    std::memcpy(static_cast<void*>(&value), t.line_values(line) + slot, sizeof(value));
    return f(codec_type::decode(t.line_keys(line)[slot]), value);
  }
}

/// The tree as referenced by enqueued work: the untyped index, whose address does not change when its owner is moved.
template <class Key, class Value>
class borrowed_tree {
 public:
  explicit borrowed_tree(const static_tree<Key, Value>& tree) : index_(&tree.untyped()) {}
  [[nodiscard]] auto& untyped() const { return *index_; }
  [[nodiscard]] const device& get_device() const { return index_->get_device(); }
  [[nodiscard]] std::size_t size() const { return index_->stats().size; }
  [[nodiscard]] auto ref() const { return typename static_tree<Key, Value>::ref_type(index_->view()); }

 private:
  std::remove_reference_t<decltype(std::declval<const static_tree<Key, Value>&>().untyped())>* index_;
};

template <class Tree>
[[nodiscard]] visit_options within(const Tree& tree, visit_options v) {
  v.last = std::min<std::uint64_t>(v.last, tree.size());
  v.first = std::min(v.first, v.last);
  return v;
}

}  // namespace visiting

/// Returns visit_options for the keys between lo and hi.
template <class Key, class Value>
[[nodiscard]] visit_options between(const static_tree<Key, Value>& tree, Key lo, Key hi,
                                    interval ends = interval::closed) {
  const Key keys[] = {lo, hi};
  std::uint64_t lower[2], upper[2];
  tree.rank(keys, lower);
  tree.rank(keys, upper, bound_type::upper);
  const bool with_lo = ends == interval::closed || ends == interval::right_open;
  const bool with_hi = ends == interval::closed || ends == interval::left_open;
  visit_options v;
  v.first = with_lo ? lower[0] : upper[0];
  v.last = with_hi ? upper[1] : lower[1];
  return v;
}

/// for_each on a CPU; `Tree` is an owner or a borrowed_tree.
namespace visiting {

template <class Tree, class F>
void for_each_here(const Tree& tree, F& f, const visit_options& options, const stream& s) {
  const visit_options v = within(tree, options);
  const auto ref = tree.ref();
  tree.untyped().for_each_piece(
      v.first, v.last, v.order,
      [&](std::uint64_t first, std::uint64_t last, std::size_t) {
        for_each_slot(ref, first, last,
                      [&](std::uint64_t, std::uint64_t line, unsigned slot) { call_with(ref, f, line, slot); });
      },
      {tree.get_device().resolve(s), true});
}

template <class Tree, class T, class F>
void transform_here(const Tree& tree, T* out, F& f, const visit_options& options, const stream& s) {
  const visit_options v = within(tree, options);
  const auto ref = tree.ref();
  tree.untyped().for_each_piece(v.first, v.last, visit_order::any,
                                [&](std::uint64_t first, std::uint64_t last, std::size_t) {
                                  for_each_slot(ref, first, last,
                                                [&](std::uint64_t rank, std::uint64_t line, unsigned slot) {
                                                  out[rank - v.first] = call_with(ref, f, line, slot);
                                                });
                                },
                                {tree.get_device().resolve(s), true});
}

template <class Tree, class T, class Map, class Combine>
[[nodiscard]] T reduce_here(const Tree& tree, T init, Map& map, Combine& combine, const visit_options& options,
                            const stream& s) {
  const visit_options v = within(tree, options);
  if (v.first == v.last) return init;
  const auto ref = tree.ref();
  struct piece_result {  // not a bare T, because threads must not share the bits of a vector<bool>
    T x;
    bool there;
  };
  std::vector<piece_result> partial((v.last - v.first + detail::visit_piece - 1) / detail::visit_piece, {init, false});
  tree.untyped().for_each_piece(
      v.first, v.last, v.order,
      [&](std::uint64_t first, std::uint64_t last, std::size_t piece) {
        constexpr unsigned slots = std::remove_cvref_t<decltype(ref.layout())>::shape::keys_per_line;
        T total = call_with(ref, map, first / slots, static_cast<unsigned>(first % slots));
        for_each_slot(ref, first + 1, last, [&](std::uint64_t, std::uint64_t line, unsigned slot) {
          total = combine(total, call_with(ref, map, line, slot));
        });
        partial[piece] = {total, true};
      },
      {tree.get_device().resolve(s), true});
  for (const piece_result& p : partial) {
    if (p.there) init = combine(init, p.x);
  }
  return init;
}

}  // namespace visiting

/// Calls f for each element. Returns when all elements are visited.
template <class Key, class Value, class F>
void for_each(const static_tree<Key, Value>& tree, F f, visit_options options = {}, const stream& s = {}) {
#if ESPALIER_CUDA_COMPILER
  if (tree.get_device().kind() == device_kind::cuda) {
    detail::enqueue_for_each(tree, f, visiting::within(tree, options), tree.get_device().resolve(s));
    return tree.get_device().resolve(s).synchronize();
  }
#endif
  visiting::for_each_here(tree, f, options, s);
}

/// out[rank - first] = f(element); `out` is host or device memory that the tree's device can write. Returns when
/// complete.
template <class Key, class Value, class T, class F>
void transform(const static_tree<Key, Value>& tree, T* out, F f, visit_options options = {}, const stream& s = {}) {
#if ESPALIER_CUDA_COMPILER
  if (tree.get_device().kind() == device_kind::cuda) {
    detail::enqueue_transform(tree, out, f, visiting::within(tree, options), tree.get_device().resolve(s));
    return tree.get_device().resolve(s).synchronize();
  }
#endif
  visiting::transform_here(tree, out, f, options, s);
}

/// Returns combine(... combine(init, map(e0)) ..., map(en)) for an associative combine. visit_order::any also requires
/// it to be commutative; by_key combines in key order. `init` is used once.
template <class Key, class Value, class T, class Map, class Combine>
[[nodiscard]] T reduce(const static_tree<Key, Value>& tree, T init, Map map, Combine combine,
                       visit_options options = {}, const stream& s = {}) {
#if ESPALIER_CUDA_COMPILER
  if (tree.get_device().kind() == device_kind::cuda) {
    const visit_options v = visiting::within(tree, options);
    if (v.first == v.last) return init;
    T result = init;
    detail::enqueue_reduce(tree, &result, init, map, combine, v, tree.get_device().resolve(s));
    tree.get_device().resolve(s).synchronize();
    return result;
  }
#endif
  return visiting::reduce_here(tree, init, map, combine, options, s);
}

// ---- _async forms -------------------------------------------------------------------------------------------

template <class Key, class Value, class F>
void for_each_async(const static_tree<Key, Value>& tree, F f, visit_options options = {}, const stream& s = {}) {
#if ESPALIER_CUDA_COMPILER
  if (tree.get_device().kind() == device_kind::cuda) {
    return detail::enqueue_for_each(tree, f, visiting::within(tree, options), tree.get_device().resolve(s));
  }
#endif
  const stream order = tree.get_device().resolve(s);
  tree.get_device().enqueue(order, [tree = visiting::borrowed_tree(tree), f, options, order]() mutable {
    visiting::for_each_here(tree, f, options, order);
  });
}

/// As transform(), enqueued.
template <class Key, class Value, class T, class F>
void transform_async(const static_tree<Key, Value>& tree, T* out, F f, visit_options options = {},
                     const stream& s = {}) {
#if ESPALIER_CUDA_COMPILER
  if (tree.get_device().kind() == device_kind::cuda) {
    return detail::enqueue_transform(tree, out, f, visiting::within(tree, options), tree.get_device().resolve(s));
  }
#endif
  const stream order = tree.get_device().resolve(s);
  tree.get_device().enqueue(order, [tree = visiting::borrowed_tree(tree), out, f, options, order]() mutable {
    visiting::transform_here(tree, out, f, options, order);
  });
}

/// As reduce(), enqueued; writes the result to *out in host or device memory.
template <class Key, class Value, class T, class Map, class Combine>
void reduce_async(const static_tree<Key, Value>& tree, T* out, T init, Map map, Combine combine,
                  visit_options options = {}, const stream& s = {}) {
#if ESPALIER_CUDA_COMPILER
  if (tree.get_device().kind() == device_kind::cuda) {
    return detail::enqueue_reduce(tree, out, init, map, combine, visiting::within(tree, options),
                                  tree.get_device().resolve(s));
  }
#endif
  const stream order = tree.get_device().resolve(s);
  tree.get_device().enqueue(order,
                            [tree = visiting::borrowed_tree(tree), out, init, map, combine, options, order]() mutable {
                              *out = visiting::reduce_here(tree, init, map, combine, options, order);
                            });
}

}  // inline namespace

}  // namespace espalier
