// read.hpp - read operations: find, seek, scan. One implementation for every team and kind of reads.
//
// Each leaf is read atomically: values read from it are used only if its version did not change.
#if defined(ESPALIER_BLINK_TREE_READ_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef ESPALIER_BLINK_TREE_READ_HPP
#undef ESPALIER_BLINK_TREE_READ_HPP
#else
#define ESPALIER_BLINK_TREE_READ_HPP
#endif

#include <utility>

#include "espalier/blink_tree/descend.hpp"
#include "espalier/team/multi_target.hpp"

ESPALIER_BEGIN_TARGET_NAMESPACE

template <class Team, class Reads, class View>
struct blink_reader;

template <class Team, class Reads, class Word, unsigned V, unsigned N>
struct blink_reader<Team, Reads, blink_view<Word, V, N>> {
  using view = blink_view<Word, V, N>;
  using shape = typename view::leaf_shape;
  using value = typename shape::value;
  using reader = node_reader<Team, Reads, shape>;
  using descent = descender<Team, typename Reads::plain, view>;
  using latch = traced_latch<typename Reads::latch>;
  static constexpr Word largest = static_cast<Word>(~Word{0});

  /// A leaf of a search: its address, its header, and the version under which the header was read.
  struct position {
    node_at<shape> node;
    node_id id;
    std::uint32_t version;
    decltype(reader::look(std::declval<Team>(), std::declval<node_at<shape>>())) seen;
    node_head<Word> head;
  };
  static ESPALIER_INLINE auto rank(Team team, const position& p, Word x) {
    return reader::rank(team, p.node, p.seen, x);
  }
  static ESPALIER_INLINE bool valid(Team team, const position& p) {
    return latch::read_valid(team, trace::leaf(p.id), p.node.version(), p.version);
  }
  static ESPALIER_INLINE position look(Team team, const view& t, node_id id) {
    const auto node = t.leaf(id);
    const std::uint32_t version = latch::read_begin(team, node.version());
    const auto seen = reader::look(team, node);
    note(team, trace::reach(trace::leaf(id)));
    return {node, id, version, seen, reader::head(team, node, seen)};
  }
  static ESPALIER_INLINE bool covers(const position& p, Word x) { return !p.head.dead && x <= p.head.high; }
  /// Number of right links that are followed before the inner nodes are consulted, where writers post leaves of long
  /// chains: leaves that the inner levels do not name yet cost a few steps, not the whole chain.
  static constexpr unsigned max_right_links = 4;
  static constexpr bool asks = Team::batch > 1 || Reads::kernels_ask;
  /// True after 4, 8, 16, ... links. Inner levels may name a dead leaf, whose link leads back to the left. The distance
  /// grows before they are consulted again, so that no search loops forever.
  [[nodiscard]] static ESPALIER_INLINE bool is_far(unsigned links) {
    return links >= max_right_links && (links & (links - 1)) == 0;
  }
  /// Moves from a leaf at or to the left of x to the leaf that covers x.
  static ESPALIER_INLINE position move_right(Team team, const view& t, node_id id, Word x) {
    for ([[maybe_unused]] unsigned links = 0;;) {
      const position p = look(team, t, id);
      if (covers(p, x)) return p;  // the caller validates this together with what it reads
      if (!valid(team, p)) continue;
      id = p.head.right;
      if constexpr (asks) {
        if (is_far(++links)) id = further(team, t, p.head.high, id, x);
      }
    }
  }
  /// Consults the inner nodes. `next` is right of a leaf that ends at `high`, below x; returns `next` or a leaf further
  /// right.
  static ESPALIER_COLD node_id further(Team team, const view& t, Word high, node_id next, Word x) {
    const auto start = descent::by_nodes(team, t, x, 0);
    return start.low > high ? start.id : next;
  }

