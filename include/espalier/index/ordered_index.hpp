// ordered_index.hpp - what all owners have in common, as concepts: code that needs an ordered index can be written
// once.
//
//   concept          static_tree  blink_tree  hybrid_tree  radix_tree
//   OrderedIndex          x            x           x            x       contains, neighbours, count, range, size
//   OrderedMap            x            x           x            x       with values: find, sum, min, max, avg
//   RankedIndex           x                        x            x       rank, select
//   MutableIndex                       x           x            x       insert_or_assign or, for sets, insert; erase
//   AsyncIndex            x            x                        x       twins that do not wait, and streams
//
// Calls take batches: batch_type is std::span<const Key>, for byte strings byte_string_batch. Elements of fixed size
// are written to the caller's spans, byte strings are returned. seek.hpp defines the names.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "espalier/device/device.hpp"
#include "espalier/index/options.hpp"
#include "espalier/index/seek.hpp"

namespace espalier {

/// The type of a value in an output of the owner; of a set, a type whose spans stay empty.
template <class Tree>
using value_slot_of =
    std::conditional_t<std::is_void_v<typename Tree::value_type>, unsigned char, typename Tree::value_type>;

namespace detail {

template <class Tree>
concept WritesNeighbours = requires(const Tree& tree, typename Tree::batch_type keys,
                                    std::span<typename Tree::key_type> out_keys, std::span<value_slot_of<Tree>> values,
                                    std::span<std::uint8_t> found) {
  tree.lower_bound(keys, out_keys, values, found);
  tree.upper_bound(keys, out_keys, values, found);
  tree.successor(keys, out_keys, values, found);
  tree.predecessor(keys, out_keys, values, found);
};
template <class Tree>
concept ReturnsNeighbours = requires(const Tree& tree, typename Tree::batch_type keys) {
  tree.lower_bound(keys).offsets;
  tree.upper_bound(keys).offsets;
  tree.successor(keys).offsets;
  tree.predecessor(keys).offsets;
};

template <class Tree>
concept WritesSelected = requires(const Tree& tree, std::span<const std::uint64_t> ranks,
                                  std::span<typename Tree::key_type> out_keys, std::span<value_slot_of<Tree>> values,
                                  std::span<std::uint8_t> found) {
  tree.select(ranks, out_keys, values, found);
};
template <class Tree>
concept ReturnsSelected = requires(const Tree& tree, std::span<const std::uint64_t> ranks) {
  tree.select(ranks).offsets;
};
template <class Tree>
concept Selects = WritesSelected<Tree> || ReturnsSelected<Tree>;

}  // namespace detail

template <class Tree>
concept OrderedIndex = std::movable<Tree> &&
    (detail::WritesNeighbours<Tree> ||
     detail::ReturnsNeighbours<Tree>)&&requires(const Tree& tree, typename Tree::batch_type keys,
                                                std::span<std::uint8_t> found, std::span<std::uint64_t> counts,
                                                const range_options& options) {
  tree.contains(keys, found);
  tree.count(keys, keys, counts, options);
  tree.range(keys, keys, options).offsets;
  tree.range(keys, keys, options).values;
  { tree.size() } -> std::same_as<std::size_t>;
  { tree.empty() } -> std::same_as<bool>;
  { tree.get_device() } -> std::same_as<const device&>;
  { tree.validate().ok } -> std::convertible_to<bool>;
  tree.stats();
};

template <class Tree>
concept OrderedMap = OrderedIndex<Tree> && !std::is_void_v<typename Tree::value_type> &&
                     requires(const Tree& tree, typename Tree::batch_type keys, std::span<value_slot_of<Tree>> values,
                              std::span<std::uint8_t> found, std::span<typename Tree::sum_type> sums,
                              std::span<double> means, interval ends) {
  tree.find(keys, values, found);
  tree.sum(keys, keys, sums, ends);
  tree.min(keys, keys, values, found, ends);
  tree.max(keys, keys, values, found, ends);
  tree.avg(keys, keys, means, ends);
};

template <class Tree>
concept RankedIndex = OrderedIndex<Tree> && detail::Selects<Tree> &&
    requires(const Tree& tree, typename Tree::batch_type keys, std::span<std::uint64_t> ranks) {
  tree.rank(keys, ranks);
  tree.rank(keys, ranks, bound_type::upper);
};

template <class Tree>
concept MutableIndex = OrderedIndex<Tree> &&
    requires(Tree& tree, typename Tree::batch_type keys, std::span<const value_slot_of<Tree>> values,
             std::span<std::uint8_t> done) {
  tree.erase(keys, done);
  requires(std::is_void_v<typename Tree::value_type> && requires { tree.insert(keys, done); }) ||
      (!std::is_void_v<typename Tree::value_type> && requires { tree.insert_or_assign(keys, values, done); });
};

template <class Tree>
concept AsyncIndex = OrderedIndex<Tree> &&
    requires(const Tree& tree, typename Tree::batch_type keys, std::span<std::uint64_t> counts,
             const range_options& options, const stream& order) {
  tree.count_async(keys, keys, counts, options, order);
  tree.range_async(keys, keys, options, order).offsets;
};

}  // namespace espalier
