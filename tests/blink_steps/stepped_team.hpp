// stepped_team.hpp - the reference team, which stops before every memory access of its own: each slot of a node is one.
//
// Views stay where they are and are read as late as possible: a reader meets every change that comes before that.
#pragma once

#include "blink_steps/operation.hpp"
#include "espalier/team/scalar_team.hpp"

namespace espalier::test {

struct stepped_team : scalar_team {
  using alone = stepped_team;

  template <unsigned N, class X>
  [[nodiscard]] node_view<X, N> view(const X* p) const {
    operation::move_right({point::kind::look, p});
    return {p};
  }
  template <unsigned N, class X>
  [[nodiscard]] node_view<X, N> view_relaxed(const X* p) const {
    return view<N>(p);
  }
  template <unsigned N, class X>
  [[nodiscard]] slots<X, N> load_relaxed(const X* p) const {
    slots<X, N> s;
    for (unsigned i = 0; i < N; ++i) {
      operation::move_right({point::kind::load, p + i});
      s.x[i] = espalier::load_relaxed(p + i);
    }
    return s;
  }
  template <class X, unsigned N>
  void store_relaxed(X* p, const slots<X, N>& s) const {
    for (unsigned i = 0; i < N; ++i) {
      operation::move_right({point::kind::store, p + i});
      espalier::store_relaxed(p + i, s.x[i]);
    }
  }
  /// What f does with a slot that was loaded is to store it elsewhere.
  template <class X, unsigned N, class F>
  void for_slots(const slots<X, N>& s, unsigned from, unsigned to, F&& f) const {
    for (unsigned i = from; i < to; ++i) {
      operation::move_right({point::kind::store, nullptr});
      f(i, s.x[i]);
    }
  }

  template <unsigned First, class X, unsigned N, class Pred>
  [[nodiscard]] unsigned count_from(const node_view<X, N>& v, Pred pred) const {
    unsigned n = 0;
    for (unsigned i = First; i < N; ++i) {
      operation::move_right({point::kind::key, v.p + i});
      n += pred(espalier::load_relaxed(v.p + i)) ? 1u : 0u;
    }
    return n;
  }
  template <unsigned First, class X, unsigned N, class Pred>
  [[nodiscard]] unsigned count_from(const slots<X, N>& s, Pred pred) const {
    return scalar_team::count_from<First>(s, pred);
  }
  template <class Node, class Pred>
  [[nodiscard]] unsigned count(const Node& v, Pred pred) const {
    return count_from<0>(v, pred);
  }
  template <unsigned First, template <class, unsigned> class Node, class X, unsigned N>
  [[nodiscard]] unsigned rank(const Node<X, N>& v, std::type_identity_t<X> bound) const {
    return count_from<First>(v, less_than<X>{bound});
  }
  template <class X, unsigned N>
  [[nodiscard]] X get(const node_view<X, N>& v, unsigned i) const {
    operation::move_right({point::kind::get, v.p + i});
    return espalier::load_relaxed(v.p + i);
  }
  template <class X, unsigned N>
  [[nodiscard]] X get(const slots<X, N>& s, unsigned i) const {
    return s.x[i];
  }
  template <unsigned I, template <class, unsigned> class Node, class X, unsigned N>
  [[nodiscard]] X get(const Node<X, N>& v) const {
    static_assert(I < N);
    return get(v, I);
  }

  template <class F>
  auto once(F&& f) const {
    operation::move_right({point::kind::once, nullptr});
    return f();
  }
};

static_assert(Team<stepped_team>);

}  // namespace espalier::test
