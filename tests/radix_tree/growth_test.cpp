// growth_test.cpp - every change of a node's kind and every change of a path, one by one and by name.
#include <gtest/gtest.h>

#include <algorithm>

#include "radix_tree/model.hpp"

namespace espalier::test {
namespace {

using subject = radix_subject<std::uint64_t>;

/// Nodes with room for 4, 16, 48, 256 children.
struct kinds {
  std::size_t n4 = 0, n16 = 0, n48 = 0, n256 = 0;
  friend bool operator==(const kinds&, const kinds&) = default;
  friend std::ostream& operator<<(std::ostream& out, const kinds& k) {
    return out << k.n4 << " " << k.n16 << " " << k.n48 << " " << k.n256;
  }
};
kinds operator+(const kinds& a, const kinds& b) { return {a.n4 + b.n4, a.n16 + b.n16, a.n48 + b.n48, a.n256 + b.n256}; }

class RadixTreeGrowth : public testing::TestWithParam<const setting*> {
 protected:
  static kinds kinds_of(const subject& tree) {
    const radix_stats s = tree.tree().stats();
    return {s.nodes[0], s.nodes[1], s.nodes[2], s.nodes[3]};
  }
  static void write(subject& tree, radix_model& m, radix_op op, const strings& keys) {
    const std::vector<std::uint64_t> values(keys.size(), m.all.size() + 1);
    std::vector<std::uint8_t> done;
    tree.write(op, keys, values, done, radix_path::in_place);
    ASSERT_EQ(done, m.apply(op, keys, values));
    ASSERT_EQ(difference(tree, m), "");
  }
  static subject made(radix_model& m, const strings& keys) {
    const std::vector<std::uint64_t> values(keys.size(), 1);
    m.apply(radix_op::insert, keys, values);
    return subject(*GetParam(), keys, values);
  }

  /// A node with `before` children at bytes becomes one with `after`, child by child or in one batch: at the root and
  /// below another node, with and without a key that ends there, whichever children come or go.
  static void change(unsigned before, const kinds& from, unsigned after, const kinds& to) {
    for (const bool at_root : {true, false})
      for (const bool with_end : {false, true})
        for (const bool one_batch : {false, true})
          for (const std::uint64_t seed : {0u, 1u, 2u}) {
            SCOPED_TRACE(std::string(at_root ? "at the root" : "below a node") + (with_end ? ", with an end" : "") +
                         (one_batch ? ", one batch" : "") + ", order " + std::to_string(seed));
            const std::string path = at_root ? "" : "a path";
            const kinds above = at_root ? kinds{} : kinds{1};
            strings children;
            for (unsigned b = 0; b < 256; ++b) children.push_back(path + static_cast<char>(seed == 1 ? 255 - b : b));
            random_words random(seed);
            if (seed == 2) shuffle(children, random);
            const auto first = [&](unsigned n) { return strings(children.begin(), children.begin() + n); };
            strings keys = first(before);
            if (with_end) keys.push_back(path);
            if (!at_root) keys.push_back("beside");
            radix_model m;
            subject tree = made(m, keys);
            ASSERT_EQ(kinds_of(tree), above + from);
            strings changed(children.begin() + std::min(before, after), children.begin() + std::max(before, after));
            const radix_op op = after > before ? radix_op::insert : radix_op::erase;
            if (one_batch) {
              write(tree, m, op, changed);
            } else {
              for (const std::string& k : changed) write(tree, m, op, {k});
            }
            if (HasFatalFailure()) return;
            ASSERT_EQ(kinds_of(tree), above + to);
          }
  }
};

TEST_P(RadixTreeGrowth, SmallGrow4To16) { change(4, {1, 0, 0, 0}, 5, {0, 1, 0, 0}); }
TEST_P(RadixTreeGrowth, SmallGrow16To48) { change(16, {0, 1, 0, 0}, 17, {0, 0, 1, 0}); }
TEST_P(RadixTreeGrowth, SmallGrow48To256) { change(48, {0, 0, 1, 0}, 49, {0, 0, 0, 1}); }
// Kinds shrink a few children below where they grow.
TEST_P(RadixTreeGrowth, SmallShrink256To48) { change(49, {0, 0, 0, 1}, 37, {0, 0, 1, 0}); }
TEST_P(RadixTreeGrowth, SmallShrink48To16) { change(17, {0, 0, 1, 0}, 12, {0, 1, 0, 0}); }
TEST_P(RadixTreeGrowth, SmallShrink16To4) { change(5, {0, 1, 0, 0}, 3, {1, 0, 0, 0}); }
TEST_P(RadixTreeGrowth, SmallKeep4) { change(2, {1, 0, 0, 0}, 4, {1, 0, 0, 0}); }
TEST_P(RadixTreeGrowth, SmallKeep16) { change(5, {0, 1, 0, 0}, 4, {0, 1, 0, 0}); }
TEST_P(RadixTreeGrowth, SmallKeep48) { change(17, {0, 0, 1, 0}, 13, {0, 0, 1, 0}); }
TEST_P(RadixTreeGrowth, SmallKeep256) { change(49, {0, 0, 0, 1}, 38, {0, 0, 0, 1}); }

/// All kinds in one batch, in which a node is replaced while others want to add to it.
TEST_P(RadixTreeGrowth, SmallGrow4To256InOneBatch) {
  radix_model m;
  strings children;
  for (unsigned b = 0; b < 256; ++b) children.push_back(std::string("x") + static_cast<char>(b));
  subject tree = made(m, {children[0], children[1]});
  write(tree, m, radix_op::insert, children);
  EXPECT_EQ(kinds_of(tree), (kinds{0, 0, 0, 1}));
  write(tree, m, radix_op::erase, strings(children.begin() + 2, children.end()));
  EXPECT_EQ(kinds_of(tree), (kinds{1}));
}

TEST_P(RadixTreeGrowth, SmallPlantTheFirstKeyAndEraseTheLast) {
  for (const char* const key : {"", "k", "a key longer than the longest of all the leaves"}) {
    radix_model m;
    subject tree = made(m, {});
    write(tree, m, radix_op::insert, {key});
    EXPECT_EQ(kinds_of(tree), kinds{});
    write(tree, m, radix_op::erase, {key});
    EXPECT_TRUE(tree.tree().empty());
  }
}
TEST_P(RadixTreeGrowth, SmallSplitALeafAndJoinToALeaf) {
  for (const char* const other : {"", "a", "ab", "abd", "abcd", "x"}) {
    radix_model m;
    subject tree = made(m, {"abc"});
    write(tree, m, radix_op::insert, {other});
    EXPECT_EQ(kinds_of(tree), kinds{1}) << other;
    write(tree, m, radix_op::erase, {"abc"});
    EXPECT_EQ(kinds_of(tree), kinds{}) << other;
  }
}
TEST_P(RadixTreeGrowth, SmallSplitAPathAndJoinToANode) {
  const std::string path(1000, 'p');
  for (const std::size_t at : {0u, 1u, 7u, 8u, 500u, 999u}) {
    for (const bool ends : {false, true}) {
      radix_model m;
      subject tree = made(m, {path + "x", path + "y"});
      EXPECT_EQ(kinds_of(tree), kinds{1});
      const std::string key = path.substr(0, at) + (ends ? "" : "q");
      write(tree, m, radix_op::insert, {key});
      EXPECT_EQ(kinds_of(tree), kinds{2});
      write(tree, m, radix_op::erase, {key});
      EXPECT_EQ(kinds_of(tree), kinds{1});
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, RadixTreeGrowth, testing::ValuesIn(all_settings()), setting_name{});

}  // namespace
}  // namespace espalier::test
