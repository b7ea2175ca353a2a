// small_batch.hpp - writes a small batch by one group of threads with barriers between steps: one kernel in place of
// the twenty of a bulk merge. docs/design/blink-tree.md has the prediction and the measurement.
//
//   order    encode the keys and check whether they ascend; if not, sort them
//   locate   find the leaf of each element and judge whether the element changes the set of keys
//   count    pack the elements that do, and plan the nodes of each group; a group is the elements of one leaf
//   take     take all new nodes at once; without room for them nothing is changed
//   assign   write values of keys that are present, and the caller's results
//   split    write all new nodes, one thread per slot, which finds its element by a merge path
//   change   merge the lowest elements of each group into its old leaf, one thread per leaf
//   post     merge separators of new leaves into the inner nodes by the same steps, level by level
//
// Invariants, in addition to those of node.hpp:
// (1) No other operation is in progress, refs included, so leaves are changed without latches. Nodes keep their numbers
//     and upper levels their meaning: refs stay valid.
// (2) A new node is complete, and all threads have passed a barrier, before the link to it is written.
// (3) The threads that write the new nodes of an old leaf read it before a barrier; one thread changes it after that.
// (4) Fail before change: the tickets of all new leaves are taken before any leaf, value or result is written. Without
//     room, upper levels are not posted to: links lead to the leaves anyway. A root that grows has room for all levels
//     above it.
// (5) Every branch that contains a barrier depends only on values that are the same for all threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "blink_tree/build_kernels.hpp"
#include "espalier/blink_tree/node.hpp"
#include "espalier/blink_tree/options.hpp"
#include "espalier/blink_tree/write.hpp"
#include "espalier/core/scalar.hpp"
#include "espalier/index/value_slot.hpp"
#include "espalier/static_tree/run.hpp"

namespace espalier::detail {

enum class small_batch_outcome : std::uint32_t {
  none,       ///< the kernel has not run
  done,       ///< the batch is written
  unordered,  ///< nothing was changed: the keys do not ascend, and the job does not sort
  no_room,    ///< nothing was changed: the pool of leaves has too few nodes
};
/// What the host needs to know afterwards.
struct small_batch_result {
  small_batch_outcome outcome;
  std::uint32_t leaves;  ///< new leaves
  std::uint32_t posts;   ///< of these leaves, how many were posted
  std::uint64_t change;  ///< of the number of elements, modulo 2^64
  std::uint64_t leaf_tickets, inner_tickets;
};

template <class View>
struct small_batch_job {
  View tree;
  write_op op;
  std::uint32_t n;   ///< elements, not 0
  bool sorts;        ///< sort keys that do not ascend; otherwise such a batch is declined
  const void* keys;  ///< the caller's keys and values; values are null for erase and for sets
  const void* values;
  std::uint8_t* done;  ///< the caller's results; may be null
  std::byte* scratch;  ///< small_batch_arrays::bytes(n)
  small_batch_result* result;
  std::uint32_t* declined;  ///< set to 1 if the batch was not written, otherwise 0; may be null
};

/// The arrays between the steps. The steps of an inner level use the arrays of the leaf level again.
template <class Word>
struct small_batch_arrays {
  struct shared_state {
    std::uint32_t room;          ///< whether the nodes could be taken
    std::uint32_t first_ticket;  ///< their first ticket
  };
  static constexpr unsigned totals_bytes = 512;

  std::byte* totals;  ///< for sums over all threads
  shared_state* state;
  Word* words;                  ///< keys in order
  Word* moved;                  ///< those that change the set of keys, packed
  Word* lows[2];                ///< separators to be posted, of this and of the next level
  node_id* children[2];         ///< their nodes
  std::uint32_t* place;         ///< position of each element in the caller's batch
  node_id* nodes;               ///< node of each element
  std::uint32_t* from;          ///< element of moved[j]
  std::uint32_t* first;         ///< at the last element of a group: its first entry in `moved` ...
  std::uint32_t* many;          ///< ... and the number of entries
  std::uint32_t* nodes_before;  ///< new nodes of groups before this element; one entry more than elements
  std::uint32_t* posts_before;  ///< posted ones among them
  std::uint8_t* marks;          ///< small_batch_marks of each element

