// bulk_runs.hpp - merges the slices of heavy leaves (bulk.hpp): the parallelism follows the elements and the output
// nodes, so that one leaf may receive any share of the batch.
//
// A *run* is a heavy leaf with its slice. Runs are numbered h, their elements e (over all runs), the output nodes of a
// run k. Output node 0 is the old leaf itself; it is written last, because the other nodes of the run read the old
// elements from it. Old elements only move towards the end, so node 0 is written from its last chunk to its first one.
#pragma once

#include "blink_tree/bulk.hpp"

namespace espalier::detail {

template <class View>
struct leaf_runs {
  using batch = bulk_batch<View>;
  using shape = typename batch::shape;
  using word = typename batch::word;
  using value = typename batch::value;

  batch b;
  std::uint64_t runs;
  const std::uint64_t* elements;  ///< runs + 1 entries: elements of the runs before h
  /// elements + 1 entries: whether the key of element e is new; scanned: number of new ones before e.
  std::uint64_t* moved;
  std::uint64_t* more;    ///< runs + 1 entries: new nodes of run h; scanned: of the runs before h
  const word* new_words;  ///< the new elements of all runs, in key order within each run
  const value* new_values;

  [[nodiscard]] ESPALIER_INLINE std::uint64_t leaf_of(std::uint64_t h) const { return b.heavy.leaves[h]; }
  [[nodiscard]] ESPALIER_INLINE std::uint64_t run_of_element(std::uint64_t e) const {
    return last_not_above(elements, e);
  }
  [[nodiscard]] ESPALIER_INLINE std::uint64_t run_of_node(std::uint64_t g) const { return last_not_above(more, g); }
  /// Returns the position of element e of run h in the sorted batch.
  [[nodiscard]] ESPALIER_INLINE std::uint64_t position(std::uint64_t h, std::uint64_t e) const {
    return b.cuts[leaf_of(h)] + (e - elements[h]);
  }
  [[nodiscard]] ESPALIER_INLINE std::uint32_t added(std::uint64_t h) const {
    return static_cast<std::uint32_t>(moved[elements[h + 1]] - moved[elements[h]]);
  }

 private:
  /// Returns the last h with starts[h] <= x; starts[0] is 0, and x is below starts[runs].
  [[nodiscard]] ESPALIER_INLINE std::uint64_t last_not_above(const std::uint64_t* starts, std::uint64_t x) const {
    std::uint64_t low = 0, high = runs;
    while (high - low > 1) {
      const std::uint64_t middle = low + (high - low) / 2;
      if (starts[middle] <= x) {
        low = middle;
      } else {
        high = middle;
      }
    }
    return low;
  }
};

/// Lists every leaf with a slice as a run, where the steps for light leaves are not used.
template <class View>
struct list_run {
  bulk_batch<View> b;
  ESPALIER_HD void operator()(std::size_t j) const {
    b.new_nodes[j] = 0;
    const std::uint32_t n = b.cuts[j + 1] - b.cuts[j];
    if (n != 0) b.heavy.add(j, n);
  }
};
/// Writes the entries of the other leaves in the list of leaves after the merge.
template <class Team, class View>
struct list_untouched {
  bulk_batch<View> b;
  ESPALIER_HD void operator()(std::size_t j) const {
    if (b.cuts[j + 1] == b.cuts[j]) b.list_unchanged(Team{}, j);
  }
};

/// Bodies over elements of runs process neighbours together, because they share the search for their run: thousands on
/// a CPU, this number in a GPU thread.
inline constexpr std::size_t run_elements = 4;
/// Calls the body for piece i of [0, n).
template <class Body>
struct by_pieces {
  Body body;
  std::size_t n;
  ESPALIER_HD void operator()(std::size_t i) const {
    const std::size_t first = i * run_elements;
    body(first, first + run_elements < n ? first + run_elements : n);
  }
};
template <class Context, class Body>
void for_each_element_of_runs(Context& context, std::size_t n, const Body& body) {
  if constexpr (Context::on_gpu) {
    context.for_each((n + run_elements - 1) / run_elements, by_pieces<Body>{body, n});
  } else {
    context.for_each(n, body);
  }
}

/// `Team` is one thread. Writes the caller's results and marks new elements; the tree is not changed.
template <class Team, class View>
struct judge_elements {
  using runs_type = leaf_runs<View>;
  using shape = typename runs_type::shape;
  using reader = node_reader<Team, stable_reads, shape>;
  runs_type r;