  // ---- find ------------------------------------------------------------------------------------------------
  static ESPALIER_INLINE bool find_from(Team team, const view& t, node_id start, Word x, value& out) {
    for (;;) {
      const position p = move_right(team, t, start, x);
      const auto place = rank(team, p, x);
      const bool found = place.equal && place.slot < p.head.count;
      value v{};
      if (found) v = Reads::one(p.node.values() + place.slot);
      if (valid(team, p)) {
        if (found) out = v;
        return found;
      }
      start = p.id;
    }
  }
  static ESPALIER_INLINE bool find(Team team, const view& t, Word x, value& out) {
    return find_from(team, t, descent::leaf(team, t, x), x, out);
  }

  /// The same for n keys at once: on a CPU the reads of one key need not wait for those of the previous one. Calls
  /// ahead(j) between them, and answer(j, found, value) afterwards.
  template <unsigned Most, class Ahead, class Answer>
  static ESPALIER_INLINE void find_each(Team team, const view& t, const node_id* start, const Word* x, unsigned n,
                                        Ahead ahead, Answer answer) {
    std::uint32_t version[Most];
    bool seen[Most], found[Most];
    value v[Most];
    node_at<shape> nodes[Most];
    for (unsigned j = 0; j < n; ++j) {
      nodes[j] = t.leaf(start[j]);
      version[j] = Reads::latch::peek_version(nodes[j].version());
    }
    fence_acquire();
    for (unsigned j = 0; j < n; ++j) {
      ahead(j);
      const auto node = nodes[j];
      const auto what = reader::look(team, node);
      const auto head = reader::head(team, node, what);
      const unsigned slot = reader::slot(team, node, what, x[j]);
      const unsigned at = slot < shape::slots ? slot : 0;
      seen[j] = (version[j] & 1) == 0 && !head.dead && x[j] <= head.high;
      found[j] = slot < head.count && Reads::one(node.keys() + at) == x[j];
      v[j] = Reads::one(node.values() + at);
    }
    fence_acquire();
    for (unsigned j = 0; j < n; ++j) {
      if (!seen[j] || Reads::latch::peek_version(nodes[j].version()) != version[j]) {
        v[j] = value{};
        found[j] = find_from(team, t, start[j], x[j], v[j]);
      }
      answer(j, found[j], found[j] ? v[j] : value{});
    }
  }

  // ---- one element at or beyond a key ------------------------------------------------------------------------
  struct element {
    Word key{};
    value v{};
  };
  /// Finds the first element with a key >= x.
  static ESPALIER_HD bool at_or_after(Team team, const view& t, Word x, element& out) {
    return at_or_after_from(team, t, descent::leaf(team, t, x), x, out);
  }
  static ESPALIER_INLINE bool at_or_after_from(Team team, const view& t, node_id id, Word x, element& out) {
    for (;;) {
      const position p = move_right(team, t, id, x);
      const auto place = rank(team, p, x);
      const bool here = place.slot < p.head.count;
      element e;
      if (here) e = {Reads::one(p.node.keys() + place.slot), Reads::one(p.node.values() + place.slot)};
      id = p.id;
      if (!valid(team, p)) continue;
      if (here) {
        out = e;
        return true;
      }
      if (p.head.high == largest) return false;
      x = static_cast<Word>(p.head.high + 1);
      id = p.head.right;
    }
  }
  /// Finds the last element with a key <= x. Links lead only to the right: if a start leaf has nothing at or before x,
  /// the search continues from a start further to the left.
  static ESPALIER_HD bool at_or_before(Team team, const view& t, Word x, element& out) {
    for (;;) {
      auto start = descent::leaf_and_low(team, t, x);
      if (last_up_to(team, t, start, x, out)) return true;
      if (start.low == 0) return false;
      x = static_cast<Word>(start.low - 1);
    }
  }
  /// The same among the keys from start.low on. If the search skips keys, `start` becomes the leaf behind them.
  static ESPALIER_INLINE bool last_up_to(Team team, const view& t, typename descent::start& start, Word x,
                                         element& out) {
    bool found = false;
    node_id id = start.id;
    for ([[maybe_unused]] unsigned links = 0;;) {
      const position p = look(team, t, id);
      const auto place = rank(team, p, x);
      unsigned count = place.slot + (place.equal ? 1u : 0u);
      if (count > p.head.count) count = p.head.count;
      element e;
      if (count != 0) e = {Reads::one(p.node.keys() + count - 1), Reads::one(p.node.values() + count - 1)};
      if (!valid(team, p)) continue;
      if (!p.head.dead && count != 0) {
        out = e;
        found = true;
      }
      if (!p.head.dead && x <= p.head.high) return found;
      id = p.head.right;
      if constexpr (asks) {
        if (is_far(++links)) {
          const auto next = descent::by_nodes(team, t, x, 0);
          if (next.low > p.head.high) {  // keys in between are unknown: what was found before them does not count
            start = next;
            id = next.id;
            found = false;
          }
        }
      }
    }
  }

