// operations.hpp - every operation of team.hpp once, on one case: the text that all teams are tested with.
#if defined(ESPALIER_TESTS_TEAM_OPERATIONS_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef ESPALIER_TESTS_TEAM_OPERATIONS_HPP
#undef ESPALIER_TESTS_TEAM_OPERATIONS_HPP
#else
#define ESPALIER_TESTS_TEAM_OPERATIONS_HPP
#endif

#include "espalier/team/multi_target.hpp"
#include "espalier/team/team.hpp"
#include "tests/team/cases.hpp"

ESPALIER_BEGIN_TARGET_NAMESPACE

template <unsigned First, Team T, class X, unsigned N>
ESPALIER_HD inline void count_all(T team, const test::team_case<X, N>& c, test::outcome<X, N>& out) {
  const auto v = team.template view<N>(c.any);
  const auto s = team.template load<N>(c.any);
  const unsigned below_n = team.count(v, less_than{c.bound});
  const unsigned not_above_n = team.count(v, at_most{c.bound});
  const unsigned equal_n = team.count(v, equals{c.bound});
  const unsigned odd_n = team.count(v, test::is_odd{});
  const unsigned below_from = team.template count_from<First>(v, less_than{c.bound});
  const unsigned not_above_from = team.template count_from<First>(v, at_most{c.bound});
  const unsigned equal_from = team.template count_from<First>(v, equals{c.bound});
  const unsigned odd_from = team.template count_from<First>(v, test::is_odd{});
  const unsigned below_in_slots = team.count(s, less_than{c.bound});
  const unsigned not_above_in_slots = team.template count_from<First>(s, at_most{c.bound});
  const unsigned equal_in_slots = team.count(s, equals{c.bound});
  team.once([&] {
    out.below = below_n;
    out.at_most = not_above_n;
    out.equal = equal_n;
    out.odd = odd_n;
    out.below_from = below_from;
    out.not_above_from = not_above_from;
    out.equal_from = equal_from;
    out.odd_from = odd_from;
    out.below_in_slots = below_in_slots;
    out.not_above_in_slots = not_above_in_slots;
    out.equal_in_slots = equal_in_slots;
  });
}

template <unsigned First, Team T, class X, unsigned N>
ESPALIER_HD inline void rank_all(T team, const test::team_case<X, N>& c, test::outcome<X, N>& out) {
  const auto sorted = team.template view<N>(c.sorted);
  const unsigned rank = team.template rank<First>(sorted, c.bound);
  const unsigned rank_in_slots = team.template rank<First>(team.template load<N>(c.sorted), c.bound);
  const unsigned rank_of_slot = team.template rank<First>(sorted, team.get(sorted, c.at));
  team.once([&] {
    out.rank = rank;
    out.rank_in_slots = rank_in_slots;
    out.rank_of_slot = rank_of_slot;
  });
}

template <Team T, unsigned N>
ESPALIER_HD inline void read_words(T team, const test::team_case<std::uint8_t, N>& c,
                                   test::outcome<std::uint8_t, N>& out) {
  const auto v = team.template view<N>(c.any);
  const auto word32 = team.template word<std::uint32_t, 0>(v);
  const auto last_word32 = team.template word<std::uint32_t, N - 4>(v);
  std::uint64_t last_word64 = 0;
  if constexpr (N >= 8) last_word64 = team.template word<std::uint64_t, N - 8>(v);
  team.once([&] {
    out.word32 = word32;
    out.last_word32 = last_word32;
    out.last_word64 = last_word64;
  });
}

/// Where a view is a copy in registers it can be changed, and stored from the first slot that did.
template <Team T, class X, unsigned N>
ESPALIER_HD inline void change_views(T team, const test::team_case<X, N>& c, test::outcome<X, N>& out) {
  if constexpr (T::view_is_register_copy && !std::is_same_v<X, std::uint8_t>) {
    const auto v = team.template view<N>(c.any);
    team.store(out.stored_from, team.template load<N>(c.any));
    team.sync();
    team.store_shared_from(out.stored_from, team.insert_at(v, c.at, c.x), c.at);
    team.for_slots(team.erase_at(v, c.at, c.x), 0, N, [&](unsigned i, const X& x) { out.erased_in_view[i] = x; });
  } else {
    const auto s = team.template load<N>(c.any);
    team.store(out.stored_from, team.insert_at(s, c.at, c.x));
    team.store(out.erased_in_view, team.erase_at(s, c.at, c.x));
  }
}

