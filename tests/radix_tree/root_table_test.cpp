// root_table_test.cpp - the root table while keys come and go in place: it begins where the keys first differ, and has
// as many cells as so many keys are worth, however they came.
#include <gtest/gtest.h>

#include "radix_tree/answers.hpp"
#include "support/less_work.hpp"

namespace espalier::test {
namespace {

using subject = radix_subject<std::uint64_t>;

std::string bytes_of_number(std::uint64_t x, unsigned size = 8) {
  std::string s(size, '\0');
  for (unsigned b = 0; b < 8 && b < size; ++b) s[b] = static_cast<char>(x >> (56 - 8 * b));
  return s;
}
strings numbers_from(std::uint64_t first, std::size_t n, std::uint64_t step = 1) {
  strings keys;
  for (std::size_t i = 0; i < n; ++i) keys.push_back(bytes_of_number(first + i * step));
  return keys;
}

class RadixRootTable : public testing::TestWithParam<const setting*> {
 protected:
  static void write(subject& tree, radix_model& m, radix_op op, const strings& keys) {
    const std::vector<std::uint64_t> values(keys.size(), m.all.size() + 1);
    std::vector<std::uint8_t> done;
    tree.write(op, keys, values, done, radix_path::in_place);
    ASSERT_EQ(done, m.apply(op, keys, values));
    ASSERT_EQ(difference(tree, m), "");
  }
  /// Keys that are there, some beside them, and some that share bits with a cell but no byte before it.
  static void ask(const subject& tree, const radix_model& m) {
    strings asked;
    std::size_t i = 0;
    for (const auto& [key, value] : m.all) {
      if (i++ % (m.all.size() / 40 + 1) != 0) continue;
      asked.push_back(key);
      std::string other = key;
      if (other.empty()) continue;
      other.back() = static_cast<char>(other.back() + 1);
      asked.push_back(other);
      for (std::size_t at = 0; at < key.size(); at += 2) {
        other = key;
        other[at] = static_cast<char>(other[at] ^ 0x41);
        asked.push_back(other);
      }
      asked.push_back(key.substr(0, key.size() / 2));
      asked.push_back(key + "more");
    }
    ASSERT_EQ(wrong_answer(tree, m, asked), "");
  }
  static subject made(radix_model& m, const strings& keys, const radix_options& options = {}) {
    const std::vector<std::uint64_t> values(keys.size(), 1);
    m.apply(radix_op::insert, keys, values);
    return subject(*GetParam(), GetParam()->dev, keys, values, options);
  }
};

TEST_P(RadixRootTable, BeginsEarlierWhenKeysComeThatDifferEarlier) {
  radix_model m;
  subject tree = made(m, numbers_from(0, 3000));
  const unsigned bits = tree.tree().stats().table_bits;
  ASSERT_GT(bits, 0u);
  // Each differs from all before at an earlier byte; then one more key, which changes one cell.
  for (const unsigned byte : {2u, 3u, 5u, 7u}) {
    SCOPED_TRACE("byte " + std::to_string(7 - byte));
    write(tree, m, radix_op::insert, numbers_from(std::uint64_t{3} << (8 * byte), 40, 7));
    EXPECT_EQ(tree.tree().stats().table_bits, bits);
    ask(tree, m);
    write(tree, m, radix_op::insert, numbers_from((std::uint64_t{3} << (8 * byte)) + 3, 1));
    write(tree, m, radix_op::insert, numbers_from(5000 + byte, 1));
    ask(tree, m);
    write(tree, m, radix_op::erase, numbers_from(std::uint64_t{3} << (8 * byte), 20, 7));
    write(tree, m, radix_op::erase, numbers_from(100 * byte, 50));
    ask(tree, m);
    if (HasFatalFailure()) return;
  }
}

TEST_P(RadixRootTable, GrowsWithTheTreeHoweverSmallTheBatches) {
  const std::size_t n = 6000 / less_work;
  for (const bool random : {false, true}) {
    SCOPED_TRACE(random ? "random" : "ascending");
    strings keys = numbers_from(0, n);
    random_words words(3);
    if (random) {
      for (std::string& k : keys) k = random_bytes(words, 8);
    }
    radix_model m, all;
    subject tree = made(m, {});
    const unsigned at_once = made(all, keys).tree().stats().table_bits;
    for (std::size_t i = 0; i < n; i += n / 30) {
      write(tree, m, radix_op::insert,
            strings(keys.begin() + static_cast<std::ptrdiff_t>(i),
                    keys.begin() + static_cast<std::ptrdiff_t>(std::min(n, i + n / 30))));
      if (HasFatalFailure()) return;
    }
    ask(tree, m);
    // It grows when there are four times as many keys.
    EXPECT_GE(tree.tree().stats().table_bits + 2, at_once);
    EXPECT_LE(tree.tree().stats().table_bytes, 8 * n);
  }
}

// Cells end within a byte; keys are shorter than the table; nodes branch behind it, in its last byte and before it.
TEST_P(RadixRootTable, OfAnyWidthIsMadeFromNodes) {
  random_words words(11);
  strings late;
  for (unsigned i = 0; i < 400; ++i) {
    const std::string common(words.below(3), 'c');
    late.push_back("p" + common + random_bytes(words, 1 + words.below(6), 5));
  }
  for (const unsigned bits : {1u, 5u, 8u, 11u, 16u, 17u}) {
    SCOPED_TRACE(std::to_string(bits) + " bits");
    radix_options options;
    options.table_bits = bits;
    radix_model m;
    subject tree = made(m, {"p"}, options);  // one leaf: no table yet
    for (std::size_t i = 0; i < late.size(); i += 100)
      write(
          tree, m, radix_op::insert_or_assign,
          strings(late.begin() + static_cast<std::ptrdiff_t>(i), late.begin() + static_cast<std::ptrdiff_t>(i + 100)));
    EXPECT_EQ(tree.tree().stats().table_bits, bits);
    ask(tree, m);
    write(tree, m, radix_op::insert_or_assign, {"another", "", "q"});
    ask(tree, m);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(, RadixRootTable, testing::ValuesIn(all_settings()), setting_name{});

}  // namespace
}  // namespace espalier::test