  /// Both the leaf and the slice ascend.
  ESPALIER_HD void operator()(std::size_t first, std::size_t last) const {
    for (std::size_t e = first; e < last;) {
      const std::uint64_t h = r.run_of_element(e);
      const std::size_t end = r.elements[h + 1] < last ? r.elements[h + 1] : last;
      const auto node = r.b.tree.leaf(r.b.id_of(r.leaf_of(h)));
      const auto head = reader::head(Team{}, node, reader::look(Team{}, node));
      std::uint64_t i = r.position(h, e);
      unsigned slot = reader::rank(Team{}, node, reader::look(Team{}, node), r.b.words[i]).slot;
      for (; e < end; ++e, ++i) {
        while (slot < head.count && node.keys()[slot] < r.b.words[i]) ++slot;
        answer(e, i, slot < head.count && node.keys()[slot] == r.b.words[i]);
      }
    }
  }

 private:
  ESPALIER_INLINE void answer(std::size_t e, std::uint64_t i, bool present) const {
    const auto v = r.b.judge(i, present);
    r.moved[e] = v.moves ? 1 : 0;
    if (r.b.done != nullptr && v.done) r.b.done[r.b.place_of(i)] = 1;
  }
};

/// Runs after the scan of `moved`.
template <class View>
struct count_run {
  leaf_runs<View> r;
  ESPALIER_HD void operator()(std::size_t h) const {
    const std::uint64_t j = r.leaf_of(h);
    node_head<typename View::leaf_shape::word> head;
    head.set_info(*r.b.tree.leaf(r.b.id_of(j)).info());
    const std::uint32_t change = r.added(h);
    const auto p = r.b.plan_of(j, head.count, change);
    r.more[h] = p.nodes - 1;
    r.b.new_nodes[j] = r.b.encode(p, change);
  }
};

template <class View>
struct gather_elements {
  leaf_runs<View> r;
  typename leaf_runs<View>::word* words;
  typename leaf_runs<View>::value* values;
  ESPALIER_HD void operator()(std::size_t first, std::size_t last) const {
    for (std::size_t e = first; e < last;) {
      const std::uint64_t h = r.run_of_element(e);
      const std::size_t end = r.elements[h + 1] < last ? r.elements[h + 1] : last;
      for (std::uint64_t i = r.position(h, e); e < end; ++e, ++i) {
        const std::uint64_t to = r.moved[e];
        if (r.moved[e + 1] == to) continue;
        words[to] = r.b.words[i];
        if constexpr (View::leaf_shape::value_bytes != 0) values[to] = r.b.value_of_run(i);
      }
    }
  }
};

/// One team per run: assigns values of the slice to keys that the leaf has too. Runs before anything is moved.
template <class View>
struct assign_run {
  leaf_runs<View> r;
  template <class Team>
  ESPALIER_INLINE void operator()(Team team, std::size_t h) const {
    const std::uint64_t j = r.leaf_of(h);
    const auto node = r.b.tree.leaf(r.b.id_of(j));
    node_head<typename View::leaf_shape::word> head;
    head.set_info(*node.info());
    for (unsigned s = team.lane(); s < head.count; s += Team::lanes()) {
      const std::uint64_t i = first_not_below(r.b.words, r.b.cuts[j], r.b.cuts[j + 1], node.keys()[s]);
      if (i == r.b.cuts[j + 1] || r.b.words[i] != node.keys()[s]) continue;
      if constexpr (View::leaf_shape::value_bytes != 0) node.values()[s] = r.b.value_of_last(i);
    }
  }
};

/// One team per run: erases keys of the leaf that the slice has.
template <class View>
struct erase_run {
  using shape = typename View::leaf_shape;
  using word = typename shape::word;
  using value = typename shape::value;
  leaf_runs<View> r;
  template <class Team>
  ESPALIER_INLINE void operator()(Team team, std::size_t h) const {
    const std::uint64_t j = r.leaf_of(h);
    r.b.list_unchanged(team, j);
    if (r.added(h) == 0) return;
    const auto node = r.b.tree.leaf(r.b.id_of(j));
    node_head<word> head;
    head.set_info(team.once([&] { return *node.info(); }));
    for (unsigned base = 0; base < head.count; base += shape::chunk) {
      const auto keys = team.template load_relaxed<shape::chunk>(node.keys() + base);
      const auto values = team.template load_relaxed<shape::chunk>(node.values() + base);
      team.sync();  // the whole chunk is in registers before any of it is overwritten
      team.for_slots(keys, 0, head.count - base < shape::chunk ? head.count - base : shape::chunk,
                     [&](unsigned i, word key) {
                       unsigned to;
                       if (!target(h, j, base + i, key, to)) return;
                       node.keys()[to] = key;
                       if constexpr (shape::value_bytes != 0) node.values()[to] = team.own(values, i);
                     });
      team.sync();
    }
    const unsigned kept = head.count - r.added(h);
    for (unsigned s = kept + team.lane(); s < head.count; s += Team::lanes())
      node.keys()[s] = static_cast<word>(~word{0});
    head.count = kept;
    team.once([&] { *node.info() = head.info(); });
  }

