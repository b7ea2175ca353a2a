// linearizability.hpp - checks whether a recorded concurrent history of a map is linearizable, key by key.
//
// A history is an array of plain records, so that a kernel can write it as well as a thread. Linearizability is local:
// a history is linearizable if that of each key is. One key is a register that may be absent, and its history is
// searched by the algorithm of Wing and Gong, with memoised states (Lowe):
// - An operation may be next if no other unplaced operation had responded before it was invoked.
// - An operation that writes nothing and whose result is correct is placed immediately: any valid order from here on
//   remains valid with that operation moved to its front. Only writes branch.
// - Of overlapping writes, one whose value is found after all of them is tried last.
// Times are from any clock for which "responded < invoked" means "happened before"; equal times are concurrent.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "espalier/blink_tree/options.hpp"

namespace espalier::test {

/// One operation of a history.
struct recorded_op {
  std::uint64_t key;       ///< any number that identifies the key
  std::uint64_t argument;  ///< value of a write
  std::uint64_t answer;    ///< value of a successful find
  std::uint64_t invoked, responded;
  blink_op what;
  std::uint8_t done;  ///< find: found; insert, insert_or_assign: was new; update, erase: existed
};

/// The state of one key: a value, or absent.
struct map_register {
  bool there = false;
  std::uint64_t value = 0;  ///< 0 if absent
  [[nodiscard]] static map_register holding(std::uint64_t value) { return {true, value}; }
  friend auto operator<=>(const map_register&, const map_register&) = default;
};

/// Returns whether `op` has this result if the register is in this state, and advances the register if so.
[[nodiscard]] inline bool step(const recorded_op& op, map_register& state) {
  const bool there = state.there;
  const bool done = op.done != 0;
  switch (op.what) {
    case blink_op::find:
      return done == there && (!there || state.value == op.answer);
    case blink_op::insert:
      if (done == there) return false;
      if (done) state = map_register::holding(op.argument);
      return true;
    case blink_op::insert_or_assign:
      if (done == there) return false;
      state = map_register::holding(op.argument);
      return true;
    case blink_op::update:
      if (done != there) return false;
      if (done) state = map_register::holding(op.argument);
      return true;
    case blink_op::erase:
      if (done != there) return false;
      state = {};
      return true;
  }
  return false;
}

/// An assignment is a write even if the register already has the value, since later operations may depend on its time.
[[nodiscard]] inline bool writes_nothing(const recorded_op& op) {
  return op.what == blink_op::find || (op.done == 0 && op.what != blink_op::insert_or_assign);
}

[[nodiscard]] inline std::string to_string(const recorded_op& op) {
  static constexpr const char* names[] = {"find", "insert", "insert_or_assign", "update", "erase"};
  return "[" + std::to_string(op.invoked) + ", " + std::to_string(op.responded) + "] " +
         names[static_cast<unsigned>(op.what)] + "(" + std::to_string(op.argument) + ") -> " + std::to_string(op.done) +
         (op.what == blink_op::find ? ", " + std::to_string(op.answer) : std::string());
}

enum class verdict { linearizable, violated, undecided };

/// The history of one key.
class key_history {
 public:
  key_history(std::span<const recorded_op> ops, map_register before)
      : ops_(ops.begin(), ops.end()), placed_((ops.size() + 63) / 64), start_(before) {
    std::sort(ops_.begin(), ops_.end(), [](const auto& a, const auto& b) { return a.invoked < b.invoked; });
    for (const recorded_op& op : ops_) found_later_.push_back(is_found_after(op));
  }

  /// `most_states` limits the number of states that are explored.
  [[nodiscard]] verdict check(std::size_t most_states = 200'000) {
    budget_ = most_states;
    seen_.clear();
    std::fill(placed_.begin(), placed_.end(), 0);
    const bool found = search(0, 0, start_);
    return found ? verdict::linearizable : budget_ == 0 ? verdict::undecided : verdict::violated;
  }

 private:
  using bits = std::vector<std::uint64_t>;

