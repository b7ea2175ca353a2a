// cost_test.cpp - hooks for teams that are not traced: nothing is carried along, and events are not even made.
#include <gtest/gtest.h>

#include <type_traits>

#include "espalier/radix_tree/insert_erase.hpp"
#include "espalier/team/scalar_team.hpp"
#include "espalier/trace/note.hpp"

namespace espalier::test {
namespace {

using plain_view = radix_view<8>;

static_assert(!is_traced<scalar_team> && is_traced<traced_team<scalar_team>>);
static_assert(std::is_empty_v<scalar_team> && std::is_empty_v<untraced_thread>);
static_assert(std::is_empty_v<radix_notes<untraced_thread, plain_view>>);
static_assert(std::is_empty_v<traced_latch<version_latch>> && std::is_empty_v<traced_latch<no_latch>>);
// On a GPU every register counts: what a changer holds is where the tree is, its root and its pools.
static_assert(sizeof(radix_mutator<plain_view>) <= sizeof(void*) * 3 + sizeof(radix_pools));

/// A tree that must not be looked at.
struct no_view {
  template <class F>
  auto with_node(radix_link, F) const {
    ADD_FAILURE() << "a node was read for an event that nobody records";
    return std::uint32_t{0};
  }
};

TEST(TraceCost, WhoIsNotTracedDoesNotEvenLook) {
  const no_view tree;
  const radix_notes<untraced_thread, no_view> notes(untraced_thread{}, tree);
  const radix_link some = radix_link::of(radix_kind::node4, 0);
  notes.attempt(3);
  notes.reach(some);
  notes.retry(some, 0, 1);
  notes.latch(some, 0);
  notes.attach(some, 1, some);
  notes.detach(some, some, 1);
  notes.branch(some, 1, some, 0, some);
  notes.kind(some, some, some);
  notes.collapse(some, 1, some, some);
  notes.unlatch(some, 2);
}

}  // namespace
}  // namespace espalier::test