  // ---- scans -------------------------------------------------------------------------------------------------
  /// Calls visit(keys, values, from, to) for the slots of each chunk of a leaf that hold elements with lo <= key <= hi,
  /// in key order, until it returns false.
  template <class Visit>
  static ESPALIER_HD void scan_from(Team team, const view& t, node_id id, Word lo, Word hi, Visit visit) {
    if (lo > hi) return;
    // A neighbour reached by its link, not one that a merge extended to the left.
    node_id leaf_starting_at_lo = no_node;
    for ([[maybe_unused]] unsigned links = 0;;) {
      const position p = look(team, t, id);
      if (!covers(p, lo)) {
        if (!valid(team, p)) continue;
        id = p.head.right;
        if constexpr (asks) {
          if (is_far(++links)) id = further(team, t, p.head.high, id, lo);
        }
        continue;
      }
      const bool from_first = id == leaf_starting_at_lo, to_last = p.head.high <= hi;
      unsigned base = from_first ? 0 : reader::chunk_of(p.node.keys(), lo);
      bool intact = base < p.head.count || valid(team, p);  // only the header is read here
      for (; intact && base < p.head.count; base += shape::chunk) {
        const auto keys = Reads::template slots<shape::chunk>(team, p.node.keys() + base);
        const auto values = Reads::template slots<shape::chunk>(team, p.node.values() + base);
        const unsigned used = p.head.count - base < shape::chunk ? p.head.count - base : shape::chunk;
        const unsigned from = from_first ? 0 : team.count(keys, less_than<Word>{lo});
        const unsigned to = to_last ? used : team.count(keys, at_most<Word>{hi});  // unused slots are above hi
        Word last{};
        if constexpr (shape::slots > shape::chunk) last = to == 0 ? Word{0} : team.get(keys, to - 1);
        intact = valid(team, p);
        if (!intact) break;  // lo is the first key not yet visited: read again from there
        if (from < to) {
          if (!visit(keys, values, from, to)) return;
          if constexpr (shape::slots > shape::chunk) {
            if (last == largest) return;
            lo = static_cast<Word>(last + 1);
            leaf_starting_at_lo = no_node;
          }
        }
        if (to < used) return;  // the next element is above hi
      }
      if (!intact) continue;
      if (p.head.high >= hi) return;
      lo = static_cast<Word>(p.head.high + 1);
      id = leaf_starting_at_lo = p.head.right;
    }
  }
  /// Returns the number of elements below x. `ranks` holds the number of elements before each leaf of the lane, which
  /// names all leaves. Requires that there are no concurrent writes.
  static ESPALIER_INLINE std::uint64_t rank_of(Team team, const view& t, const leaf_ranks& ranks, Word x,
                                               leaf_position& at) {
    std::uint64_t line = descent::line_of(team, t, x);
    while (t.lane.key_at(line) < x) ++line;  // the lane may lead slightly to the left
    const position p = look(team, t, descent::leaf_of_line(t, line));
    at = {static_cast<node_id>(line), rank(team, p, x).slot};
    return ranks[line] + at.slot;
  }
  /// Calls visit(keys, values, from, to) for the chunks that hold the elements of a leaf from `slot` on, out of
  /// `count`, at most n; returns the number of elements.
  template <class Visit>
  static ESPALIER_INLINE unsigned copy_leaf(Team team, node_at<shape> node, unsigned slot, unsigned count,
                                            std::uint64_t n, Visit visit) {
    unsigned base = (slot < shape::slots ? slot : shape::slots - 1) / shape::chunk * shape::chunk, copied = 0;
    do {  // elements are loaded together with the header, before their number is known
      const auto keys = Reads::template slots<shape::chunk>(team, node.keys() + base);
      const auto values = Reads::template slots<shape::chunk>(team, node.values() + base);
      const unsigned from = slot > base ? slot - base : 0;
      unsigned to = count - base < shape::chunk ? count - base : shape::chunk;
      if (to - from > n - copied) to = from + static_cast<unsigned>(n - copied);
      visit(keys, values, from, to);
      copied += to - from;
      base += shape::chunk;
    } while (base < count && copied != n);
    return copied;
  }
  /// Accesses elements by rank. Requires that there are no concurrent writes. Each lane uses its own walk, with
  /// ascending ranks.
  struct rank_walk {
    const view& t;
    const leaf_ranks& ranks;
    leaf_position start;  ///< a line of the lane and a slot
    std::uint64_t begin, line;

