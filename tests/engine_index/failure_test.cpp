// failure_test.cpp - memory runs out at the 1st, 2nd, 3rd ... allocation of a change: the index is as it was.
#include "engine_index/tables.hpp"
#include "support/failing_pool.hpp"

namespace espalier::test {
namespace {

const cells few_places = {integer(-1), integer(3), integer(40), integer(99)};

/// Prepares the change with every allocation failing once; what has failed left nothing behind.
void sweep(index_kind kind, std::size_t rows, std::size_t in, const row_numbers& out) {
  model_table t({{type_id::int32}, {type_id::int64}});
  t.append(numbered_rows(rows, 100, 1, 20));
  const auto pool = std::make_shared<failing_pool>(device::cpu(1).pool());
  const auto index = index_over(t, {0}, kind, false, device::cpu(1).with_pool(pool));
  const rows_of_cells more = numbered_rows(in, 100, 2, 20);
  const auto next = t.with(more, out);
  std::size_t failures = 0;
  for (std::size_t k = 1;; ++k) {
    ASSERT_LT(k, 1000u);
    pool->fail_at(k);
    try {
      engine::index_change change = index->prepare(next, out, t.next_ids(in));
      pool->fail_at(0);
      index->commit(std::move(change));
      break;
    } catch (const out_of_memory&) {
      ++failures;
      pool->fail_at(0);
      expect_order(*index, t);
    }
  }
  // Small changes may need nothing, and the leaves of a hybrid tree are not in the device's memory.
  EXPECT_TRUE(failures != 0 || in < 1024 || kind == index_kind::hybrid) << engine::to_string(kind);
  t.take(next, more, out);
  expect_all(*index, t, few_places);
}

TEST(AllocationFailure, ASmallChangeIsDoneOrNot) {
  for (const index_kind kind : all_kinds) sweep(kind, 50, 9, {0, 1, 30});
}

TEST(AllocationFailure, ALargeChangeIsDoneOrNot) {
  for (const index_kind kind : all_kinds) sweep(kind, 200, 1500, {0, 1, 30});
}

}  // namespace
}  // namespace espalier::test
