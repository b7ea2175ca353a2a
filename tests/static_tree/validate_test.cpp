// validate_test.cpp - validate() notices damage to any part, names the part, and is content again once it is undone.
//
// The parts are written through the pointers of a ref's layout, one word at a time. CPU trees only: those of a GPU are
// copied to the host and go through the same checks.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <type_traits>
#include <vector>

#include "espalier/static_tree/aggregate.hpp"
#include "espalier/static_tree/static_tree.hpp"
#include "support/families.hpp"
#include "support/oracle.hpp"

namespace espalier::test {
namespace {

template <class Key, class Value>
class damaged_tree {
  using tree_type = static_tree<Key, Value>;
  using view_type = std::remove_cvref_t<decltype(std::declval<tree_type>().ref().layout())>;
  using shape = typename view_type::shape;
  using word = typename shape::word;
  using table = subtable<word>;
  using sums = aggregate_shape<word, shape::value_bytes>;

 public:
  damaged_tree(family f, std::size_t n)
      : tree_(build(make_keys<Key>(f, n), make_values<Value>(n))), view_(tree_.ref().layout()) {
    EXPECT_GT(view_.groups, 2u);
    EXPECT_NE(view_.size % shape::keys_per_line, 0u) << "there should be padding";
    const validation v = tree_.validate();
    EXPECT_TRUE(v.ok) << v.problem;
    walk(view_.root);
  }

  [[nodiscard]] std::size_t cut_tables() const { return tables_.size() - halved_tables(); }
  [[nodiscard]] std::size_t halved_tables() const {
    return static_cast<std::size_t>(std::count_if(tables_.begin(), tables_.end(), is_halved));
  }

  void lines() {
    const std::uint64_t n = view_.size;
    for (const std::uint64_t rank : spread(n - 1)) {
      const word next = view_.key_at(rank + 1);
      if (next == largest || next == view_.key_at(rank)) continue;
      expect_noticed(key_place(rank), static_cast<word>(next + 1), "keys do not ascend");
    }
    const word first = view_.first, last = view_.last;
    expect_noticed(key_place(0), static_cast<word>(first == 0 ? 1 : first - 1), "first or last key");
    expect_noticed(key_place(n - 1), static_cast<word>(last == largest ? last - 1 : last + 1), "first or last key");
    for (std::uint64_t slot = n; slot % shape::keys_per_line != 0; ++slot) {
      expect_noticed(key_place(slot), static_cast<word>(last - 1), "padding");
      expect_noticed(key_place(slot), static_cast<word>(last + 1), "padding");
    }
  }

  void headers() {
    for (const std::uint64_t g : spread(view_.groups)) {
      const group_header<word>& header = view_.headers[g];
      expect_noticed(&header.base, static_cast<word>(header.base + 1), "header");
      expect_noticed(&header.shift, static_cast<std::uint8_t>(header.shift + 1), "header");
      for (const std::uint8_t& separator : header.separators) {
        expect_noticed(&separator, static_cast<std::uint8_t>(separator ^ 1), "header");
      }
    }
  }

  void cells() {
    for (const std::uint64_t i : spread(cells_.size())) {
      const std::uint32_t* cell = cells_[i];
      expect_noticed(cell, *cell ^ subtable_flag, "cell names");
      expect_noticed(cell, *cell + 1, (*cell & subtable_flag) != 0 ? "sub-table" : "cell names the wrong group");
    }
  }

  void subtables() {
    for (const std::uint64_t i : spread(tables_.size())) {
      const table& t = *tables_[i];
      expect_noticed(&t.base, static_cast<word>(t.base + 1), "sub-table");
      expect_noticed(&t.high, static_cast<word>(t.high + 1), "sub-table");
      expect_noticed(&t.last, t.last + 1, "sub-table");
      expect_noticed(&t.shift, t.shift + 1, "sub-table");
      expect_noticed(&t.group, t.group + 1, "sub-table");
      if (!is_halved(&t)) expect_noticed(&t.offset, t.offset + 1, "cell");
    }
  }