 private:
  /// Computes the target of the element in slot s; returns false if it is erased.
  ESPALIER_INLINE bool target(std::uint64_t h, std::uint64_t j, unsigned s, word key, unsigned& to) const {
    const std::uint32_t begin = r.b.cuts[j], end = r.b.cuts[j + 1];
    const std::uint64_t i = first_not_below(r.b.words, begin, end, key);
    const std::uint64_t first = r.elements[h];
    to = s - static_cast<unsigned>(r.moved[first + (i - begin)] - r.moved[first]);
    return i == end || r.b.words[i] != key;
  }
};

/// Writes the output nodes of inserts.
template <class View>
struct node_maker {
  using runs_type = leaf_runs<View>;
  using batch = typename runs_type::batch;
  using shape = typename runs_type::shape;
  using word = typename runs_type::word;
  using value = typename runs_type::value;
  runs_type r;

  /// Writes node k of run h, whose leaf has the header `old`.
  template <class Team>
  ESPALIER_INLINE void write(Team team, std::uint64_t h, std::uint32_t k, const node_head<word>& old) const {
    const std::uint64_t j = r.leaf_of(h);
    const merge_path from{r.b.tree.leaf(r.b.id_of(j)).keys(), old.count, r.new_words + r.moved[r.elements[h]],
                          r.added(h)};
    const auto p = r.b.plan_of(j, old.count, from.added);
    const std::uint32_t first = k * p.per;
    const std::uint32_t count = p.total - first < p.per ? p.total - first : p.per;
    const std::uint32_t old_first = from.old_before(first), old_end = from.old_before(first + count);
    const auto to = r.b.node_of(j, k);
    word high = old.high;
    if (k + 1 != p.nodes) high = from.key(first + count - 1, old_end);
    if (old_first == old_end) {
      copy_new(team, to, from.new_keys + (first - old_first),
               shape::value_bytes == 0 ? nullptr : r.new_values + r.moved[r.elements[h]] + (first - old_first), count);
      return finish(team, j, k, p, old, to, count, high);
    }
    for (unsigned base = (shape::slots - 1) / shape::chunk * shape::chunk;; base -= shape::chunk) {
      // For each chunk: the sources, then their contents, then the stores.
      const auto sources = team.template make<shape::chunk>([&](unsigned s) {
        const std::uint32_t at = base + s;
        return at < count ? from.source(first + at, old_first, old_end) : merge_path::unused;
      });
      const auto keys = team.map(sources, [&](std::uint32_t source) {
        return source == merge_path::unused ? static_cast<word>(~word{0}) : from.key_of(source);
      });
      if constexpr (shape::value_bytes != 0) {
        const value* old_values = r.b.tree.leaf(r.b.id_of(j)).values();
        const value* new_values = r.new_values + r.moved[r.elements[h]];
        const auto values = team.map(sources, [&](std::uint32_t source) {
          if (source == merge_path::unused) return value{};
          return source < merge_path::most_old ? old_values[source] : new_values[source - merge_path::most_old];
        });
        team.sync();  // the whole chunk is read before any of the leaf is overwritten
        team.store(to.values() + base, values);
      }
      team.sync();
      team.store(to.keys() + base, keys);
      team.sync();
      if (base == 0) break;
    }
    finish(team, j, k, p, old, to, count, high);
  }