    ESPALIER_INLINE rank_walk(const view& tree, const leaf_ranks& known, leaf_position from)
        : t(tree), ranks(known), start(from), begin(known[from.id]), line(from.id) {}
    /// Returns element i from the start on, which must exist.
    ESPALIER_INLINE element operator()(std::uint64_t i) {
      const std::uint64_t ahead = start.slot + i;  // elements from the beginning of the first leaf on
      // A leaf has at most `slots` elements.
      if (line < start.id + ahead / shape::slots) line = start.id + ahead / shape::slots;
      std::uint64_t next = ranks[line + 1] - begin;
      while (next <= ahead) next = ranks[++line + 1] - begin;
      const unsigned slot = static_cast<unsigned>(ahead - (ranks[line] - begin));
      const auto node = t.leaf(descent::leaf_of_line(t, line));
      element e{Reads::one(node.keys() + slot), value{}};
      if constexpr (V != 0) e.v = Reads::one(node.values() + slot);
      return e;
    }
  };
  /// Calls visit(i, element) for the n elements from a position in the lane on. Neighbouring lanes take neighbouring
  /// elements; i begins `skipped` lanes later.
  template <class Visit>
  static ESPALIER_INLINE void each_by_ranks(Team team, const view& t, const leaf_ranks& ranks, leaf_position start,
                                            std::uint64_t n, unsigned skipped, Visit visit) {
    rank_walk walk(t, ranks, start);
    for (std::uint64_t i = team.lane(); i < n + skipped; i += Team::lanes()) {
      if (i >= skipped) visit(i - skipped, walk(i - skipped));
    }
  }
  /// The same for the elements that are not above hi; returns their number. There are n elements from that position on.
  template <class Visit>
  static ESPALIER_INLINE std::uint64_t each_up_to(Team team, const view& t, const leaf_ranks& ranks,
                                                  leaf_position start, Word hi, std::uint64_t n, Visit visit) {
    rank_walk walk(t, ranks, start);
    for (std::uint64_t base = 0; base < n; base += Team::lanes()) {
      const std::uint64_t i = base + team.lane();
      bool inside = i < n;
      if (inside) {
        const element e = walk(i);
        inside = e.key <= hi;
        if (inside) visit(i, e);
      }
      const unsigned count_lanes = team.count_lanes(inside);
      if (count_lanes != Team::lanes()) return base + count_lanes;
    }
    return n;
  }
  /// Calls visit(keys, values, from, to) for the chunks that contain the n elements from a slot of a leaf on. Requires
  /// that they exist and that there are no concurrent writes.
  template <class Visit>
  static ESPALIER_INLINE void copy_from(Team team, const view& t, node_id id, unsigned slot, std::uint64_t n,
                                        Visit visit) {
    while (n != 0) {
      const auto node = t.leaf(id);
      const auto h = reader::head_alone(team, node);
      n -= copy_leaf(team, node, slot, h.count, n, visit);
      id = h.right;
      slot = 0;
    }
  }
  /// Calls visit(key, value) for each element with lo <= key <= hi in key order, until it returns false.
  template <class Visit>
  static ESPALIER_HD void scan(Team team, const view& t, Word lo, Word hi, Visit visit) {
    scan_from(team, t, descent::leaf(team, t, lo), lo, hi,
              [&](const auto& keys, const auto& values, unsigned from, unsigned to) {
                for (unsigned i = from; i < to; ++i) {
                  value v{};
                  if constexpr (V != 0) v = team.get(values, i);
                  if (!visit(team.get(keys, i), v)) return false;
                }
                return true;
              });
  }

