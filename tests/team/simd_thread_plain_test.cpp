// simd_thread_plain_test.cpp - simd_thread as user code sees it: one target, chosen by compiler flags.
#include "espalier/team/scalar_team.hpp"
#include "espalier/team/simd_thread.hpp"
#include "tests/team/operations.hpp"

namespace espalier::test {
namespace {

using a_few_shapes = std::tuple<shape<std::uint8_t, 32, 5>, shape<std::uint32_t, 16, 3>, shape<std::uint64_t, 8, 0>>;

struct against_reference {
  template <class X, unsigned N, unsigned First>
  void operator()(shape<X, N, First> s) const {
    const auto cases = make_cases<X, N, First>();
    const auto want = perform_all<First>(scalar_team{}, cases);
    const auto linear = perform_all<First>(simd_thread<linear_search>{}, cases);
    expect_same(want, linear, s.name() + ", linear");
    expect_same(want, with_ranks_by<First>(simd_thread<hierarchical_search>{}, linear, cases),
                s.name() + ", hierarchical");
  }
};

TEST(simd_thread, agrees_with_reference_when_compiled_plainly) { for_each_shape(a_few_shapes{}, against_reference{}); }

}  // namespace
}  // namespace espalier::test
