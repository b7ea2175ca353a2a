// pool.hpp - the memory of a tree's nodes, seen from its owner. node.hpp has the view that operations use.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "espalier/blink_tree/node.hpp"
#include "espalier/device/buffer.hpp"

namespace espalier::detail {

class node_pool {
 public:
  node_pool() = default;

  /// Room for `nodes`, of which the first `used` are taken.
  template <class Context>
  node_pool(Context& context, std::size_t node_bytes, std::uint64_t nodes, std::uint32_t used)
      : node_bytes_(node_bytes) {
    check(nodes);
    first_ = raw_buffer(context.where(), nodes * node_bytes, context.order());
    table_ = buffer<std::uint64_t>(context.where(), pool_view::most_segments, context.order());
    counters_ = buffer<pool_state>(context.where(), 1, context.order());
    view_.first = static_cast<std::byte*>(first_.data());
    view_.first_nodes = static_cast<std::uint32_t>(nodes);
    view_.segments = table_.data();
    view_.state = counters_.data();
    // A quarter of the first block at a time; small pools grow in steps of 256 nodes.
    for (view_.shift = 8; (std::uint64_t{4} << view_.shift) < nodes; ++view_.shift) {
    }
    state_.fresh = used;
    state_.capacity = static_cast<std::uint32_t>(nodes);
    publish(context);
  }

  [[nodiscard]] const pool_view& view() const { return view_; }
  [[nodiscard]] std::size_t bytes() const {
    return first_.bytes() + segments_.size() * (node_bytes_ << view_.shift) + table_.bytes() + counters_.bytes() +
           reusable_.bytes();
  }
  /// As of the last refresh: numbers below this have been in use.
  [[nodiscard]] std::uint32_t high_water() const {
    return state_.fresh + (state_.taken > state_.recycled ? state_.taken - state_.recycled : 0);
  }
  [[nodiscard]] std::uint32_t capacity() const { return state_.capacity; }
  /// Nodes taken since the last maintenance.
  [[nodiscard]] std::uint32_t taken() const { return state_.taken; }
  [[nodiscard]] std::uint32_t left() const { return most() - state_.taken; }
  [[nodiscard]] std::uint32_t reusable() const {
    return state_.recycled > state_.taken ? state_.recycled - state_.taken : 0;
  }

  /// Learns what running teams took. They may have asked for more than there was.
  template <class Context>
  void refresh(Context& context) {
    state_.taken = std::min(context.read_word(&counters_.data()->taken), most());
  }
  /// At least `nodes` more can be taken. Others may be taking meanwhile.
  template <class Context>
  void ensure(Context& context, std::uint64_t nodes) {
    refresh(context);
    if (left() >= nodes) return;
    const std::uint64_t segment = std::uint64_t{1} << view_.shift;
    const std::uint64_t more = (nodes - left() + segment - 1) / segment;
    check(state_.capacity + more * segment);
    if (segments_.size() + more > pool_view::most_segments)
      throw error("blink_tree: it has outgrown the memory it was made with; call maintain() between writes.");
    std::vector<raw_buffer> added;
    for (std::uint64_t i = 0; i < more; ++i)
      added.emplace_back(context.where(), segment * node_bytes_, context.order());
    std::vector<std::uint64_t> addresses;
    for (const raw_buffer& b : added) addresses.push_back(reinterpret_cast<std::uint64_t>(b.data()));
    context.copy(table_.data() + segments_.size(), addresses.data(), addresses.size() * 8);
    for (raw_buffer& b : added) segments_.push_back(std::move(b));
    state_.capacity += static_cast<std::uint32_t>(more * segment);
    // After the table: whoever sees the new capacity finds the segment.
    context.write_word(&counters_.data()->capacity, state_.capacity);
  }
  /// Takes `nodes` numbers in a row, which ensure() has made room for. Nobody else is at the pool.
  template <class Context>
  [[nodiscard]] node_id take_fresh(Context& context, std::uint32_t nodes) {
    settle();
    const node_id first = state_.fresh;
    state_.fresh += nodes;
    publish(context);
    return first;
  }
  /// From now on these numbers are given out first. Nobody else is at the pool.
  template <class Context>
  void recycle(Context& context, buffer<node_id>&& ids, std::uint32_t count) {
    settle();
    reusable_ = std::move(ids);
    view_.reusable = reusable_.data();
    state_.recycled = count;
    state_.taken = 0;
    publish(context);
  }

  /// All nodes that have been in use, one after the other.
  template <class Context>
  [[nodiscard]] std::vector<std::byte> host_copy(Context& context) const {
    std::vector<std::byte> host(std::size_t{high_water()} * node_bytes_);
    std::size_t at = std::min<std::size_t>(host.size(), first_.bytes());
    if (at != 0) context.copy(host.data(), first_.data(), at);
    for (const raw_buffer& segment : segments_) {
      const std::size_t bytes = std::min(host.size() - at, segment.bytes());
      if (bytes != 0) context.copy(host.data() + at, segment.data(), bytes);
      at += bytes;
    }
    context.order().synchronize();
    return host;
  }
  /// Numbers that will be given out again.
  template <class Context>
  [[nodiscard]] std::vector<node_id> unused_numbers(Context& context) const {
    std::vector<node_id> host(reusable());
    if (!host.empty()) context.copy(host.data(), view_.reusable + std::min(state_.taken, state_.recycled), host.size() * sizeof(node_id));
    context.order().synchronize();
    return host;
  }

 private:
  [[nodiscard]] std::uint32_t most() const { return state_.recycled + state_.capacity - state_.fresh; }
  static void check(std::uint64_t nodes) {
    if (nodes >= no_node) throw error("blink_tree: more nodes than it can number; split the data over several trees.");
  }
  /// What was taken becomes history.
  void settle() {
    state_.fresh = high_water();
    const std::uint32_t used = std::min(state_.taken, state_.recycled);
    view_.reusable = used == 0 ? view_.reusable : view_.reusable + used;
    state_.recycled -= used;
    state_.taken = 0;
  }
  template <class Context>
  void publish(Context& context) {
    pool_state* now = counters_.data();
    context.write_word(&now->taken, state_.taken);
    context.write_word(&now->recycled, state_.recycled);
    context.write_word(&now->fresh, state_.fresh);
    context.write_word(&now->capacity, state_.capacity);
  }

  std::size_t node_bytes_ = 0;
  raw_buffer first_;
  std::vector<raw_buffer> segments_;
  buffer<std::uint64_t> table_;
  buffer<pool_state> counters_;
  buffer<node_id> reusable_;
  pool_state state_;  ///< as this side knows it
  pool_view view_;
};

}  // namespace espalier::detail
