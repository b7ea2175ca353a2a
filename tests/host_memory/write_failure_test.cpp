// write_failure_test.cpp - the 1st, 2nd, 3rd ... allocation on the heap fails while a tree is written to. A call that
// throws has changed nothing, or, if it writes key by key, what `done` says; one that does not has changed all. The
// tree is valid and takes writes afterwards.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <new>
#include <string>
#include <vector>

#include "espalier/blink_tree/blink_tree.hpp"
#include "espalier/hybrid_tree/hybrid_tree.hpp"
#include "espalier/radix_tree/radix_tree.hpp"
#include "espalier/static_tree/static_tree.hpp"
#include "host_memory/failing_new.hpp"
#include "support/less_work.hpp"

namespace espalier::test {
namespace {

using word = std::uint64_t;
using list = std::vector<word>;
using mask = std::vector<std::uint8_t>;
using content = std::map<word, word>;

/// Keys first, first + step, ...
list keys_from(word first, word step, std::size_t n) {
  list keys(n);
  for (std::size_t i = 0; i < n; ++i) keys[i] = first + step * i;
  return keys;
}
list values_for(const list& keys, word salt) {
  list values(keys);
  for (word& v : values) v = v * 3 + salt;
  return values;
}

/// What one batch does to a tree.
enum class kind { insert, insert_or_assign, erase };
struct change {
  kind what;
  list keys, values;
};
const char* name_of(kind what) {
  return what == kind::erase ? "erase" : what == kind::insert ? "insert" : "insert_or_assign";
}
/// New keys between old ones and behind them; old ones with other values; old ones that go.
change inserts(kind what) {
  list keys = keys_from(1, 6, 1500);
  for (const word k : keys_from(100000, 1, 1500)) keys.push_back(k);
  for (const word k : keys_from(0, 30, 200)) keys.push_back(k);
  list values = values_for(keys, 7);
  return {what, std::move(keys), std::move(values)};
}
change erases() { return {kind::erase, keys_from(0, 3, 2500), {}}; }

/// After a call that threw, elements of which `done` says 1 are done if they were written key by key, none if not.
content after(content c, const change& what, const mask& done, bool threw, bool all_or_nothing) {
  if (threw && all_or_nothing) return c;
  for (std::size_t i = 0; i < what.keys.size(); ++i) {
    if (threw && done[i] != 1) continue;
    if (what.what == kind::erase) c.erase(what.keys[i]);
    if (what.what == kind::insert) c.emplace(what.keys[i], what.values[i]);
    if (what.what == kind::insert_or_assign) c[what.keys[i]] = what.values[i];
  }
  return c;
}

template <class Tree>
content content_of(const Tree& tree) {
  const list lo{0}, hi{~word{0}};
  const auto all = tree.range(lo, hi);
  list keys(all.keys.size()), values(all.values.size());
  std::copy_n(all.keys.data(), keys.size(), keys.data());
  std::copy_n(all.values.data(), values.size(), values.data());
  content c;
  for (std::size_t i = 0; i < keys.size(); ++i) c.emplace_hint(c.end(), keys[i], values[i]);
  EXPECT_EQ(c.size(), keys.size()) << "a key is there twice";
  return c;
}
/// Keys as big-endian bytes, eight of each.
std::string bytes_of(const list& keys) {
  std::string bytes;
  for (const word k : keys) {
    for (unsigned shift = 64; shift != 0; shift -= 8) bytes.push_back(static_cast<char>(k >> (shift - 8)));
  }
  return bytes;
}
content content_of(const radix_tree<word>& tree) {
  const auto all = tree.prefix({""});
  const auto values = all.values.to_vector();
  const auto keys = all.keys();
  content c;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    word key = 0;
    for (const char b : keys[i]) key = key << 8 | static_cast<unsigned char>(b);
    c.emplace_hint(c.end(), key, values[i]);
  }
  EXPECT_EQ(c.size(), keys.size()) << "a key is there twice";
  return c;
}

/// `make()` a tree; `write(tree, change, done)`.
template <class Make, class Write>
void sweep(const std::string& name, bool all_or_nothing, const change& what, const Make& make, const Write& write) {
  const change again = inserts(kind::insert_or_assign);
  constexpr std::size_t endless = 2000;
  std::size_t failures = 0;
  for (std::size_t k = 1; k < endless; k += less_work) {
    SCOPED_TRACE(name + ", " + name_of(what.what) + ", allocation " + std::to_string(k) + " fails");
    auto tree = make();
    const content before = content_of(tree);
    mask done(what.keys.size(), 0xa5), all(again.keys.size());
    bool threw = false;
    fail_new_at(k);
    try {
      write(tree, what, done);
    } catch (const std::bad_alloc&) {
      threw = true;
    } catch (const out_of_memory&) {
      threw = true;
    }
    const bool reached = news_since() >= k;
    fail_new_at(0);
    failures += threw ? 1 : 0;
    ASSERT_TRUE(reached || !threw);
    ASSERT_EQ(tree.validate().problem, "");
    const content expected = after(before, what, done, threw, all_or_nothing);
    const content got = content_of(tree);
    ASSERT_EQ(got.size(), expected.size());
    ASSERT_TRUE(got == expected);
    ASSERT_EQ(tree.size(), expected.size());
    write(tree, again, all);
    ASSERT_EQ(tree.validate().problem, "");
    ASSERT_TRUE(content_of(tree) == after(expected, again, all, false, true));
    if (!reached) return;
  }
  ADD_FAILURE() << name << " never stops allocating; it threw " << failures << " times";
}

template <class Policy>
void sweep_blink(const std::string& name) {
  using tree_type = blink_tree<word, word, Policy>;
  const device dev = device::cpu(2);
  const list keys = keys_from(0, 3, 3000), values = values_for(keys, 1);
  for (const write_path path : {write_path::bulk, write_path::per_key}) {
    // Of keys that are there already `done` does not tell whether they were assigned.
    for (const change& what : {inserts(path == write_path::bulk ? kind::insert_or_assign : kind::insert), erases()}) {
      const write_options options{batch_semantics::concurrent, path};
      sweep(
          name + ", " + to_string(path), path == write_path::bulk, what,
          [&] { return tree_type::build(keys, values, {}, dev); },
          [&](tree_type& tree, const change& c, mask& done) {
            if (c.what == kind::erase) tree.erase(c.keys, done, options);
            if (c.what == kind::insert) tree.insert(c.keys, c.values, done, options);
            if (c.what == kind::insert_or_assign) tree.insert_or_assign(c.keys, c.values, done, options);
          });
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(HostMemory, BlinkTree) { sweep_blink<blink_policy<>>("link"); }
TEST(HostMemory, BlinkTreeOfInnerNodes) {
  sweep_blink<blink_policy<protocol::blink, inner_index::inner_nodes>>("inner nodes");
}
TEST(HostMemory, BlinkTreeWithLatchCoupling) {
  sweep_blink<blink_policy<protocol::latch_coupling, inner_index::inner_nodes>>("latch coupling");
}

TEST(HostMemory, HybridTree) {
  using tree_type = hybrid_tree<word, word>;
  const device dev = device::cpu(2);
  const list keys = keys_from(0, 3, 3000), values = values_for(keys, 1);
  for (const hybrid_layout layout : {hybrid_layout::implicit, hybrid_layout::regular}) {
    for (const update_mode way : {update_mode::synchronised, update_mode::asynchronous}) {
      if (layout == hybrid_layout::implicit && way != update_mode::synchronised) continue;
      for (const change& what : {inserts(kind::insert_or_assign), erases()}) {
        hybrid_options options;
        options.layout = layout;
        sweep(
            to_string(layout) + ", " + to_string(way), true, what,
            [&] { return tree_type::build(keys, values, options, dev); },
            [&](tree_type& tree, const change& c, mask& done) {
              if (c.what == kind::erase) {
                tree.erase(c.keys, done, way);
              } else {
                tree.insert_or_assign(c.keys, c.values, done, way);
              }
            });
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(HostMemory, RadixTree) {
  using tree_type = radix_tree<word>;
  const device dev = device::cpu(2);
  const list keys = keys_from(0, 3, 3000), values = values_for(keys, 1);
  const std::string bytes = bytes_of(keys);
  for (const radix_path path : {radix_path::in_place, radix_path::rebuild}) {
    for (const change& what : {inserts(kind::insert_or_assign), erases()}) {
      sweep(
          path == radix_path::in_place ? "in place" : "rebuild", true, what,
          [&] { return tree_type::build(byte_string_batch(bytes, 8), values, {}, dev); },
          [&](tree_type& tree, const change& c, mask& done) {
            const std::string written = bytes_of(c.keys);
            if (c.what == kind::erase) {
              tree.erase(byte_string_batch(written, 8), done, path);
            } else {
              tree.insert_or_assign(byte_string_batch(written, 8), c.values, done, path);
            }
          });
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace espalier::test