  /// Counts all elements of a leaf that begins at lo, from its header, and moves to the next leaf. Returns false if the
  /// leaf also has elements above hi, or was merged into another.
  static ESPALIER_INLINE bool skip(Team team, const view& t, node_id& id, Word& lo, Word hi, std::uint64_t& total) {
    for (;;) {
      const auto node = t.leaf(id);
      const std::uint32_t version = latch::read_begin(team, node.version());
      const auto h = reader::head_alone(team, node);
      if (!latch::read_valid(team, trace::leaf(id), node.version(), version)) continue;
      if (h.dead || h.high >= hi) return false;
      total += h.count;
      lo = static_cast<Word>(h.high + 1);
      id = h.right;
      return true;
    }
  }
  /// Returns the number of elements with lo <= key <= hi, at most `limit`. Leaves inside the range are counted from
  /// their headers. `start` receives the leaf and slot of the first element counted.
  static ESPALIER_HD std::uint64_t count_from(Team team, const view& t, node_id id, Word lo, Word hi,
                                              std::uint64_t limit, leaf_position& start) {
    if (lo > hi) return 0;
    std::uint64_t total = 0;
    bool started = false;
    // A neighbour reached by its link, not one that a merge extended to the left.
    node_id leaf_starting_at_lo = no_node;
    for (;;) {
      if constexpr (Team::view_is_register_copy) {  // if views stay in memory, reading a leaf reads only its header
        if (id == leaf_starting_at_lo && skip(team, t, id, lo, hi, total)) {
          if (total >= limit) return limit;
          leaf_starting_at_lo = id;
          continue;
        }
      }
      const position p = look(team, t, id);
      if (!covers(p, lo)) {
        if (valid(team, p)) id = p.head.right;
        continue;
      }
      unsigned begin = 0, end = p.head.count;
      if (id != leaf_starting_at_lo) begin = rank(team, p, lo).slot;
      if (p.head.high >= hi) {
        const auto last = rank(team, p, hi);
        end = last.slot + (last.equal ? 1u : 0u);
        if (end > p.head.count) end = p.head.count;
      }
      if (!valid(team, p)) continue;
      if (!started) start = {id, begin};
      started = true;
      if (end > begin) total += end - begin;
      if (p.head.high >= hi || total >= limit) return total < limit ? total : limit;
      leaf_starting_at_lo = p.head.right;
      lo = static_cast<Word>(p.head.high + 1);
      id = p.head.right;
    }
  }
};

ESPALIER_END_TARGET_NAMESPACE

#endif  // ESPALIER_BLINK_TREE_READ_HPP