  [[nodiscard]] static constexpr std::size_t capacity(std::size_t n) { return (n + 8 + 15) / 16 * 16; }
  [[nodiscard]] static constexpr std::size_t bytes(std::size_t n) {
    return totals_bytes + 64 + capacity(n) * (4 * sizeof(Word) + 9 * 4 + 1);
  }
  ESPALIER_INLINE small_batch_arrays(std::byte* p, std::size_t n) {
    const std::size_t c = capacity(n);
    totals = p;
    p += totals_bytes;
    state = reinterpret_cast<shared_state*>(p);
    p += 64;
    take(words, p, c);
    take(moved, p, c);
    take(lows[0], p, c);
    take(lows[1], p, c);
    take(children[0], p, c);
    take(children[1], p, c);
    take(place, p, c);
    take(nodes, p, c);
    take(from, p, c);
    take(first, p, c);
    take(many, p, c);
    take(nodes_before, p, c);
    take(posts_before, p, c);
    take(marks, p, c);
  }

 private:
  template <class T>
  static ESPALIER_INLINE void take(T*& to, std::byte*& p, std::size_t n) {
    to = reinterpret_cast<T*>(p);
    p += n * sizeof(T);
  }
};

/// Slot of an element in its node, and what it does there.
struct small_batch_marks {
  static constexpr std::uint8_t slot = 0x1f, moves = 0x20, present = 0x40, in_chain = 0x80;
};

/// Sums over consecutive elements: elements that move, and those of them since the last head of a group.
struct small_batch_moves {
  std::uint32_t moves = 0, head = 0, since = 0;  ///< head: 1 + the number of the last head; 0 if there is none
  [[nodiscard]] static ESPALIER_INLINE small_batch_moves combine(const small_batch_moves& l,
                                                                 const small_batch_moves& r) {
    return {l.moves + r.moves, r.head != 0 ? r.head : l.head, r.head != 0 ? r.since : l.since + r.since};
  }
};
struct small_batch_counts {
  std::uint32_t nodes = 0, posts = 0;
  [[nodiscard]] static ESPALIER_INLINE small_batch_counts combine(const small_batch_counts& l,
                                                                  const small_batch_counts& r) {
    return {l.nodes + r.nodes, l.posts + r.posts};
  }
};

/// The steps on one level: Level is 0 for leaves, otherwise inner nodes. `Threads` is described at small_batch_steps.
template <class Threads, class View, bool IsLeaf>
struct small_batch_level;

template <class Threads, class Word, unsigned V, unsigned N, bool IsLeaf>
struct small_batch_level<Threads, blink_view<Word, V, N>, IsLeaf> {
  using view = blink_view<Word, V, N>;
  using shape = std::conditional_t<IsLeaf, typename view::leaf_shape, typename view::inner_shape>;
  using value = typename shape::value;
  using node = node_at<shape>;
  using job_type = small_batch_job<view>;
  using arrays = small_batch_arrays<Word>;
  using marks = small_batch_marks;
  static constexpr Word unused = static_cast<Word>(~Word{0});
  static_assert(N <= 16, "a slot has five bits, and one thread merges a node");

  const Threads& threads;
  const job_type& job;
  const arrays& a;
  std::uint32_t level;
  std::uint32_t n;                    ///< elements of this level
  const Word* words;                  ///< their keys, ascending
  const node_id* children;            ///< their values, on inner levels
  const std::uint32_t* place;         ///< positions in the caller's batch; null if they ascend
  std::uint32_t made = 0, posts = 0;  ///< new nodes, and how many of them are posted
  std::uint32_t moves = 0;            ///< elements that change the set of keys
  std::uint32_t first_ticket = 0;

  [[nodiscard]] ESPALIER_INLINE const pool_view& pool() const {
    if constexpr (IsLeaf)
      return job.tree.leaves;
    else
      return job.tree.inners;
  }
  [[nodiscard]] ESPALIER_INLINE node at(node_id id) const { return pool().template at<shape>(id); }
  [[nodiscard]] ESPALIER_INLINE bool erases() const { return IsLeaf && job.op == write_op::erase; }
  [[nodiscard]] ESPALIER_INLINE bool is_last_of_group(std::uint32_t i) const {
    return i + 1 == n || a.nodes[i + 1] != a.nodes[i];
  }
  [[nodiscard]] ESPALIER_INLINE bool is_root(node_id id) const { return !IsLeaf && id == view::root; }

