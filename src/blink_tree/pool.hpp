// pool.hpp - the memory of a tree's nodes, as its owner manages it. node.hpp has the view that operations use.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "espalier/blink_tree/node.hpp"
#include "espalier/device/buffer.hpp"

namespace espalier::detail {

/// Sets the limit of a pool's tickets and cancels tickets issued in vain, atomically.
struct raise_limit {
  std::uint64_t* tickets;
  std::uint32_t limit;
  ESPALIER_HD void operator()(std::size_t) const {
    const atomic_word_ref word{tickets};
    std::uint64_t seen = word.load_relaxed();
    while (!word.exchange(seen, std::uint64_t{limit} << 32 | pool_state::taken(seen))) {
    }
  }
};
struct set_segment {
  std::uint64_t* table;
  std::byte* first;
  std::size_t bytes;
  ESPALIER_HD void operator()(std::size_t i) const { table[i] = reinterpret_cast<std::uint64_t>(first + i * bytes); }
};
struct set_pool_state {
  pool_state* p;
  pool_state x;
  ESPALIER_HD void operator()(std::size_t) const { *p = x; }
};

/// Numbers of nodes that were taken together: recycled ones, then consecutive new ones.
struct new_numbers {
  const node_id* again;
  std::uint32_t reused;
  node_id fresh;
  [[nodiscard]] ESPALIER_INLINE node_id operator[](std::uint64_t i) const {
    return i < reused ? again[i] : static_cast<node_id>(fresh + (i - reused));
  }
  /// The numbers from index i on.
  [[nodiscard]] new_numbers from(std::uint64_t i) const {
    if (i <= reused) return {again + i, static_cast<std::uint32_t>(reused - i), fresh};
    return {nullptr, 0, (*this)[i]};
  }
};

class node_pool {
 public:
  node_pool() = default;

  /// Allocates `nodes` nodes, of which the first `used` are taken.
  template <class Context>
  node_pool(Context& context, std::size_t node_bytes, std::uint64_t nodes, std::uint32_t used,
            allocation_hint use = allocation_hint::any)
      : node_bytes_(node_bytes), use_(use) {
    check(nodes);
    first_ = room_for(context, nodes);
    table_ = buffer<std::uint64_t>(context.get_device(), pool_view::most_segments, context.order());
    counters_ = buffer<pool_state>(context.get_device(), 1, context.order());
    view_.first = static_cast<std::byte*>(first_.data());
    view_.first_nodes = static_cast<std::uint32_t>(nodes);
    view_.segments = table_.data();
    view_.state = counters_.data();
    set_segment_size(nodes);
    state_.fresh = used;
    capacity_ = static_cast<std::uint32_t>(nodes);
    publish(context);
  }

  [[nodiscard]] const pool_view& view() const { return view_; }
  /// From now on the memory is freed in the order of this stream, which must follow all other uses of the memory.
  void set_stream(const stream& s) {
    first_.set_stream(s);
    for (raw_buffer& segment : segments_) segment.set_stream(s);
    table_.set_stream(s);
    counters_.set_stream(s);
    reusable_.set_stream(s);
  }
  [[nodiscard]] std::size_t bytes() const {
    std::size_t total = first_.bytes() + table_.bytes() + counters_.bytes() + reusable_.bytes();
    for (const raw_buffer& segment : segments_) total += segment.bytes();
    return total;
  }
  /// As of the last learn(): numbers below this have been in use.
  [[nodiscard]] std::uint32_t high_water() const {
    return state_.fresh + (taken_ > state_.recycled ? taken_ - state_.recycled : 0);
  }
  [[nodiscard]] std::uint32_t capacity() const { return capacity_; }
  /// Nodes taken since the last maintenance.
  [[nodiscard]] std::uint32_t taken() const { return taken_; }
  [[nodiscard]] std::uint32_t left() const { return most() - taken_; }
  [[nodiscard]] std::uint32_t reusable() const { return state_.recycled > taken_ ? state_.recycled - taken_ : 0; }

