// distribution_test.cpp - batches that lie beside the keys of a tree in every way that benchmarks know, one after the
// other, by every path, from nothing on: the tree holds what a map would.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "support/blink_subject.hpp"
#include "support/less_work.hpp"

namespace espalier::test {
namespace {

constexpr std::size_t batch_keys = 3000 / less_work;
constexpr std::uint64_t middle = 1u << 30, gap = 5000;  // between the keys that a tree begins with

/// Key i of batch `round`. Distributions leave room for the others, so that each works on what those before it left.
struct distribution {
  const char* name;
  std::function<std::uint64_t(std::uint64_t round, std::uint64_t i, random_words& random)> key;
};
const std::vector<distribution>& distributions() {
  static const std::vector<distribution> all = {
      {"append sorted",
       [](std::uint64_t r, std::uint64_t i, random_words&) { return 2 * middle + r * 100000 + 3 * i; }},
      {"append shuffled", [](std::uint64_t r, std::uint64_t i,
                             random_words&) { return 2 * middle + r * 100000 + (i * 7919 % batch_keys) * 3; }},
      {"one cluster", [](std::uint64_t r, std::uint64_t i, random_words&) { return middle + r * batch_keys + i; }},
      {"sixteen clusters",
       [](std::uint64_t r, std::uint64_t i, random_words&) { return middle + i % 16 * gap * 17 + r * 1000 + i / 16; }},
      {"skewed",
       [](std::uint64_t, std::uint64_t, random_words& random) {
         return middle + random.below(1 + random.below(1 + random.below(gap * 900)));
       }},
      {"ascending", [](std::uint64_t r, std::uint64_t i, random_words&) { return middle + i * gap / 3 + r; }},
      {"descending", [](std::uint64_t r, std::uint64_t i, random_words&) { return middle - r * 100000 - 2 * i; }},
      {"random", [](std::uint64_t, std::uint64_t, random_words& random) { return random.below(3 * middle); }},
      {"all equal", [](std::uint64_t r, std::uint64_t, random_words&) { return middle + r; }},
      {"the largest keys", [](std::uint64_t, std::uint64_t i, random_words&) { return 0xffffffffu - i; }},
  };
  return all;
}
template <class Key>
array<Key> batch_of(const distribution& d, std::uint64_t round, std::size_t n) {
  random_words random(round * 31 + n);
  array<Key> keys(n);
  for (std::size_t i = 0; i < n; ++i) keys[i] = static_cast<Key>(d.key(round, i, random));
  return keys;
}

/// Three batches of each distribution into one tree, which begins with n keys; then half of what came goes.
template <class Key, class Value>
void check_distributions(const setting& dev, std::size_t n, const write_options& options) {
  array<Key> keys(n);
  for (std::size_t i = 0; i < n; ++i) keys[i] = static_cast<Key>(middle + i * gap);
  blink_subject<Key, Value> subject(dev, keys);
  for (const distribution& d : distributions()) {
    SCOPED_TRACE(std::string(d.name) + " into " + std::to_string(n) + ", " + to_string(options));
    for (std::uint64_t round = 0; round < 3; ++round) {
      subject.insert(batch_of<Key>(d, round, batch_keys), options);
      if (round == 1) subject.check_content();  // with a lane that was not made yet, and with one that was
    }
    subject.write(write_op::insert_or_assign, batch_of<Key>(d, 2, batch_keys / 2), options);
    subject.erase(batch_of<Key>(d, 1, batch_keys), options);
    subject.check_content();
    if (testing::Test::HasFailure()) return;
  }
}

class BlinkTreeDistributions : public testing::TestWithParam<const setting*> {};

TEST_P(BlinkTreeDistributions, HoldWhatAMapWouldU64) {
  for (const write_path path : all_paths) {
    check_distributions<std::uint64_t, std::uint64_t>(*GetParam(), 20000 / less_work, {batch_semantics::ordered, path});
    check_distributions<std::uint64_t, std::uint64_t>(*GetParam(), 0, {batch_semantics::concurrent, path});
  }
}
TEST_P(BlinkTreeDistributions, HoldWhatAMapWouldU32) {
  for (const write_path path : all_paths)
    check_distributions<std::uint32_t, std::uint32_t>(*GetParam(), 20000 / less_work,
                                                      {batch_semantics::concurrent, path});
}

/// Merges leave the lane to the first call that needs it: any call may be that one.
TEST_P(BlinkTreeDistributions, AppendedBatchesAreSeenByEveryCall) {
  using key = std::uint64_t;
  const std::size_t n = 20000;
  array<key> keys(n);
  for (std::size_t i = 0; i < n; ++i) keys[i] = i * 3;
  const write_options bulk{batch_semantics::concurrent, write_path::bulk};
  const std::vector<std::function<void(blink_subject<key, key>&, key)>> calls = {
      [](blink_subject<key, key>& s, key next) {  // a find
        lent<key> asked(s.here(), array<key>{next - 3}), out(s.here(), 1);
        lent<std::uint8_t> found(s.here(), 1);
        s.tree().find(asked.in(), out.span(), found.span());
        EXPECT_EQ(found.get()[0], 1);
      },
      [](blink_subject<key, key>& s, key next) {
        s.insert(array<key>{next + 1000000}, {{}, write_path::per_key});
      },
      [](blink_subject<key, key>& s, key next) {
        s.erase(array<key>{next - 3}, {{}, write_path::per_key});
      },
      [](blink_subject<key, key>& s, key next) {
        s.erase(array<key>{next - 3}, {{}, write_path::bulk});
      },
      [](blink_subject<key, key>& s, key next) {
        s.write(write_op::update, array<key>{next - 3}, {{}, write_path::bulk});
      },
      [](blink_subject<key, key>& s, key) { (void)s.tree().ref(10); },
      [](blink_subject<key, key>& s, key) { s.maintain(); },
      [](blink_subject<key, key>& s, key next) {  // a count
        lent<key> lo(s.here(), array<key>{0}), hi(s.here(), array<key>{next});
        lent<std::uint64_t> counts(s.here(), 1);
        s.tree().count(lo.in(), hi.in(), counts.span());
        EXPECT_EQ(counts.get()[0], s.model().size());
      },
      [](blink_subject<key, key>& s, key next) {
        s.insert(array<key>{5, next + 500000, 7}, {{}, write_path::bulk});
      },
  };
  for (std::size_t i = 0; i < calls.size(); ++i) {
    SCOPED_TRACE("call " + std::to_string(i));
    blink_subject<key, key> subject(*GetParam(), keys);
    key next = n * 3;
    for (int round = 0; round < 4; ++round) {
      array<key> more(500);
      for (key& k : more) k = next, next += 3;
      subject.insert(more, bulk);
      subject.insert(array<key>{next, next + 3}, bulk);
      next += 6;
    }
    calls[i](subject, next);
    subject.check_content();
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(, BlinkTreeDistributions, testing::ValuesIn(host_span_settings()), setting_name{});

}  // namespace
}  // namespace espalier::test