  void aggregates_kept() {
    const aggregate_view& a = view_.aggregate;
    using sum = typename sums::sum;
    using value = typename sums::word;
    if (const auto* prefix = static_cast<const sum*>(a.prefix); prefix != nullptr) {
      for (const std::uint64_t i : spread(view_.size / sums::sum_block + 1)) {
        expect_noticed(prefix + i, static_cast<sum>(prefix[i] + 1), "prefix sum");
      }
    }
    if (a.sums != nullptr) {
      for (const std::uint64_t i : spread(sums::tree_nodes(a.sum_blocks))) {
        expect_noticed(a.sums + i, std::nextafter(a.sums[i], INFINITY), "sum tree");
      }
    }
    EXPECT_NE(a.prefix == nullptr, a.sums == nullptr);
    const auto* minima = static_cast<const value*>(a.minima);
    const auto* maxima = static_cast<const value*>(a.maxima);
    ASSERT_TRUE(minima != nullptr && maxima != nullptr);
    for (const std::uint64_t i : spread(sums::tree_nodes(a.bound_blocks))) {
      expect_noticed(minima + i, static_cast<value>(minima[i] ^ 1), "minimum tree");
      expect_noticed(maxima + i, static_cast<value>(maxima[i] ^ 1), "maximum tree");
    }
    const auto* first = view_.line_values(0);
    constexpr auto top = static_cast<value>(value{1} << (8 * sizeof(value) - 1));
    expect_noticed(first, static_cast<value>(*first ^ top), "sum");
  }

 private:
  static constexpr word largest = std::numeric_limits<word>::max();

  static tree_type build(const array<Key>& keys, const array<Value>& values) {
    return tree_type::build(keys.span(), values.span(), {false, aggregates::all}, device::cpu(1));
  }
  static bool is_halved(const table* t) { return t->shift == table::search_only; }

  /// Every number below n if they are few, else some of them, both ends included.
  static std::vector<std::uint64_t> spread(std::uint64_t n) {
    constexpr std::uint64_t most = 40;
    std::vector<std::uint64_t> some;
    const std::uint64_t step = n / most + 1;
    for (std::uint64_t i = 0; i + 1 < n; i += step) some.push_back(i);
    if (n > 0) some.push_back(n - 1);
    return some;
  }

  void walk(const table& from) {
    for (std::uint32_t i = 0; i <= from.last; ++i) {
      const std::uint32_t* cell = view_.cells + from.offset + i;
      cells_.push_back(cell);
      if ((*cell & subtable_flag) == 0) continue;
      tables_.push_back(view_.subtables + (*cell & ~subtable_flag));
      if (!is_halved(tables_.back())) walk(*tables_.back());
    }
  }

  [[nodiscard]] const word* key_place(std::uint64_t rank) const {
    return view_.line_keys(rank / shape::keys_per_line) + rank % shape::keys_per_line;
  }

  template <class T>
  void expect_noticed(const T* place, T wrong, const std::string& part) const {
    T& there = const_cast<T&>(*place);
    const T right = there;
    EXPECT_FALSE(same(right, wrong)) << "this is no damage: " << part;
    there = wrong;
    const validation hurt = tree_.validate();
    there = right;
    EXPECT_FALSE(hurt.ok) << "not noticed: " << part;
    EXPECT_NE(hurt.problem.find(part), std::string::npos) << "'" << hurt.problem << "' should name: " << part;
    const validation healed = tree_.validate();
    EXPECT_TRUE(healed.ok) << healed.problem;
    EXPECT_EQ(healed.problem, "");
  }

  tree_type tree_;
  view_type view_;
  std::vector<const std::uint32_t*> cells_;  // of all tables
  std::vector<const table*> tables_;         // below the root
};

template <class Key, class Value>
void damage_every_part(family f, std::size_t n) {
  damaged_tree<Key, Value> tree(f, n);
  tree.lines();
  tree.headers();
  tree.cells();
  tree.subtables();
  tree.aggregates_kept();
}

TEST(StaticTreeValidate, DamageToATreeOfWordsIsNoticed) {
  damage_every_part<std::uint32_t, std::uint32_t>(family::uniform, 3001);
}
TEST(StaticTreeValidate, DamageToATreeOfLongKeysAndDoublesIsNoticed) {
  damage_every_part<std::uint64_t, double>(family::uniform, 3001);
}
TEST(StaticTreeValidate, DamageToATreeOfSignedNumbersIsNoticed) {
  damage_every_part<std::int32_t, std::int64_t>(family::gaussian, 3001);
}

TEST(StaticTreeValidate, DamageToASubTableThatIsCutIsNoticed) {
  damaged_tree<std::uint32_t, std::uint32_t> words(family::adversarial, 6001);
  EXPECT_GT(words.cut_tables(), 0u);
  words.cells();
  words.subtables();
  damaged_tree<std::uint64_t, double> nested(family::nested, 20001);
  EXPECT_GT(nested.cut_tables(), 0u);
  nested.cells();
  nested.subtables();
}

TEST(StaticTreeValidate, DamageToASubTableThatIsHalvedIsNoticed) {
  damaged_tree<std::uint32_t, std::uint32_t> tree(family::adversarial, 2001);
  EXPECT_GT(tree.halved_tables(), 0u);
  tree.lines();
  tree.cells();
  tree.subtables();
}

}  // namespace
}  // namespace espalier::test
