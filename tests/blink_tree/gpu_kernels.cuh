// gpu_kernels.cuh - what tests of refs launch: one team per operation, each of which records what it did.
//
// Everything a team does is in one record, so that one kernel serves every test and its answers go straight into the
// linearizability checker. Where a clock is wanted, the lanes of a team agree on "before" and "after" around it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "espalier/blink_tree/blink_tree.hpp"
#include "espalier/device/cuda.cuh"
#include "espalier/team/tile.cuh"
#include "support/families.hpp"
#include "support/linearizability.hpp"
#include "support/setting.hpp"
#include "support/watchdog.hpp"

namespace espalier::test {

enum class gpu_clock : std::uint8_t {
  none,     ///< all operations of a launch overlap
  timer,    ///< the GPU's nanoseconds
  counter,  ///< a word that each operation adds to: total order, much contention
};

constexpr std::uint8_t refused = 2;  ///< `done` of an operation that found no room

inline __device__ std::uint64_t read_clock(gpu_clock clock, unsigned long long* counter) {
  __threadfence();
  std::uint64_t now = 0;
  if (clock == gpu_clock::timer) asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
  if (clock == gpu_clock::counter) now = atomicAdd(counter, 1ull);
  __threadfence();
  return now;
}

/// Operation i writes the value i + 1.
template <class Tree>
struct run_ops {
  using key = typename Tree::key_type;
  typename Tree::ref_type ref;
  const blink_op* ops;
  const key* keys;
  recorded_op* log;
  gpu_clock clock;
  unsigned long long* counter;

  template <class Team>
  __device__ void operator()(Team team, std::size_t i) const {
    recorded_op r{};
    r.key = keys[i];
    r.what = ops[i];
    if (r.what != blink_op::find) r.argument = i + 1;
    r.responded = 1;
    if (clock != gpu_clock::none) r.invoked = team.once([&] { return read_clock(clock, counter); });
    act(team, r);
    if (clock != gpu_clock::none) {
      __threadfence();
      team.sync();
      r.responded = team.once([&] { return read_clock(clock, counter); });
    }
    if (threadIdx.x % Team::lanes() == 0) log[i] = r;
  }

 private:
  template <class Team>
  __device__ void act(Team team, recorded_op& r) const {
    const key k = static_cast<key>(r.key), value = static_cast<key>(r.argument);
    key found{};
    switch (r.what) {
      case blink_op::find:
        r.done = ref.find(team, k, found) ? 1 : 0;
        r.answer = found;
        break;
      case blink_op::insert:
        r.done = said(ref.insert(team, k, value), write_result::inserted);
        break;
      case blink_op::insert_or_assign:
        r.done = said(ref.insert_or_assign(team, k, value), write_result::inserted);
        break;
      case blink_op::update:
        r.done = said(ref.update(team, k, value), write_result::assigned);
        break;
      case blink_op::erase:
        r.done = said(ref.erase(team, k), write_result::erased);
        break;
    }
  }
  static __device__ std::uint8_t said(write_result outcome, write_result done) {
    return outcome == done ? 1 : outcome == write_result::out_of_nodes ? refused : 0;
  }
};

/// What one team sees of the neighbourhood of a key.
template <class Key>
struct surroundings {
  Key first, next, last, first_value, next_value, last_value;
  std::uint32_t has_first, has_next, has_last;
  std::uint32_t in_range, ascending;  ///< elements of [key, to], and whether they came in order
  std::uint64_t sum, values;          ///< of their keys and values
  std::uint32_t until_told;           ///< elements seen by a range that is told to stop at the third
};

template <class Tree>
struct look_around {
  using key = typename Tree::key_type;
  typename Tree::ref_type ref;
  const key* keys;
  const key* to;
  surroundings<key>* out;

  template <class Team>
  __device__ void operator()(Team team, std::size_t i) const {
    surroundings<key> s{};
    const key k = keys[i];
    s.has_first = ref.lower_bound(team, k, s.first, s.first_value) ? 1 : 0;
    s.has_next = ref.successor(team, k, s.next, s.next_value) ? 1 : 0;
    s.has_last = ref.predecessor(team, k, s.last, s.last_value) ? 1 : 0;
    s.ascending = 1;
    key previous{};
    ref.range(team, k, to[i], [&](key at, key value) {
      if (s.in_range != 0 && at <= previous) s.ascending = 0;
      previous = at;
      ++s.in_range;
      s.sum += at;
      s.values += value;
      return true;
    });
    ref.range(team, k, to[i], [&](key, key) { return ++s.until_told < 3; });
    if (threadIdx.x % Team::lanes() == 0) out[i] = s;
  }
};

/// Keys that are multiples of `stride` stay while others come and go: counts how often that does not show.
template <class Tree>
struct scan_for_staying {
  using key = typename Tree::key_type;
  typename Tree::ref_type ref;
  const key* from;
  key length, stride;
  unsigned* wrong;