  [[nodiscard]] bool is_placed(std::size_t i) const { return (placed_[i / 64] >> (i % 64) & 1) != 0; }
  void flip(std::size_t i) { placed_[i / 64] ^= std::uint64_t{1} << (i % 64); }

  /// Returns the unplaced operations that may be next. `first` is the first of them; all before it are placed.
  [[nodiscard]] std::vector<std::size_t> candidates(std::size_t first) const {
    std::vector<std::size_t> next;
    std::uint64_t earliest = ~std::uint64_t{0};
    for (std::size_t i = first; i < ops_.size() && ops_[i].invoked <= earliest; ++i) {
      if (is_placed(i)) continue;
      next.push_back(i);
      earliest = std::min(earliest, ops_[i].responded);
    }
    return next;
  }

  [[nodiscard]] bool is_found_after(const recorded_op& op) const {
    return std::any_of(ops_.begin(), ops_.end(), [&](const recorded_op& other) {
      return other.what == blink_op::find && other.done != 0 && other.answer == op.argument &&
             other.invoked > op.responded;
    });
  }

  /// Places operations until all are placed; reverts its own placements on failure.
  bool search(std::size_t first, std::size_t placed, map_register state) {
    std::vector<std::size_t> at_once;
    bool found = false;
    for (bool again = true; again;) {
      again = false;
      while (first < ops_.size() && is_placed(first)) ++first;
      for (const std::size_t i : candidates(first)) {
        if (!writes_nothing(ops_[i]) || !step(ops_[i], state)) continue;
        flip(i);
        at_once.push_back(i);
        again = true;
      }
    }
    placed += at_once.size();
    if (placed == ops_.size()) {
      found = true;
    } else if (budget_ != 0 && seen_.emplace(placed_, state).second) {
      --budget_;
      found = branch(first, placed, state);
    }
    if (!found) {
      for (const std::size_t i : at_once) flip(i);
    }
    return found;
  }
  bool branch(std::size_t first, std::size_t placed, const map_register& state) {
    std::vector<std::size_t> next = candidates(first);
    std::stable_partition(next.begin(), next.end(), [&](std::size_t i) { return !found_later_[i]; });
    for (const std::size_t i : next) {
      map_register after = state;
      if (writes_nothing(ops_[i]) || !step(ops_[i], after)) continue;
      flip(i);
      if (search(first, placed + 1, after)) return true;
      flip(i);
    }
    return false;
  }

  std::vector<recorded_op> ops_;
  std::vector<bool> found_later_;
  bits placed_;
  map_register start_;
  std::set<std::pair<bits, map_register>> seen_;
  std::size_t budget_ = 0;
};

/// Returns an empty string if the history is linearizable, otherwise the first key whose history is not, with its
/// operations. `before` has the value of a key at the start of the history. Histories of a key should be short: some
/// hundred operations, of which few overlap, or a dozen that all do.
[[nodiscard]] inline std::string first_violation(std::span<const recorded_op> history,
                                                 const std::function<map_register(std::uint64_t)>& before) {
  std::vector<recorded_op> ops(history.begin(), history.end());
  std::stable_sort(ops.begin(), ops.end(), [](const auto& a, const auto& b) {
    return std::pair(a.key, a.invoked) < std::pair(b.key, b.invoked);
  });
  for (std::size_t first = 0, last; first < ops.size(); first = last) {
    for (last = first; last < ops.size() && ops[last].key == ops[first].key;) ++last;
    const map_register start = before(ops[first].key);
    const std::span<const recorded_op> mine(ops.data() + first, last - first);
    const verdict v = key_history(mine, start).check();
    if (v == verdict::linearizable) continue;
    std::string text = "key " + std::to_string(ops[first].key) +
                       (v == verdict::undecided ? " has too many overlapping writes to decide on"
                                                : " has a history that is not linearizable") +
                       "; it began " + (start.there ? "with " + std::to_string(start.value) : std::string("absent"));
    for (const recorded_op& op : mine.first(std::min<std::size_t>(mine.size(), 60))) text += "\n  " + to_string(op);
    return text;
  }
  return {};
}

}  // namespace espalier::test