template <Team T, class X, unsigned N>
ESPALIER_HD inline void change_all(T team, const test::team_case<X, N>& c, test::outcome<X, N>& out) {
  const auto v = team.template view<N>(c.any);
  const auto s = team.template load<N>(c.any);
  team.store(out.copied, s);
  const auto made = team.template make<N>([&](unsigned i) { return c.any[N - 1 - i]; });
  team.store(out.made, team.map(made, [&](const X& x) { return test::twin_of(x); }));
  team.store(out.inserted, team.insert_at(s, c.at, c.x));
  team.store(out.erased, team.erase_at(s, c.at, c.x));
  team.store(out.head, team.head(s, c.upto, c.x));
  team.store(out.tail, team.tail(s, c.upto, c.x));
  const X got = team.get(v, c.at);
  const X got_in_slots = team.get(s, c.at);
  const X first = team.template get<0>(v);
  const X last = team.template get<N - 1>(v);
  team.prefetch(&c);
  team.once([&] {
    out.got = got;
    out.got_in_slots = got_in_slots;
    out.first = first;
    out.last = last;
    ++out.ran_once;
  });
  team.sync();
  const unsigned doubled = team.once([&] { return 2 * out.ran_once; });
  team.sync();
  team.once([&] { out.once = doubled; });
}

/// Slot i looked at by lane i % lanes().
template <Team T, class X, unsigned N>
ESPALIER_HD inline void look_by_lanes(T team, const test::team_case<X, N>& c, test::outcome<X, N>& out) {
  unsigned count_lanes = 0;
  X broadcast{};
  for (unsigned base = 0; base < N; base += T::lanes()) {
    const unsigned i = base + team.lane();
    const X mine = i < N ? c.any[i] : X{};
    count_lanes += team.count_lanes(i < N && i % 3 != 1 && i <= c.at);
    if (c.at / T::lanes() == base / T::lanes()) broadcast = team.broadcast(mine, c.at % T::lanes());
  }
  team.once([&] {
    out.count_lanes = count_lanes;
    out.broadcast = broadcast;
  });
}

template <unsigned First, Team T, class X, unsigned N>
ESPALIER_HD inline void perform(T team, const test::team_case<X, N>& c, test::outcome<X, N>& out) {
  if constexpr (std::is_integral_v<X>) count_all<First>(team, c, out);
  if constexpr (std::is_integral_v<X>) rank_all<First>(team, c, out);
  if constexpr (std::is_same_v<X, std::uint8_t>) read_words(team, c, out);
  change_all(team, c, out);
  change_views(team, c, out);
  look_by_lanes(team, c, out);
}

/// The outcomes of all cases, one after the other: what a team of the CPU is compared by.
template <unsigned First, Team T, class X, unsigned N>
inline std::vector<test::outcome<X, N>> perform_all(T team, const std::vector<test::team_case<X, N>>& cases) {
  std::vector<test::outcome<X, N>> out(cases.size());
  for (std::size_t i = 0; i < cases.size(); ++i) perform<First>(team, cases[i], out[i]);
  return out;
}

/// The same outcomes with the ranks found by another team.
template <unsigned First, Team T, class X, unsigned N>
inline std::vector<test::outcome<X, N>> with_ranks_by(T team, std::vector<test::outcome<X, N>> out,
                                                      const std::vector<test::team_case<X, N>>& cases) {
  if constexpr (std::is_integral_v<X>) {
    for (std::size_t i = 0; i < cases.size(); ++i) rank_all<First>(team, cases[i], out[i]);
  }
  return out;
}

ESPALIER_END_TARGET_NAMESPACE

#endif  // ESPALIER_TESTS_TEAM_OPERATIONS_HPP