  // ---- count -----------------------------------------------------------------------------------------------------
  /// The elements of one node: `count` old ones and entries [first, first + many) of `moved`.
  struct group {
    node old;
    node_head<Word> head;
    std::uint32_t first, many;
    std::uint32_t total, nodes, per;  ///< elements afterwards, nodes for them, elements per node but the last
    bool replaced;                    ///< the root: all its nodes are new
  };
  [[nodiscard]] ESPALIER_INLINE group group_of(node_id id, std::uint32_t first, std::uint32_t many) const {
    group g;
    g.old = at(id);
    g.head = node_reader<typename Threads::team, own_reads, shape>::head_alone(typename Threads::team{}, g.old);
    g.first = first;
    g.many = many;
    g.total = erases() ? g.head.count - many : g.head.count + many;
    g.nodes = 1;
    g.per = N;
    if (g.total > N) {
      // Ascending inserts leave full nodes.
      const bool at_end = g.head.right == no_node &&
                          (g.head.count == 0 || load_relaxed(g.old.keys() + g.head.count - 1) < a.moved[first]);
      const std::uint32_t fill = at_end ? N : N * 3 / 4;
      g.nodes = (g.total + fill - 1) / fill;
      if (!at_end) g.per = (g.total + g.nodes - 1) / g.nodes;
    }
    g.replaced = g.nodes > 1 && is_root(id);
    return g;
  }
  /// Group of the last element i.
  [[nodiscard]] ESPALIER_INLINE group group_at(std::uint32_t i) const {
    return group_of(a.nodes[i], a.first[i], a.many[i]);
  }
  /// New leaves that are posted: invariant (e) of write.hpp. In a chain the first one is, because calls may add one
  /// leaf each.
  [[nodiscard]] ESPALIER_INLINE std::uint32_t posts_of(std::uint32_t new_nodes, std::uint8_t mark) const {
    if (!IsLeaf || job.tree.lane.size == 0) return new_nodes;
    return ((mark & marks::in_chain) != 0 ? new_nodes + posted_each - 1 : new_nodes) / posted_each;
  }
  [[nodiscard]] ESPALIER_INLINE std::uint32_t posted_node(std::uint32_t k, std::uint8_t mark) const {
    if (!IsLeaf || job.tree.lane.size == 0) return k;
    return k * posted_each + ((mark & marks::in_chain) != 0 ? 0 : posted_each - 1);
  }
  static constexpr std::uint32_t posted_each = 4;

  [[nodiscard]] ESPALIER_INLINE small_batch_moves moves_of(std::uint32_t i) const {
    const std::uint32_t one = (a.marks[i] & marks::moves) != 0 ? 1 : 0;
    return {one, i == 0 || a.nodes[i - 1] != a.nodes[i] ? i + 1 : 0, one};
  }
  /// Each thread counts a piece of consecutive elements.
  ESPALIER_INLINE void count() {
    const std::uint32_t piece = (n + threads.size() - 1) / threads.size();
    const std::uint32_t begin = piece * threads.rank() < n ? piece * threads.rank() : n;
    const std::uint32_t end = n - begin < piece ? n : begin + piece;
    small_batch_moves sum, all;
    for (std::uint32_t i = begin; i < end; ++i) sum = small_batch_moves::combine(sum, moves_of(i));
    sum = threads.sum_before(sum, all);
    moves = all.moves;
    small_batch_counts counts, all_counts;
    for (std::uint32_t i = begin; i < end; ++i) {
      const small_batch_moves m = moves_of(i);
      if (m.moves != 0) {
        a.moved[sum.moves] = words[i];
        a.from[sum.moves] = i;
      }
      sum = small_batch_moves::combine(sum, m);
      if (is_last_of_group(i)) {
        a.first[i] = sum.moves - sum.since;
        a.many[i] = sum.since;
      }
    }
    if (erases() || moves == 0) return threads.sync();
    threads.sync();  // a group may begin in the piece of another thread
    for (std::uint32_t i = begin; i < end; ++i) {
      std::uint32_t new_nodes = 0;
      if (is_last_of_group(i) && a.many[i] != 0) {
        const group g = group_at(i);
        new_nodes = g.nodes - (g.replaced ? 0 : 1);
      }
      a.nodes_before[i] = new_nodes;
      counts = small_batch_counts::combine(counts, {new_nodes, posts_of(new_nodes, a.marks[i])});
    }
    counts = threads.sum_before(counts, all_counts);
    for (std::uint32_t i = begin; i < end; ++i) {
      const std::uint32_t new_nodes = a.nodes_before[i];
      a.nodes_before[i] = counts.nodes;
      a.posts_before[i] = counts.posts;
      counts = small_batch_counts::combine(counts, {new_nodes, posts_of(new_nodes, a.marks[i])});
    }
    made = all_counts.nodes;
    posts = all_counts.posts;
    if (threads.rank() == 0) {
      a.nodes_before[n] = made;
      a.posts_before[n] = posts;
    }
  }