  /// The counter of the nodes that running teams took: blink_storage::refresh_pools().
  [[nodiscard]] std::uint64_t* tickets() const { return &counters_.data()->tickets; }
  void learn(std::uint64_t tickets) { taken_ = pool_state::taken(tickets); }
  /// Ensures that at least `nodes` more can be taken, beyond those last learned of. Other teams may take nodes
  /// concurrently, unless nodes `may_move`.
  template <class Context>
  void ensure(Context& context, std::uint64_t nodes, bool may_move) {
    if (left() >= nodes) return;
    const std::uint64_t segment = std::uint64_t{1} << view_.shift;
    const std::uint64_t wanted = std::max<std::uint64_t>(nodes - left(), capacity_ / 16);
    const std::uint64_t more = (wanted + segment - 1) / segment;
    check(capacity_ + more * segment);
    if (entries_ + more > pool_view::most_segments) {
      if (!may_move)
        throw error(
            "blink_tree: it has outgrown the memory it was made with; ask for more room before its refs are in use.");
      return move(context, capacity_ + wanted);
    }
    segments_.reserve(segments_.size() + 1);
    raw_buffer added = room_for(context, more * segment);
    context.for_each(
        more, set_segment{table_.data() + entries_, static_cast<std::byte*>(added.data()), segment * node_bytes_});
    segments_.push_back(std::move(added));
    entries_ += static_cast<std::uint32_t>(more);
    capacity_ += static_cast<std::uint32_t>(more * segment);
    // After the table: a team that sees the new limit finds the segment.
    context.for_each(1, raise_limit{&counters_.data()->tickets, most()});
  }
  /// Combines many segments into one block. Precondition: no other access to the pool.
  template <class Context>
  void gather(Context& context) {
    if (entries_ > 16) move(context, capacity_);
  }
  /// The numbers that take() would return.
  [[nodiscard]] new_numbers next(std::uint32_t nodes) const {
    const std::uint32_t used = std::min(taken_, state_.recycled);
    return {used == 0 ? view_.reusable : view_.reusable + used, std::min(state_.recycled - used, nodes), high_water()};
  }
  /// Takes `nodes` numbers, for which ensure() has reserved memory. Precondition: no other access to the pool.
  template <class Context>
  [[nodiscard]] new_numbers take(Context& context, std::uint32_t nodes) {
    settle();
    const new_numbers taken = next(nodes);
    if (taken.reused != 0) view_.reusable += taken.reused;
    state_.recycled -= taken.reused;
    state_.fresh += nodes - taken.reused;
    publish(context);
    return taken;
  }
  /// From now on these numbers are reused first. Precondition: no other access to the pool.
  template <class Context>
  void recycle(Context& context, buffer<node_id>&& ids, std::uint32_t count) {
    settle();
    reusable_ = std::move(ids);
    view_.reusable = reusable_.data();
    state_.recycled = count;
    taken_ = 0;
    publish(context);
  }

  /// Copies all nodes that have been in use, contiguously.
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
  /// Numbers that will be reused.
  template <class Context>
  [[nodiscard]] std::vector<node_id> unused_numbers(Context& context) const {
    std::vector<node_id> host(reusable());
    if (!host.empty())
      context.copy(host.data(), view_.reusable + std::min(taken_, state_.recycled), host.size() * sizeof(node_id));
    context.order().synchronize();
    return host;
  }

 private:
  [[nodiscard]] std::uint32_t most() const { return state_.recycled + capacity_ - state_.fresh; }
  /// Tickets are counted in 32 bits, and slightly more tickets are requested than there are nodes.
  static void check(std::uint64_t nodes) {
    if (nodes >= no_node - (1u << 24))
      throw error("blink_tree: more nodes than it can number; split the data over several trees.");
  }
  template <class Context>
  [[nodiscard]] raw_buffer room_for(Context& context, std::uint64_t nodes) const {
    return raw_buffer(context.get_device(), nodes * node_bytes_, context.order(), use_);
  }
  /// A sixteenth of the first block; small pools grow in steps of 256 nodes.
  void set_segment_size(std::uint64_t nodes) {
    for (view_.shift = 8; (std::uint64_t{16} << view_.shift) < nodes; ++view_.shift) {
    }
  }
  /// Moves all nodes to a block of `nodes` nodes; they keep their numbers.
  template <class Context>
  void move(Context& context, std::uint64_t nodes) {
    check(nodes);
    raw_buffer block = room_for(context, nodes);
    auto* to = static_cast<std::byte*>(block.data());
    context.copy(to, first_.data(), first_.bytes());
    to += first_.bytes();
    for (const raw_buffer& segment : segments_) {
      context.copy(to, segment.data(), segment.bytes());
      to += segment.bytes();
    }
    first_ = std::move(block);
    segments_.clear();
    entries_ = 0;
    view_.first = static_cast<std::byte*>(first_.data());
    view_.first_nodes = static_cast<std::uint32_t>(nodes);
    set_segment_size(nodes);
    capacity_ = static_cast<std::uint32_t>(nodes);
    context.for_each(1, raise_limit{&counters_.data()->tickets, most()});
  }
  /// Resets the ticket counters to the current state.
  void settle() {
    state_.fresh = high_water();
    const std::uint32_t used = std::min(taken_, state_.recycled);
    view_.reusable = used == 0 ? view_.reusable : view_.reusable + used;
    state_.recycled -= used;
    taken_ = 0;
  }
  template <class Context>
  void publish(Context& context) {
    state_.tickets = std::uint64_t{most()} << 32 | taken_;
    context.for_each(1, set_pool_state{counters_.data(), state_});
  }

  std::size_t node_bytes_ = 0;
  allocation_hint use_ = allocation_hint::any;
  raw_buffer first_;
  std::vector<raw_buffer> segments_;  ///< each covers one or more entries of the table
  std::uint32_t entries_ = 0;
  buffer<std::uint64_t> table_;
  buffer<pool_state> counters_;
  buffer<node_id> reusable_;
  // State as known to the owner:
  pool_state state_;
  std::uint32_t taken_ = 0;
  std::uint32_t capacity_ = 0;  ///< number of nodes that memory is allocated for
  pool_view view_;
};

}  // namespace espalier::detail
