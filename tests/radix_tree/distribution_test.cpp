// distribution_test.cpp - batches whose keys lie close together: many of them go into one node, one path or one place
// where there is nothing yet. Each agrees with std::map after each step, whichever way it is done.
#include <gtest/gtest.h>

#include <algorithm>

#include "radix_tree/model.hpp"
#include "support/failing_pool.hpp"
#include "support/less_work.hpp"

namespace espalier::test {
namespace {

using subject = radix_subject<std::uint64_t>;

enum class lie : std::uint8_t {
  behind,         // the next numbers
  between,        // every other number is there
  descending,     // below all that there are
  one_cluster,    // next to each other, among random ones
  many_clusters,  // 1,024 of them
  shared_prefix,  // behind 300 bytes that are the same, some of which are there
  all_equal,
  one_key,
  larger,  // than the tree
  into_empty,
  into_one,     // key, which is the beginning of them all
  ends,         // keys that are the beginning of others, there and new ones
  on_one_path,  // that each of them leaves at another byte
  wide,         // nodes of every kind become nodes of every larger kind
};
constexpr lie all_lies[] = {lie::behind,        lie::between,   lie::descending,  lie::one_cluster, lie::many_clusters,
                            lie::shared_prefix, lie::all_equal, lie::one_key,     lie::larger,      lie::into_empty,
                            lie::into_one,      lie::ends,      lie::on_one_path, lie::wide};
const char* to_string(lie l) {
  static constexpr const char* names[] = {"behind",        "between",   "descending",  "one_cluster", "many_clusters",
                                          "shared_prefix", "all_equal", "one_key",     "larger",      "into_empty",
                                          "into_one",      "ends",      "on_one_path", "wide"};
  return names[static_cast<unsigned>(l)];
}

std::string big_endian(std::uint64_t x) {
  std::string s(8, '\0');
  for (unsigned b = 0; b < 8; ++b) s[7 - b] = static_cast<char>(x >> (8 * b));
  return s;
}

struct work {
  strings there, come;
};
work work_of(lie l, std::size_t n) {
  random_words random(17 + static_cast<unsigned>(l));
  work w;
  const auto random_there = [&] {
    for (std::size_t i = 0; i < 3 * n; ++i) w.there.push_back(random_bytes(random, 8));
  };
  switch (l) {
    case lie::behind:
      for (std::size_t i = 0; i < 3 * n; ++i) w.there.push_back(big_endian(i));
      for (std::size_t i = 0; i < n; ++i) w.come.push_back(big_endian(3 * n + i));
      break;
    case lie::between:
      for (std::size_t i = 0; i < 3 * n; ++i) w.there.push_back(big_endian(2 * i));
      for (std::size_t i = 0; i < n; ++i) w.come.push_back(big_endian(2 * i + 1));
      break;
    case lie::descending:
      for (std::size_t i = 0; i < 3 * n; ++i) w.there.push_back(big_endian((1u << 30) + i));
      for (std::size_t i = 0; i < n; ++i) w.come.push_back(big_endian((1u << 30) - 1 - i));
      break;
    case lie::one_cluster:
      random_there();
      for (std::size_t i = 0; i < n; ++i) w.come.push_back(big_endian((std::uint64_t{123456} << 40) + i));
      break;
    case lie::many_clusters:
      random_there();
      for (std::size_t i = 0; i < n; ++i)
        w.come.push_back(big_endian(std::uint64_t{0x9e3779b97f4a7c15u} * (i % 1024) + i / 1024));
      break;
    case lie::shared_prefix: {
      const std::string prefix = random_bytes(random, 300);
      for (std::size_t i = 0; i < n; ++i)
        w.there.push_back(prefix.substr(0, random.below(301)) + big_endian(i).substr(4));
      for (std::size_t i = 0; i < n; ++i)
        w.come.push_back(prefix.substr(0, random.below(301)) + big_endian(i).substr(5));
      break;
    }
    case lie::all_equal:
      random_there();
      w.come.assign(n, "the same key");
      break;
    case lie::one_key:
      random_there();
      w.come = {"a key"};
      break;
    case lie::larger:
      for (std::size_t i = 0; i < 20; ++i) w.there.push_back(random_bytes(random, 4));
      for (std::size_t i = 0; i < n; ++i) w.come.push_back(random_bytes(random, 4 + i % 3));
      break;
    case lie::into_empty:
      for (std::size_t i = 0; i < n; ++i) w.come.push_back(big_endian(i));
      break;
    case lie::into_one:
      w.there = {"key"};
      for (std::size_t i = 0; i < n; ++i) w.come.push_back("key" + std::to_string(i));
      break;
    case lie::ends:
      for (std::size_t i = 0; i < n; ++i) {
        const std::string s = random_bytes(random, 2 + random.below(30), 3);
        (i % 2 == 0 ? w.there : w.come).push_back(s);
        (i % 3 == 0 ? w.there : w.come).push_back(s.substr(0, random.below(s.size())));
      }
      break;
    case lie::on_one_path:
      w.there = {std::string(290, 'p') + "x", std::string(290, 'p') + "y", std::string(100, 'p') + "y"};
      for (unsigned i = 0; i < 290; ++i) {
        w.come.push_back(std::string(i, 'p') + "a");
        if (i % 3 == 0) w.come.push_back(std::string(i, 'p') + "zz");
        if (i % 7 == 0) w.come.push_back(std::string(i, 'p'));
      }
      break;
    case lie::wide: {
      constexpr unsigned sizes[] = {1, 2, 4, 5, 16, 17, 48, 49, 255};
      for (const unsigned from : sizes)
        for (const unsigned to : sizes)
          for (const bool end : {false, true}) {
            if (to < from) continue;
            const std::string start = "node" + std::to_string(1000 * from + to) + (end ? "e" : "n");
            if (end) (from % 2 == 0 ? w.there : w.come).push_back(start + "path");
            std::vector<unsigned> bytes(256);
            for (unsigned b = 0; b < 256; ++b) bytes[b] = b;
            shuffle(bytes, random);
            for (unsigned c = 0; c < to; ++c)
              (c < from ? w.there : w.come).push_back(start + "path" + static_cast<char>(bytes[c]) + "tail");
          }
      break;
    }
  }
  return w;
}

class RadixTreeDistributions : public testing::TestWithParam<const setting*> {
 protected:
  static void step(subject& tree, radix_model& m, radix_op op, const strings& keys, std::uint64_t first_value,
                   radix_path path) {
    std::vector<std::uint64_t> values(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) values[i] = first_value + i;
    std::vector<std::uint8_t> done(keys.size(), 7);
    tree.write(op, keys, values, done, path);
    ASSERT_EQ(done, m.apply(op, keys, values)) << "operation " << static_cast<int>(op);
    ASSERT_EQ(difference(tree, m), "") << "operation " << static_cast<int>(op);
  }
  static void insert_update_and_erase(std::size_t n, std::initializer_list<radix_path> paths) {
    for (const lie l : all_lies)
      for (const radix_path path : paths)
        for (const bool in_order : {true, false}) {
          SCOPED_TRACE(std::string(to_string(l)) + ", path " + std::to_string(static_cast<int>(path)) +
                       (in_order ? "" : ", shuffled"));
          work w = work_of(l, n);
          random_words random(5);
          if (!in_order) shuffle(w.come, random);
          radix_model m;
          const std::vector<std::uint64_t> values(w.there.size(), 1);
          m.apply(radix_op::insert_or_assign, w.there, values);
          subject tree(*GetParam(), w.there, values);
          const strings half(w.come.begin(), w.come.begin() + static_cast<std::ptrdiff_t>((w.come.size() + 1) / 2));
          step(tree, m, radix_op::insert, half, 1000000, path);
          step(tree, m, radix_op::insert_or_assign, w.come, 2000000, path);
          step(tree, m, radix_op::update, w.come, 3000000, path);
          step(tree, m, radix_op::erase, half, 0, path);
          step(tree, m, radix_op::insert, half, 4000000, path);
          step(tree, m, radix_op::erase, w.come, 0, path);
          step(tree, m, radix_op::erase, w.there, 0, path);
          ASSERT_TRUE(tree.tree().empty());
          step(tree, m, radix_op::insert, w.come, 5000000, path);
          if (HasFatalFailure()) return;
        }
  }
};

TEST_P(RadixTreeDistributions, SmallBatchesAgree) {
  insert_update_and_erase(less_work > 1 ? 60 : 300, {radix_path::in_place, radix_path::automatic});
}
TEST_P(RadixTreeDistributions, LargeBatchesAgree) {
  insert_update_and_erase(20000 / less_work, {radix_path::in_place});
}

TEST_P(RadixTreeDistributions, SmallBatchesOneAfterTheOther) {
  for (const lie l : {lie::behind, lie::descending, lie::between, lie::ends}) {
    SCOPED_TRACE(to_string(l));
    work w = work_of(l, less_work > 1 ? 60 : 400);
    radix_model m;
    const std::vector<std::uint64_t> values(w.there.size(), 1);
    m.apply(radix_op::insert_or_assign, w.there, values);
    subject tree(*GetParam(), w.there, values);
    for (const radix_op op : {radix_op::insert, radix_op::erase})
      for (std::size_t i = 0; i < w.come.size(); i += 9) {
        const auto first = w.come.begin() + static_cast<std::ptrdiff_t>(i);
        step(tree, m, op,
             strings(first, first + static_cast<std::ptrdiff_t>(std::min<std::size_t>(9, w.come.size() - i))), i,
             radix_path::automatic);
        if (HasFatalFailure()) return;
      }
  }
}

TEST_P(RadixTreeDistributions, SmallWritesWithoutMemoryChangeNothing) {
  const auto pool = std::make_shared<failing_pool>(GetParam()->dev.pool());
  const device dev = GetParam()->dev.with_pool(pool);
  for (const lie l : {lie::behind, lie::shared_prefix, lie::on_one_path, lie::wide, lie::into_empty}) {
    work w = work_of(l, less_work > 1 ? 30 : 60);
    const std::vector<std::uint64_t> values(w.there.size(), 1), brought(w.come.size(), 2);
    constexpr std::size_t stride = less_work > 1 ? 5 : 1;  // sanitizers look at every fifth allocation
    for (const radix_op op : {radix_op::insert, radix_op::insert_or_assign, radix_op::erase}) {
      SCOPED_TRACE(std::string(to_string(l)) + ", operation " + std::to_string(static_cast<int>(op)));
      radix_model m;
      m.apply(radix_op::insert_or_assign, w.there, values);
      const std::vector<std::uint64_t> none(w.come.size(), 3);
      if (op == radix_op::erase) m.apply(radix_op::insert, w.come, none);
      std::size_t failures = 0;
      for (std::size_t k = 1;; k += stride) {
        ASSERT_LT(k, 5000u) << "never stops allocating";
        subject tree(*GetParam(), dev, w.there, values);
        std::vector<std::uint8_t> done(w.come.size());
        if (op == radix_op::erase) tree.write(radix_op::insert, w.come, none, done, radix_path::in_place);
        radix_model after = m;
        pool->fail_at(k);
        bool threw = false;
        try {
          tree.write(op, w.come, brought, done, radix_path::in_place);
        } catch (const out_of_memory&) {
          threw = true;
          ++failures;
        }
        pool->fail_at(0);
        if (!threw) after.apply(op, w.come, brought);
        ASSERT_EQ(difference(tree, after), "") << "allocation " << k;
        // And goes on.
        if (threw && k % 7 == 0) {
          tree.write(op, w.come, brought, done, radix_path::in_place);
          after.apply(op, w.come, brought);
          ASSERT_EQ(difference(tree, after), "") << "after allocation " << k;
        }
        if (!threw) break;
      }
      EXPECT_GT(failures, 0u);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, RadixTreeDistributions, testing::ValuesIn(all_settings()), setting_name{});

}  // namespace
}  // namespace espalier::test