  // ---- take ------------------------------------------------------------------------------------------------------
  /// Takes the new nodes. Returns false, with none taken, if there are too few. The threads meet.
  [[nodiscard]] ESPALIER_INLINE bool take() {
    if (made == 0) return true;
    if (threads.rank() == 0) {
      const std::uint64_t seen = atomic_word_ref{&pool().state->tickets}.load_relaxed();
      const std::uint32_t left = pool_state::limit(seen) - pool_state::taken(seen);
      const std::uint32_t spare = IsLeaf ? 0 : made / 4 + 8;  // for the levels above a root that grows
      a.state->room = left >= made + spare ? 1 : 0;
      if (a.state->room != 0) a.state->first_ticket = pool().take_up_to(made).first;
    }
    threads.sync();
    first_ticket = a.state->first_ticket;
    return a.state->room != 0;
  }
  [[nodiscard]] ESPALIER_INLINE node_id number(std::uint32_t q) const { return pool().number(first_ticket + q); }

  // ---- split -----------------------------------------------------------------------------------------------------
  /// The entry of `before` that counts new node q: the last element of its group.
  [[nodiscard]] ESPALIER_INLINE std::uint32_t element_of(const std::uint32_t* before, std::uint32_t q) const {
    std::uint32_t low = 0, high = n - 1;
    while (low < high) {
      const std::uint32_t middle = (low + high) / 2;
      if (before[middle + 1] > q) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }
  /// Number of old elements among the first d of a group.
  [[nodiscard]] ESPALIER_INLINE std::uint32_t old_before(const group& g, std::uint32_t d) const {
    std::uint32_t low = d > g.many ? d - g.many : 0, high = d < g.head.count ? d : g.head.count;
    while (low < high) {
      const std::uint32_t middle = (low + high) / 2;
      if (load_relaxed(g.old.keys() + middle) < a.moved[g.first + d - 1 - middle]) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }
  struct origin {
    Word key;
    bool is_old;
    std::uint32_t at;  ///< slot, or entry of `moved`
  };
  /// Element d of a group in key order.
  [[nodiscard]] ESPALIER_INLINE origin element(const group& g, std::uint32_t d) const {
    const std::uint32_t o = old_before(g, d), m = d - o;
    const Word old_key = o < g.head.count ? load_relaxed(g.old.keys() + o) : unused;
    const Word new_key = m < g.many ? a.moved[g.first + m] : unused;
    if (o < g.head.count && (m >= g.many || old_key < new_key)) return {old_key, true, o};
    return {new_key, false, g.first + m};
  }
  /// The value of entry j of `moved`.
  [[nodiscard]] ESPALIER_INLINE value value_of(std::uint32_t j) const {
    std::uint32_t i = a.from[j];
    if constexpr (!IsLeaf) {
      return children[i];
    } else if constexpr (V == 0) {
      return {};
    } else {
      if (job.op == write_op::insert_or_assign) i = last_of_equals(i);
      return load_value<V>(job.tree.value_bytes, job.values, place == nullptr ? i : place[i]);
    }
  }
  [[nodiscard]] ESPALIER_INLINE std::uint32_t last_of_equals(std::uint32_t i) const {
    const Word x = words[i];
    if (i + 1 == n || words[i + 1] != x) return i;
    return static_cast<std::uint32_t>((x == unused ? n : first_not_below(words, i, n, static_cast<Word>(x + 1))) - 1);
  }
  ESPALIER_INLINE void split() const {
    for (std::uint32_t s = threads.rank(); s < made * N; s += threads.size()) {
      const std::uint32_t q = s / N, slot = s % N, i = element_of(a.nodes_before, q);
      const group g = group_at(i);
      const std::uint32_t r = q - a.nodes_before[i] + (g.replaced ? 0 : 1), begin = r * g.per;
      const std::uint32_t count = g.total - begin < g.per ? g.total - begin : g.per;
      const node to = at(number(q));
      Word key = unused;
      value v{};
      if (slot < count) {
        const origin o = element(g, begin + slot);
        key = o.key;
        if constexpr (shape::value_bytes != 0) v = o.is_old ? load_relaxed(g.old.values() + o.at) : value_of(o.at);
      }
      store_relaxed(to.keys() + slot, key);
      if constexpr (shape::value_bytes != 0) store_relaxed(to.values() + slot, v);
      if (slot != 0) continue;
      node_head<Word> h = g.head;
      h.count = count;
      h.level = level;
      if (r + 1 != g.nodes) {
        h.right = number(q + 1);
        h.high = static_cast<Word>(element(g, begin + g.per).key - 1);
      }
      store_relaxed(to.version(), std::uint32_t{0});
      store_head(to, h);
    }
  }
  static ESPALIER_INLINE void store_head(node to, const node_head<Word>& h) {
    store_relaxed(to.info(), h.info());
    store_relaxed(to.right(), h.right);
    store_relaxed(to.high(), h.high);
  }

  // ---- change ----------------------------------------------------------------------------------------------------
  ESPALIER_INLINE void change() const {
    for (std::uint32_t i = threads.rank(); i < n; i += threads.size()) {
      if (!is_last_of_group(i) || a.many[i] == 0) continue;
      const group g = group_at(i);
      if (erases()) {
        erase_from(g);
      } else if (g.replaced) {
        grow(g);
      } else {
        merge_into(g, g.nodes == 1 ? no_node : number(a.nodes_before[i]));
      }
    }
  }

 private:
  struct old_elements {
    Word keys[N];
    value values[N];
  };
  /// By units of 16 bytes: a load per slot made this the longest step of a batch of 4,096 keys.
  struct alignas(16) unit {
    std::uint64_t low, high;
  };
  template <class X>
  static ESPALIER_INLINE void load_all(const X* from, X* to) {
    static_assert(N * sizeof(X) % sizeof(unit) == 0);
    for (unsigned k = 0; k < N * sizeof(X) / sizeof(unit); ++k) {
      const unit u = load_relaxed(reinterpret_cast<const unit*>(from) + k);
      memcpy(reinterpret_cast<std::byte*>(to) + k * sizeof(unit), &u, sizeof(unit));
    }
  }
  static ESPALIER_INLINE void load(const group& g, old_elements& old) {
    load_all(g.old.keys(), old.keys);
    if constexpr (shape::value_bytes != 0) load_all(g.old.values(), old.values);
  }
  static ESPALIER_INLINE void put(const group& g, std::uint32_t slot, Word key, [[maybe_unused]] const value& v) {
    store_relaxed(g.old.keys() + slot, key);
    if constexpr (shape::value_bytes != 0) store_relaxed(g.old.values() + slot, v);
  }
  ESPALIER_INLINE void merge_into(const group& g, node_id right) const {
    const std::uint32_t keep = g.nodes == 1 ? g.total : g.per;
    node_head<Word> h = g.head;
    h.count = keep;
    if (g.nodes != 1) {
      h.right = right;
      h.high = static_cast<Word>(element(g, keep).key - 1);
    }
    std::uint32_t o = old_before(g, keep), m = keep - o;
    old_elements old;
    load(g, old);
    for (std::uint32_t s = keep; m != 0; --s) {
      if (o != 0 && a.moved[g.first + m - 1] < old.keys[o - 1]) {
        --o;
        put(g, s - 1, old.keys[o], old.values[o]);
      } else {
        --m;
        put(g, s - 1, a.moved[g.first + m], value_of(g.first + m));
      }
    }
    for (std::uint32_t s = keep; s < g.head.count; ++s) put(g, s, unused, value{});
    store_head(g.old, h);
  }
  ESPALIER_INLINE void erase_from(const group& g) const {
    std::uint32_t erased = 0;
    for (std::uint32_t m = 0; m < g.many; ++m) erased |= 1u << (a.marks[a.from[g.first + m]] & marks::slot);
    old_elements old;
    load(g, old);
    std::uint32_t kept = 0;
    for (std::uint32_t s = 0; s < g.head.count; ++s) {
      if ((erased >> s & 1) != 0) continue;
      if (s != kept) put(g, kept, old.keys[s], old.values[s]);
      ++kept;
    }
    for (std::uint32_t s = kept; s < g.head.count; ++s) put(g, s, unused, value{});
    node_head<Word> h = g.head;
    h.count = kept;
    store_head(g.old, h);
  }
  /// All elements of the root have moved to new nodes; it is one level higher and still empty.
  ESPALIER_INLINE void grow(const group& g) const {
    for (unsigned s = 0; s < N; ++s) put(g, s, unused, value{});
    node_head<Word> h = g.head;
    h.count = 0;
    h.level = level + 1;
    store_head(g.old, h);
  }

 public:
  // ---- post ------------------------------------------------------------------------------------------------------
  /// Lists the separators of posted nodes for the level above.
  ESPALIER_INLINE void list_posts(Word* lows, node_id* ids) const {
    for (std::uint32_t k = threads.rank(); k < posts; k += threads.size()) {
      const std::uint32_t i = element_of(a.posts_before, k);
      const node_id id = number(a.nodes_before[i] + posted_node(k - a.posts_before[i], a.marks[i]));
      ids[k] = id;
      lows[k] = load_relaxed(at(id).keys());
    }
  }
};

/// Runs all steps in each of some threads. Threads: rank() < size(); sync(), at which all threads meet and after which
/// they see what each wrote before; sum_before(x, all), the combination of the x of lower ranks, where the threads meet
/// too; sort(words, place, n); and `team`, the team that one thread is.
template <class Threads, class View>
struct small_batch_steps;

template <class Threads, class Word, unsigned V, unsigned N>
struct small_batch_steps<Threads, blink_view<Word, V, N>> {
  using view = blink_view<Word, V, N>;
  using shape = typename view::leaf_shape;
  using job_type = small_batch_job<view>;
  using arrays = small_batch_arrays<Word>;
  using marks = small_batch_marks;
  using team = typename Threads::team;
  using writer = blink_writer<team, racing_reads, false, view>;
  using descent = descender<team, racing_reads, view>;
  using leaf_reader = node_reader<team, own_reads, shape>;
  using inner_reader = node_reader<team, own_reads, typename view::inner_shape>;

  const Threads& threads;
  const job_type& job;
  arrays a;
  const std::uint32_t* place = nullptr;

  ESPALIER_INLINE small_batch_steps(const Threads& of, const job_type& what)
      : threads(of), job(what), a(what.scratch, what.n) {}

  ESPALIER_INLINE void run() {
    if (!order()) return finish(small_batch_outcome::unordered, 0, 0, 0);
    small_batch_level<Threads, view, true> leaves{threads, job, a, 0, job.n, a.words, nullptr, place};
    locate();
    threads.sync();
    if (job.op == write_op::update) {
      assign();
      return finish(small_batch_outcome::done, 0, 0, 0);
    }
    leaves.count();
    if (!leaves.take()) return finish(small_batch_outcome::no_room, 0, 0, 0);
    assign();
    if (V != 0 && job.op == write_op::insert_or_assign) threads.sync();
    if (leaves.made != 0) {
      leaves.split();
      threads.sync();
    }
    if (leaves.moves != 0) leaves.change();
    if (leaves.posts != 0) leaves.list_posts(a.lows[0], a.children[0]);
    std::uint32_t posts = leaves.posts;
    for (std::uint32_t level = 1; posts != 0; ++level) posts = post(level, posts);
    const std::uint64_t change = job.op == write_op::erase ? 0 - std::uint64_t{leaves.moves} : leaves.moves;
    finish(small_batch_outcome::done, change, leaves.made, leaves.posts);
  }

 private:
  [[nodiscard]] ESPALIER_INLINE Word word_at(std::uint32_t i) const {
    return encode_bits(job.tree.key, load_bits<Word>(job.tree.key, job.keys, i));
  }
  /// Returns false if the batch is declined.
  [[nodiscard]] ESPALIER_INLINE bool order() {
    small_batch_counts falls, all;
    for (std::uint32_t i = threads.rank(); i < job.n; i += threads.size()) {
      const Word x = word_at(i);
      a.words[i] = x;
      if (i != 0 && x < word_at(i - 1)) falls.nodes = 1;
    }
    threads.sum_before(falls, all);
    if (all.nodes == 0) return true;
    if (!job.sorts) return false;
    threads.sort(a.words, a.place, job.n);
    threads.sync();
    place = a.place;
    return true;
  }
  ESPALIER_INLINE void locate() const {
    const view& t = job.tree;
    for (std::uint32_t i = threads.rank(); i < job.n; i += threads.size()) {
      const Word x = a.words[i];
      auto w = writer::walk_from(t, descent::leaf(team{}, t, x));
      for (;;) {
        const auto node = t.leaf(w.id);
        const auto seen = leaf_reader::look(team{}, node);
        const auto h = leaf_reader::head(team{}, node, seen);
        if (!h.dead && x <= h.high) {
          const auto p = leaf_reader::rank(team{}, node, seen, x);
          judge(i, x, p.slot, p.equal && p.slot < h.count, w.asked && t.lane.size != 0);
          break;
        }
        writer::go_on(team{}, t, h, w, x);
      }
      a.nodes[i] = w.id;
    }
  }
  ESPALIER_INLINE void judge(std::uint32_t i, Word x, unsigned slot, bool present, bool in_chain) const {
    const bool is_first = i == 0 || a.words[i - 1] != x;
    const bool moves = is_first && job.op != write_op::update && present == (job.op == write_op::erase);
    a.marks[i] = static_cast<std::uint8_t>(slot | (moves ? marks::moves : 0u) | (present ? marks::present : 0u) |
                                           (in_chain ? marks::in_chain : 0u));
  }
  /// Writes values of present keys, the last one of equal keys, and the results.
  ESPALIER_INLINE void assign() const {
    const bool assigns = V != 0 && (job.op == write_op::insert_or_assign || job.op == write_op::update);
    if (!assigns && job.done == nullptr) return;
    const std::uint8_t counts = job.op == write_op::update ? marks::present : marks::moves;
    for (std::uint32_t i = threads.rank(); i < job.n; i += threads.size()) {
      const std::uint32_t at = place == nullptr ? i : place[i];
      const std::uint8_t mark = a.marks[i];
      if (job.done != nullptr) job.done[at] = (mark & counts) != 0 ? 1 : 0;
      if constexpr (V != 0) {
        const bool is_last = i + 1 == job.n || a.words[i + 1] != a.words[i];
        if (assigns && is_last && (mark & marks::present) != 0)
          store_relaxed(job.tree.leaf(a.nodes[i]).values() + (mark & marks::slot),
                        load_value<V>(job.tree.value_bytes, job.values, at));
      }
    }
  }
  /// Merges n separators into the nodes of an inner level. Returns how many are to be posted one level higher.
  [[nodiscard]] ESPALIER_INLINE std::uint32_t post(std::uint32_t level, std::uint32_t n) const {
    threads.sync();  // the arrays of the level below are not read any more
    const unsigned now = level % 2 == 1 ? 0 : 1;
    small_batch_level<Threads, view, false> inner{threads, job, a, level, n, a.lows[now], a.children[now], nullptr};
    for (std::uint32_t i = threads.rank(); i < n; i += threads.size()) {
      const Word x = a.lows[now][i];
      const node_id id = descent::by_nodes(team{}, job.tree, x, level).id;
      const auto node = job.tree.inner(id);
      const auto seen = inner_reader::look(team{}, node);
      const auto p = inner_reader::rank(team{}, node, seen, x);
      const bool present = p.equal && p.slot < inner_reader::head(team{}, node, seen).count;
      a.nodes[i] = id;
      a.marks[i] = static_cast<std::uint8_t>(p.slot | (present ? marks::present : marks::moves));
    }
    threads.sync();
    inner.count();
    if (!inner.take()) return 0;
    if (inner.made != 0) {
      inner.split();
    }
    threads.sync();
    if (inner.moves != 0) inner.change();
    if (inner.posts != 0) inner.list_posts(a.lows[1 - now], a.children[1 - now]);
    return inner.posts;
  }
  ESPALIER_INLINE void finish(small_batch_outcome outcome, std::uint64_t change, std::uint32_t made,
                              std::uint32_t posts) const {
    if (threads.rank() != 0) return;
    if (job.declined != nullptr) *job.declined = outcome == small_batch_outcome::done ? 0 : 1;
    small_batch_result r;
    r.outcome = outcome;
    r.leaves = made;
    r.posts = posts;
    r.change = change;
    r.leaf_tickets = atomic_word_ref{&job.tree.leaves.state->tickets}.load_relaxed();
    r.inner_tickets = atomic_word_ref{&job.tree.inners.state->tickets}.load_relaxed();
    *job.result = r;
  }
};

}  // namespace espalier::detail