  template <class Team>
  __device__ void operator()(Team team, std::size_t i) const {
    const key lo = from[i], hi = lo + length;
    key next = (lo + stride - 1) / stride * stride, last{};
    bool right = true, first = true;
    ref.range(team, lo, hi, [&](key k, key) {
      right = right && (first || k > last) && k >= lo && k <= hi && k <= next;
      if (k == next) next += stride;
      last = k;
      first = false;
      return true;
    });
    if ((!right || next <= hi) && threadIdx.x % Team::lanes() == 0) atomicAdd(wrong, 1u);
  }
};

/// Launches of one setting, watched: a kernel that waits for itself ends the process with the test's name.
class gpu_runner {
 public:
  explicit gpu_runner(const setting& s) : setting_(&s), backend_(s.dev) {}

  /// With room for every insert.
  template <unsigned Lanes, class Tree, class Key>
  [[nodiscard]] std::vector<recorded_op> run(Tree& tree, const array<blink_op>& ops, const array<Key>& keys,
                                             gpu_clock clock = gpu_clock::none) {
    std::size_t inserts = 0;
    for (const blink_op op : ops) inserts += op == blink_op::insert || op == blink_op::insert_or_assign ? 1 : 0;
    return run_with_room<Lanes>(tree, inserts, ops, keys, clock);
  }
  template <unsigned Lanes, class Tree, class Key>
  [[nodiscard]] std::vector<recorded_op> run_with_room(Tree& tree, std::size_t inserts, const array<blink_op>& ops,
                                                       const array<Key>& keys, gpu_clock clock = gpu_clock::none) {
    lent<blink_op> o(*setting_, ops);
    lent<Key> k(*setting_, keys);
    lent<recorded_op> log(*setting_, ops.size());
    array<unsigned long long> start{1};
    lent<unsigned long long> counter(*setting_, start);
    const run_ops<Tree> body{tree.ref(inserts), o.in().data(), k.in().data(),
                             log.span().data(), clock,         counter.span().data()};
    launch<tile<Lanes>>(ops.size(), body);
    const array<recorded_op>& got = log.get();
    return {got.begin(), got.end()};
  }

  template <class Team, class Body>
  void launch(std::size_t n, const Body& body) {
    const stream order = setting_->dev.default_stream();
    backend_.for_each_team<Team>(order, n, body);
    within(std::chrono::seconds(120), [order] { order.synchronize(); });
  }
  /// Without waiting.
  template <class Team, class Body>
  void enqueue(const stream& order, std::size_t n, const Body& body) {
    backend_.for_each_team<Team>(order, n, body);
  }

 private:
  const setting* setting_;
  cuda_backend backend_;
};

/// The settings of these tests: each GPU once.
[[nodiscard]] inline std::vector<const setting*> gpu_settings() { return device_span_settings(); }

/// check.operator()<Lanes>() for each width of a team.
template <class Check>
void for_every_width(Check check) {
  [&]<unsigned... Lanes>(std::integer_sequence<unsigned, Lanes...>) {
    const auto one = [&]<unsigned L>() {
      SCOPED_TRACE("teams of " + std::to_string(L));
      if (!testing::Test::HasFatalFailure()) check.template operator()<L>();
    };
    (one.template operator()<Lanes>(), ...);
  }
  (std::integer_sequence<unsigned, 1, 2, 4, 8, 16, 32>{});
}

/// In which order keys come: the ones that public GPU trees hang or lose keys on.
enum class arrival { shuffled, sorted, reversed, all_equal, few_keys };
inline constexpr arrival all_arrivals[] = {arrival::shuffled, arrival::sorted, arrival::reversed, arrival::all_equal,
                                           arrival::few_keys};

[[nodiscard]] inline std::string to_string(arrival a) {
  static constexpr const char* names[] = {"shuffled", "sorted", "reversed", "all equal", "few keys"};
  return names[static_cast<unsigned>(a)];
}

template <class Key>
[[nodiscard]] array<Key> arriving(arrival a, std::size_t n, std::uint64_t seed) {
  array<Key> keys(n);
  random_words random(seed);
  for (std::size_t i = 0; i < n; ++i) {
    const auto k = static_cast<Key>(3 * i);
    const auto few = static_cast<Key>(random.below(n / 64 + 1) * 5);
    keys[i] = a == arrival::all_equal  ? static_cast<Key>(seed)
              : a == arrival::few_keys ? few
              : a == arrival::reversed ? static_cast<Key>(3 * n) - k
                                       : k;
  }
  if (a == arrival::shuffled) shuffle(keys, random);
  return keys;
}

}  // namespace espalier::test
