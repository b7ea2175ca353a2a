// model_test.cpp - for any rows, any sequence of changes and any question, an index of every kind answers what looking
// at all rows answers. RapidCheck draws.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "engine_index/expect.hpp"
#include "support/less_work.hpp"

namespace espalier::test {
namespace {

struct key_case {
  const char* name;
  std::vector<column_type> types;
};

std::ostream& operator<<(std::ostream& out, const key_case& c) { return out << c.name; }

const std::vector<key_case>& key_cases() {
  using enum type_id;
  static const std::vector<key_case> all = {
      {"boolean", {{boolean}}},
      {"int8", {{int8}}},
      {"int16", {{int16}}},
      {"int32", {{int32}}},
      {"int64", {{int64}}},
      {"float32", {{float32}}},
      {"float64", {{float64}}},
      {"decimal_9_2", {{decimal, 9, 2}}},
      {"decimal_18_3", {{decimal, 18, 3}}},
      {"decimal_38_4", {{decimal, 38, 4}}},
      {"date", {{date}}},
      {"timestamp", {{timestamp}}},
      {"varchar", {{varchar}}},
      {"int32_int32", {{int32}, {int32}}},
      {"int16_int32", {{int16}, {int32}}},
      {"int8_timestamp", {{int8}, {timestamp}}},
      {"int64_int64", {{int64}, {int64}}},
      {"float32_boolean_int8", {{float32}, {boolean}, {int8}}},
      {"varchar_int32", {{varchar}, {int32}}},
      {"int16_varchar", {{int16}, {varchar}}},
      {"varchar_varchar", {{varchar}, {varchar}}},
      {"boolean_decimal_varchar", {{boolean}, {decimal, 38, 0}, {varchar}}},
  };
  return all;
}

const std::vector<column_type>& summed_types() {
  using enum type_id;
  static const std::vector<column_type> all = {{int64},     {int32},   {float64}, {int8}, {decimal, 38, 2},
                                               {timestamp}, {boolean}, {float32}, {date}, {int16}};
  return all;
}

/// A few small values, or remarkable ones, or NULL.
rc::Gen<cell> any_cell(const column_type& type, bool small) {
  cells from = remarkable(type);
  if (small && type.id != type_id::varchar && !engine::is_float(type.id) && type.id != type_id::boolean) {
    from.clear();
    for (int i = -2; i < 6; ++i) from.push_back(integer(i));
  }
  return rc::gen::weightedOneOf<cell>({{12, rc::gen::elementOf(from)}, {1, rc::gen::just(cell{})}});
}

struct drawn {
  model_table table;
  std::vector<std::size_t> columns;  // key columns; one more column is there to be summed up
  bool small;