 private:
  /// Handles most nodes of a long run, which have only new elements, stored contiguously.
  template <class Team>
  static ESPALIER_INLINE void copy_new(Team team, node_at<shape> to, const word* keys,
                                       [[maybe_unused]] const value* values, unsigned count) {
    for (unsigned base = 0; base < shape::slots; base += shape::chunk) {
      team.store(to.keys() + base, team.template make<shape::chunk>([&](unsigned s) {
        return base + s < count ? keys[base + s] : static_cast<word>(~word{0});
      }));
      if constexpr (shape::value_bytes != 0) {
        team.store(to.values() + base, team.template make<shape::chunk>(
                                           [&](unsigned s) { return base + s < count ? values[base + s] : value{}; }));
      }
    }
  }
  template <class Team>
  ESPALIER_INLINE void finish(Team team, std::uint64_t j, std::uint32_t k, const typename batch::plan& p,
                              const node_head<word>& old, node_at<shape> to, std::uint32_t count, word high) const {
    team.once([&] {
      node_head<word> head = old;
      head.count = count;
      head.high = high;
      if (k + 1 != p.nodes) head.right = r.b.number_of(j, k + 1);
      if (k != 0) *to.version() = 0;
      *to.info() = head.info();
      *to.right() = head.right;
      *to.high() = head.high;
      if (r.b.after_ids != nullptr) r.b.list(j, k, r.b.number_of(j, k), high);
    });
  }

  /// The merged sequence of a leaf's keys and of the new keys of its slice; no key is in both.
  struct merge_path {
    const word* old_keys;
    std::uint32_t old;
    const word* new_keys;
    std::uint32_t added;

    /// A source is a slot of the old leaf, or most_old + the number of a new element.
    static constexpr std::uint32_t most_old = shape::slots, unused = ~std::uint32_t{0};

    /// Returns how many of the first `at` keys are old ones.
    [[nodiscard]] ESPALIER_INLINE std::uint32_t old_before(std::uint32_t at) const {
      std::uint32_t low = at > added ? at - added : 0, high = at < old ? at : old;
      // Most nodes of a long run lie completely before or after the old keys.
      if (low < high && old_keys[high - 1] < new_keys[at - high]) return high;
      while (low < high) {
        const std::uint32_t middle = (low + high) / 2;
        if (old_keys[middle] < new_keys[at - 1 - middle]) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      return low;
    }
    /// Returns the source of the key at position `at` of a node with the old keys [old_first, old_end).
    [[nodiscard]] ESPALIER_INLINE std::uint32_t source(std::uint32_t at, std::uint32_t old_first,
                                                       std::uint32_t old_end) const {
      if (old_first == old_end) return most_old + (at - old_first);
      const std::uint32_t before = old_before(at);
      const bool is_old = before < old && (at - before == added || old_keys[before] < new_keys[at - before]);
      return is_old ? before : most_old + (at - before);
    }
    [[nodiscard]] ESPALIER_INLINE word key_of(std::uint32_t source) const {
      return source < most_old ? old_keys[source] : new_keys[source - most_old];
    }
    /// Returns the key at the last position of a node, with old_end old keys up to and including it.
    [[nodiscard]] ESPALIER_INLINE word key(std::uint32_t at, std::uint32_t old_end) const {
      const std::uint32_t new_end = at + 1 - old_end;
      if (new_end == 0) return old_keys[old_end - 1];
      if (old_end == 0) return new_keys[new_end - 1];
      const word a = old_keys[old_end - 1], c = new_keys[new_end - 1];
      return a < c ? c : a;
    }
  };
};

/// Writes new node g of all runs, by one team.
template <class View>
struct write_new_node {
  node_maker<View> make;
  template <class Team>
  ESPALIER_INLINE void operator()(Team team, std::size_t g) const {
    const std::uint64_t h = make.r.run_of_node(g);
    const auto leaf = make.r.b.tree.leaf(make.r.b.id_of(make.r.leaf_of(h)));
    make.write(team, h, static_cast<std::uint32_t>(g - make.r.more[h] + 1),
               node_reader<Team, own_reads, typename View::leaf_shape>::head_alone(team, leaf));
  }
};
/// Writes the leaf of run h itself, by one team, after all new nodes.
template <class View>
struct write_first_node {
  node_maker<View> make;
  template <class Team>
  ESPALIER_INLINE void operator()(Team team, std::size_t h) const {
    const auto leaf = make.r.b.tree.leaf(make.r.b.id_of(make.r.leaf_of(h)));
    const auto head = node_reader<Team, own_reads, typename View::leaf_shape>::head_alone(team, leaf);
    team.sync();  // every lane has read the header before one of them changes it
    make.write(team, h, 0, head);
  }
};

}  // namespace espalier::detail
