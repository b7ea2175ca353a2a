// scalar_team_test.cpp - the reference team against the standard algorithms.
#include "espalier/team/scalar_team.hpp"

#include <cstring>

#include "tests/team/operations.hpp"

namespace espalier::test {
namespace {

template <unsigned First, class X, unsigned N>
void count_by_standard(const team_case<X, N>& c, outcome<X, N>& out) {
  const auto below_bound = [&](X x) { return x < c.bound; };
  const auto not_above_bound = [&](X x) { return x <= c.bound; };
  const auto odd = [](X x) { return x % 2 == 1; };
  const auto counted = [&](unsigned first, auto pred) {
    return static_cast<unsigned>(std::count_if(c.any + first, c.any + N, pred));
  };
  out.below = out.below_in_slots = counted(0, below_bound);
  out.at_most = counted(0, not_above_bound);
  out.equal = out.equal_in_slots = static_cast<unsigned>(std::count(c.any, c.any + N, c.bound));
  out.odd = counted(0, odd);
  out.below_from = counted(First, below_bound);
  out.not_above_from = out.not_above_in_slots = counted(First, not_above_bound);
  out.equal_from = static_cast<unsigned>(std::count(c.any + First, c.any + N, c.bound));
  out.odd_from = counted(First, odd);
  const auto ranked = [&](X x) {
    return static_cast<unsigned>(std::lower_bound(c.sorted + First, c.sorted + N, x) - (c.sorted + First));
  };
  out.rank = out.rank_in_slots = ranked(c.bound);
  out.rank_of_slot = ranked(c.sorted[c.at]);
}

template <class X, unsigned N>
void change_by_standard(const team_case<X, N>& c, outcome<X, N>& out) {
  const std::vector<X> slots(c.any, c.any + N);
  const auto put = [](std::vector<X> from, X(&to)[N], X fill) {
    from.resize(N, fill);
    std::copy(from.begin(), from.end(), to);
  };
  put(slots, out.copied, c.x);
  std::transform(slots.rbegin(), slots.rend(), out.made, [](const X& x) { return twin_of(x); });
  auto longer = slots;
  longer.insert(longer.begin() + c.at, c.x);
  put(longer, out.inserted, c.x);
  put(longer, out.stored_from, c.x);
  auto shorter = slots;
  shorter.erase(shorter.begin() + c.at);
  put(shorter, out.erased, c.x);
  put(shorter, out.erased_in_view, c.x);
  put({slots.begin(), slots.begin() + c.upto}, out.head, c.x);
  put({slots.begin() + c.upto, slots.end()}, out.tail, c.x);
  out.got = out.got_in_slots = slots[c.at];
  out.first = slots.front();
  out.last = slots.back();
  out.ran_once = 1;
  out.once = 2;
  for (unsigned i = 0; i <= c.at; ++i) out.count_lanes += i % 3 != 1 ? 1 : 0;
  out.broadcast = slots[c.at];
}

template <unsigned First, class X, unsigned N>
outcome<X, N> by_standard(const team_case<X, N>& c) {
  outcome<X, N> out;
  if constexpr (std::is_integral_v<X>) count_by_standard<First>(c, out);
  if constexpr (std::is_same_v<X, std::uint8_t>) {
    memcpy(&out.word32, c.any, 4);
    memcpy(&out.last_word32, c.any + N - 4, 4);
    if constexpr (N >= 8) memcpy(&out.last_word64, c.any + N - 8, 8);
  }
  change_by_standard(c, out);
  return out;
}

struct against_standard {
  template <class X, unsigned N, unsigned First>
  void operator()(shape<X, N, First> s) const {
    const auto cases = make_cases<X, N, First>();
    std::vector<outcome<X, N>> want;
    for (const auto& c : cases) want.push_back(by_standard<First>(c));
    expect_same(want, perform_all<First>(scalar_team{}, cases), s.name());
  }
};

TEST(scalar_team, agrees_with_standard_algorithms) {
  for_each_shape(small_shapes{}, against_standard{});
  for_each_shape(other_shapes{}, against_standard{});
}

TEST(scalar_team, is_one_lane_with_a_batch_in_flight) {
  EXPECT_EQ(scalar_team::lanes(), 1u);
  EXPECT_GT(scalar_team::batch, 1u);
}

}  // namespace
}  // namespace espalier::test