  [[nodiscard]] rc::Gen<std::vector<cell>> any_row() const {
    std::vector<rc::Gen<cell>> gens;
    for (std::size_t c = 0; c < table.types.size(); ++c) gens.push_back(any_cell(table.types[c], small));
    return rc::gen::exec([gens] {
      std::vector<cell> row;
      for (const auto& g : gens) row.push_back(*g);
      return row;
    });
  }
  [[nodiscard]] cells some_cells(std::size_t column, std::size_t n) const {
    return *rc::gen::container<cells>(n, any_cell(table.types[column], small));
  }
  [[nodiscard]] asked_ranges any_question() const {
    asked_ranges q;
    q.n = *rc::gen::inRange<std::size_t>(2, 5);
    const auto equal = *rc::gen::inRange<std::size_t>(0, columns.size() + 1);
    bool spread = false;  // some operand has a value for each range
    const auto operand = [&](std::size_t column) {
      const bool one = *rc::gen::inRange(0, 4) == 0;
      spread = spread || !one;
      return some_cells(column, one ? 1 : q.n);
    };
    for (std::size_t c = 0; c < equal; ++c) q.equal.push_back(operand(columns[c]));
    if (equal < columns.size()) {
      using enum key_condition;
      const bool is_text = table.types[columns[equal]].id == type_id::varchar;
      q.condition = *rc::gen::weightedElement<key_condition>(
          {{1, anything}, {8, between}, {is_text ? 3u : 0u, prefix}, {1, is_null}});
      if (q.condition == prefix || (q.condition == between && *rc::gen::inRange(0, 4) != 0))
        q.lo = operand(columns[equal]);
      if (q.condition == between && *rc::gen::inRange(0, 4) != 0) q.hi = operand(columns[equal]);
      q.lo_inclusive = *rc::gen::arbitrary<bool>();
      q.hi_inclusive = *rc::gen::arbitrary<bool>();
    }
    if (!spread) q.n = 1;
    return q;
  }
};

void ask(const table_index& index, const drawn& d) {
  expect_order(index, d.table);
  for (int i = 0; i < 3; ++i) expect_ranges(index, d.table, d.any_question());
  const auto groups = *rc::gen::inRange<std::size_t>(0, d.columns.size());
  const std::size_t n = 4;
  std::vector<cells> equal;
  for (std::size_t c = 0; c < groups; ++c) equal.push_back(d.some_cells(d.columns[c], n));
  expect_as_of(index, d.table, equal, d.some_cells(d.columns[groups], n));
}

/// One statement: some rows go, some come.
void change(table_index& index, drawn& d) {
  row_numbers out;
  const int out_of = *rc::gen::inRange(1, 6);
  for (std::size_t r = 0; r < d.table.rows.size(); ++r) {
    if (d.table.live[r] && *rc::gen::inRange(0, out_of + 2) == 0) out.push_back(r);
  }
  const auto in = *rc::gen::resize(8, rc::gen::container<std::vector<std::vector<cell>>>(d.any_row()));
  const auto next = d.table.with(in, out);
  model_table changed = d.table;
  changed.take(next, in, out);
  if (index.is_unique() && changed.has_duplicates(d.columns)) {
    EXPECT_THROW(static_cast<void>(index.prepare(next, out, d.table.next_ids(in.size()))), engine::unique_violation);
    return;
  }
  engine::index_change prepared = index.prepare(next, out, d.table.next_ids(in.size()));
  if (*rc::gen::inRange(0, 4) == 0) return;  // not committed: nothing has happened
  index.commit(std::move(prepared));
  d.table = changed;
}

bool is_refused(const key_case& keys, index_kind kind) {
  using enum type_id;
  const auto wide = [](const column_type& t) { return t.id == varchar || (t.id == decimal && t.precision > 18); };
  return kind != index_kind::radix && kind != index_kind::automatic &&
         std::any_of(keys.types.begin(), keys.types.end(), wide);
}

std::unique_ptr<table_index> try_build(const drawn& d, const index_spec& spec) {
  try {
    return table_index::build(d.table.now, spec, device::cpu(2));
  } catch (const engine::unique_violation&) {
    EXPECT_TRUE(spec.unique && d.table.has_duplicates(d.columns));
  } catch (const error& refused) {
    // Values at both ends of two 64-bit columns do not fit a word.
    EXPECT_TRUE(spec.columns.size() > 1 && std::string(refused.what()).find("USING radix") != std::string::npos)
        << refused.what();
  }
  return nullptr;
}

void check_any_sequence(const key_case& keys, index_kind kind) {
  std::vector<column_type> types = keys.types;
  types.push_back(*rc::gen::elementOf(summed_types()));
  drawn d{model_table(types), {}, *rc::gen::arbitrary<bool>()};
  for (std::size_t c = 0; c < keys.types.size(); ++c) d.columns.push_back(c);
  d.table.append(*rc::gen::resize(30, rc::gen::container<std::vector<std::vector<cell>>>(d.any_row())));
  index_spec spec{"i", d.columns, *rc::gen::weightedElement<bool>({{2, false}, {1, true}}), kind, {}};
  if (*rc::gen::inRange(0, 3) == 0) spec.included = {types.size() - 1};
  const auto index = try_build(d, spec);
  if (!index) return;
  EXPECT_TRUE(kind == index_kind::automatic || index->kind() == kind);
  ask(*index, d);
  for (int step = 0; step < 3; ++step) {
    change(*index, d);
    ask(*index, d);
    if (testing::Test::HasFailure()) break;
  }
}

class AnyIndex : public testing::TestWithParam<std::tuple<key_case, index_kind>> {};

TEST_P(AnyIndex, AnswersWhatLookingAtAllRowsAnswers) {
  const auto& [keys, kind] = GetParam();
  if (is_refused(keys, kind)) {
    const model_table t(keys.types);
    index_spec spec{"i", {}, false, kind, {}};
    for (std::size_t c = 0; c < keys.types.size(); ++c) spec.columns.push_back(c);
    EXPECT_THROW(static_cast<void>(table_index::build(t.now, spec, device::cpu(1))), error);
    return;
  }
  EXPECT_TRUE(rc::check([&keys = keys, kind = kind] {
    check_any_sequence(keys, kind);
    RC_ASSERT(!testing::Test::HasFailure());
  }));
}

INSTANTIATE_TEST_SUITE_P(Keys, AnyIndex,
                         testing::Combine(testing::ValuesIn(key_cases()),
                                          testing::Values(index_kind::static_tree, index_kind::blink, index_kind::radix,
                                                          index_kind::hybrid, index_kind::automatic)),
                         [](const auto& both) {
                           return std::string(std::get<0>(both.param).name) + "_" +
                                  engine::to_string(std::get<1>(both.param));
                         });

}  // namespace
}  // namespace espalier::test
