// cases.hpp - inputs for one team operation of each kind, and what came out.
//
// A case is plain data, so that it can be given to a GPU as it is. `outcome` has a field per operation of
// team.hpp: the field that differs names the operation that is wrong.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "espalier/core/config.hpp"

namespace espalier::test {

/// A value as large as values may be.
struct wide_value {
  std::uint64_t a;
  std::uint64_t b;
  friend bool operator==(const wide_value&, const wide_value&) = default;
};

template <class X, unsigned N>
struct team_case {
  alignas(32) X any[N];     ///< no order
  alignas(32) X sorted[N];  ///< ascends from slot First on; slots before hold anything
  X bound;
  X x;
  unsigned at;    ///< < N
  unsigned upto;  ///< <= N
};

template <class X, unsigned N>
struct outcome {
  unsigned below = 0, at_most = 0, equal = 0, odd = 0;
  unsigned below_from = 0, not_above_from = 0, equal_from = 0, odd_from = 0;
  unsigned below_in_slots = 0, not_above_in_slots = 0, equal_in_slots = 0;
  unsigned rank = 0, rank_in_slots = 0, rank_of_slot = 0;
  std::uint64_t word32 = 0, last_word32 = 0, last_word64 = 0;
  X got{}, got_in_slots{}, first{}, last{};
  X copied[N]{}, made[N]{}, inserted[N]{}, erased[N]{}, head[N]{}, tail[N]{};
  alignas(32) X stored_from[N]{};
  X erased_in_view[N]{};
  unsigned once = 0, ran_once = 0;
  unsigned count_lanes = 0;
  X broadcast{};
};

/// What a node may look like: number of slots, and how many in front are not sorted.
template <class X, unsigned N, unsigned First>
struct shape {
  using slot = X;
  static constexpr unsigned slots = N;
  static constexpr unsigned first = First;
  static std::string name() {
    return std::to_string(N) + " x " + std::to_string(sizeof(X)) + " bytes from " + std::to_string(First);
  }
};

/// Up to 256 bytes: what a tile of any width holds in registers.
using small_shapes = std::tuple<shape<std::uint8_t, 32, 0>, shape<std::uint8_t, 32, 5>, shape<std::uint8_t, 32, 9>,
                                shape<std::uint8_t, 64, 17>, shape<std::uint32_t, 8, 0>, shape<std::uint32_t, 16, 3>,
                                shape<std::uint32_t, 12, 2>, shape<std::uint64_t, 4, 0>, shape<std::uint64_t, 8, 0>,
                                shape<std::uint64_t, 16, 5>, shape<wide_value, 8, 0>>;
/// Beyond one register of every target, and below.
using other_shapes = std::tuple<shape<std::uint8_t, 4, 1>, shape<std::uint8_t, 256, 9>, shape<std::uint8_t, 4096, 300>,
                                shape<std::uint32_t, 1, 0>, shape<std::uint32_t, 64, 40>, shape<std::uint64_t, 512, 3>>;

template <class... Shapes, class F>
void for_each_shape(const std::tuple<Shapes...>&, F f) {
  (f(Shapes{}), ...);
}

/// Another value, for map().
template <class X>
ESPALIER_HD X twin_of(X x) {
  return static_cast<X>(~x);
}
ESPALIER_HD inline wide_value twin_of(const wide_value& x) { return {x.b, x.a}; }

/// A predicate that no team knows.
struct is_odd {
  template <class X>
  ESPALIER_HD bool operator()(X x) const {
    return (x & 1) != 0;
  }
};

namespace detail {

template <class X>
X number(std::uint64_t n) {
  if constexpr (std::is_integral_v<X>) {
    return static_cast<X>(n);
  } else {
    return X{n, ~n};
  }
}

/// Random slots of one kind: all bits, few different values, all equal, all zero, all ones, consecutive.
template <class X, unsigned N>
void fill_any(X (&slots)[N], unsigned kind, std::mt19937_64& random) {
  const std::uint64_t one = random();
  for (unsigned i = 0; i < N; ++i) {
    switch (kind % 6) {
      case 0:
        slots[i] = number<X>(random());
        break;
      case 1:
        slots[i] = number<X>(random() % 4 + (one % 2 == 0 ? 0 : ~std::uint64_t{3}));
        break;
      case 2:
        slots[i] = number<X>(one);
        break;
      case 3:
        slots[i] = number<X>(0);
        break;
      case 4:
        slots[i] = number<X>(~std::uint64_t{0});
        break;
      default:
        slots[i] = number<X>(one + i);
        break;
    }
  }
}

}  // namespace detail

/// How often each kind of node is tried.
constexpr unsigned rounds_for(unsigned slots) { return slots > 256 ? 12 : 60; }

/// For each kind of node: bounds at both ends of the type, at a slot, beside it, and anywhere.
template <class X, unsigned N, unsigned First>
std::vector<team_case<X, N>> make_cases() {
  std::mt19937_64 random(N * 1000 + First * 10 + sizeof(X));
  std::vector<team_case<X, N>> cases;
  for (unsigned round = 0; round < rounds_for(N); ++round) {
    for (unsigned bound = 0; bound < 6; ++bound) {
      team_case<X, N> c{};
      detail::fill_any(c.any, round, random);
      detail::fill_any(c.sorted, round, random);
      if constexpr (std::is_integral_v<X>) std::sort(c.sorted + First, c.sorted + N);
      const std::uint64_t anywhere = random();
      c.bound = detail::number<X>(bound == 0 ? 0 : bound == 1 ? ~std::uint64_t{0} : anywhere);
      if (bound >= 2 && bound <= 4) c.bound = c.sorted[anywhere % N];
      if constexpr (std::is_integral_v<X>) {
        c.bound = static_cast<X>(c.bound + (bound == 3 ? 1 : bound == 4 ? std::numeric_limits<X>::max() : 0));
      }
      c.x = detail::number<X>(random());
      c.at = static_cast<unsigned>(round % 8 == 0 ? 0 : round % 8 == 1 ? N - 1 : random() % N);
      c.upto = static_cast<unsigned>(round % 8 == 2 ? 0 : round % 8 == 3 ? N : random() % (N + 1));
      cases.push_back(c);
    }
  }
  return cases;
}

inline void expect_equal_sizes(std::size_t want, std::size_t got) { EXPECT_EQ(want, got); }
inline void report(const char* operation, std::size_t i, const std::string& dev) {
  ADD_FAILURE() << operation << " differs in case " << i << " of " << dev;
}

/// Name of the first operation whose results differ; null if none does.
template <class X, unsigned N>
const char* first_difference(const outcome<X, N>& want, const outcome<X, N>& got) {
  const auto differ = [](const X* a, const X* b) { return !std::equal(a, a + N, b); };
  if (want.below != got.below) return "count below";
  if (want.at_most != got.at_most) return "count not_above";
  if (want.equal != got.equal) return "count equal_to";
  if (want.odd != got.odd) return "count with a callable";
  if (want.below_from != got.below_from) return "count_from below";
  if (want.not_above_from != got.not_above_from) return "count_from not_above";
  if (want.equal_from != got.equal_from) return "count_from equal_to";
  if (want.odd_from != got.odd_from) return "count_from with a callable";
  if (want.below_in_slots != got.below_in_slots) return "count below in slots";
  if (want.not_above_in_slots != got.not_above_in_slots) return "count_from not_above in slots";
  if (want.equal_in_slots != got.equal_in_slots) return "count equal_to in slots";
  if (want.rank != got.rank) return "rank";
  if (want.rank_in_slots != got.rank_in_slots) return "rank in slots";
  if (want.rank_of_slot != got.rank_of_slot) return "rank of a slot";
  if (want.word32 != got.word32) return "word<u32, 0>";
  if (want.last_word32 != got.last_word32) return "word<u32> at the end";
  if (want.last_word64 != got.last_word64) return "word<u64> at the end";
  if (!(want.got == got.got)) return "get at run time";
  if (!(want.got_in_slots == got.got_in_slots)) return "get in slots";
  if (!(want.first == got.first)) return "get<0>";
  if (!(want.last == got.last)) return "get<N - 1>";
  if (differ(want.copied, got.copied)) return "load and store";
  if (differ(want.made, got.made)) return "make or map";
  if (differ(want.inserted, got.inserted)) return "insert_at";
  if (differ(want.erased, got.erased)) return "erase_at";
  if (differ(want.stored_from, got.stored_from)) return "insert_at in a view, or store_shared_from";
  if (differ(want.erased_in_view, got.erased_in_view)) return "erase_at in a view";
  if (differ(want.head, got.head)) return "head";
  if (differ(want.tail, got.tail)) return "tail";
  if (want.once != got.once) return "once with a result";
  if (want.ran_once != got.ran_once) return "once";
  if (want.count_lanes != got.count_lanes) return "votes";
  if (!(want.broadcast == got.broadcast)) return "nth";
  return nullptr;
}

/// Compares case by case; stops at the first difference.
template <class X, unsigned N>
void expect_same(const std::vector<outcome<X, N>>& want, const std::vector<outcome<X, N>>& got,
                 const std::string& dev) {
  expect_equal_sizes(want.size(), got.size());
  for (std::size_t i = 0; i < want.size() && i < got.size(); ++i) {
    if (const char* operation = first_difference(want[i], got[i])) return report(operation, i, dev);
  }
}

}  // namespace espalier::test
