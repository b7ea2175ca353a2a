// threads_test.cpp - several threads ask one index at once, the first aggregates among their questions.
#include <thread>

#include "engine_index/tables.hpp"

namespace espalier::test {
namespace {

TEST(Threads, AskAtTheSameTime) {
  for (const index_kind kind : all_kinds) {
    model_table t({{type_id::int64}, {type_id::int64}});
    t.append(numbered_rows(3000, 500, 1, 30));
    const auto index = index_over(t, {0}, kind);
    apply(*index, t, numbered_rows(20, 500, 2, 5), {1, 2, 3});
    const asked_ranges q{{}, key_condition::between, cells{integer(20), integer(100)}, cells{integer(300)}, true, true,
                         2};
    const engine::key_ranges shape = shape_of(t, {0}, q);
    const row_numbers want[] = {rows_in(t, {0}, q, 0), rows_in(t, {0}, q, 1)};
    std::vector<std::thread> threads;
    std::vector<int> wrong(4, 0);
    for (std::size_t who = 0; who < wrong.size(); ++who) {
      threads.emplace_back([&, who] {
        for (int i = 0; i < 20; ++i) {
          const auto ranges = index->ranges(shape);
          wrong[who] += index->counts(ranges) != row_numbers{want[0].size(), want[1].size()};
          wrong[who] += index->rows(ranges).rows.size() != want[0].size() + want[1].size();
          const auto f = (i + static_cast<int>(who)) % 2 == 0 ? aggregate_function::sum : aggregate_function::max;
          wrong[who] += index->aggregate(f, 1, ranges)->null_count() != 0;
          wrong[who] += index->ordered_rows(key_order::descending, 5, 10).size() != 10;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, std::vector<int>(4, 0)) << engine::to_string(kind);
    expect_ranges(*index, t, q);
  }
}

}  // namespace
}  // namespace espalier::test
