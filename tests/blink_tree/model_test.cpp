// model_test.cpp - for any sequence of writes, any batches and any paths, the tree holds what a std::map would.
//
// RapidCheck draws and shrinks the sequence. Its containers are short, so each key it draws stands for a run of
// neighbours: a few of them overflow a node, and erasing runs merges nodes. The structure is validated and the whole
// content compared after each step.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <ostream>

#include "support/blink_subject.hpp"

namespace espalier::test {
namespace {

enum class action { insert, insert_or_assign, update, erase, apply, maintain, clear };

struct model_step {
  action what = action::insert;
  std::vector<std::uint8_t> runs;
  unsigned length = 1;     ///< of each run
  unsigned distance = 1;   ///< between neighbours of a run
  std::uint64_t seed = 0;  ///< of the order within the batch, and of mixed operations
  write_options how;
};

std::ostream& operator<<(std::ostream& out, const model_step& s) {
  static constexpr const char* names[] = {"insert", "insert_or_assign", "update", "erase",
                                          "apply",  "maintain",         "clear"};
  out << names[static_cast<unsigned>(s.what)] << " runs {";
  for (const unsigned run : s.runs) out << " " << run;
  return out << " } of " << s.length << " at distance " << s.distance << ", seed " << s.seed << ", "
             << to_string(s.how);
}

rc::Gen<model_step> any_step() {
  using enum action;
  return rc::gen::build<model_step>(
      rc::gen::set(
          &model_step::what,
          rc::gen::weightedElement<action>(
              {{6, insert}, {3, insert_or_assign}, {2, update}, {5, erase}, {5, apply}, {2, maintain}, {1, clear}})),
      rc::gen::set(&model_step::runs,
                   rc::gen::container<std::vector<std::uint8_t>>(rc::gen::inRange<std::uint8_t>(0, 40))),
      rc::gen::set(&model_step::length, rc::gen::inRange(1u, 30u)),
      rc::gen::set(&model_step::distance, rc::gen::element(1u, 1u, 3u)),
      rc::gen::set(&model_step::seed, rc::gen::inRange<std::uint64_t>(0, 1000)),
      rc::gen::set(&model_step::how,
                   rc::gen::construct<write_options>(
                       rc::gen::element(batch_semantics::concurrent, batch_semantics::ordered),
                       rc::gen::element(write_path::per_key, write_path::bulk, write_path::automatic))));
}

/// Runs start 16 apart, so that long ones overlap: equal keys in one batch are the rule.
template <class Key>
array<Key> keys_of(const model_step& s) {
  array<Key> keys(s.runs.size() * s.length);
  std::size_t i = 0;
  for (const unsigned run : s.runs) {
    for (unsigned j = 0; j < s.length; ++j) keys[i++] = static_cast<Key>(16 * run + j * s.distance) - Key{300};
  }
  random_words random(s.seed);
  if (s.seed % 3 == 0) shuffle(keys, random);
  return keys;
}
array<blink_op> ops_of(const model_step& s, std::size_t n) {
  random_words random(s.seed + 1);
  array<blink_op> ops(n);
  for (blink_op& op : ops) op = static_cast<blink_op>(random.below(5));
  return ops;
}

template <class Subject, class Key>
void take(Subject& subject, const model_step& s, const array<Key>& keys) {
  switch (s.what) {
    case action::insert:
      return subject.write(write_op::insert, keys, s.how);
    case action::insert_or_assign:
      return subject.write(write_op::insert_or_assign, keys, s.how);
    case action::update:
      return subject.write(write_op::update, keys, s.how);
    case action::erase:
      return subject.write(write_op::erase, keys, s.how);
    case action::apply: {
      // Many overlapping writes to one key cannot be told apart in reasonable time.
      write_options how = s.how;
      if (s.runs.size() > 6) how.semantics = batch_semantics::ordered;
      return subject.apply(ops_of(s, keys.size()), keys, how);
    }
    case action::maintain:
      return subject.maintain();
    case action::clear:
      return subject.clear();
  }
}

template <class Key, class Value, class Policy>
void check_any_sequence(const setting& dev) {
  const auto steps = *rc::gen::container<std::vector<model_step>>(any_step());
  const double fill = *rc::gen::element(0.25, 0.75, 1.0);
  blink_subject<Key, Value, Policy> subject(dev, blink_options{fill});
  for (const model_step& s : steps) {
    take(subject, s, keys_of<Key>(s));
    subject.check_content();
    RC_ASSERT(!testing::Test::HasFailure());
  }
}

template <class Key, class Value, class Policy = blink_policy<>>
void check_everywhere() {
  for (const setting* s : host_span_settings()) {
    EXPECT_TRUE(rc::check(s->name, [s] { check_any_sequence<Key, Value, Policy>(*s); }));
  }
}

TEST(BlinkTreeModel, AnySequenceOnU32Keys) { check_everywhere<std::uint32_t, std::uint32_t>(); }
TEST(BlinkTreeModel, AnySequenceOnI64KeysAndLargeValues) { check_everywhere<std::int64_t, pair_of_words>(); }
TEST(BlinkTreeModel, AnySequenceOnDoubleKeys) { check_everywhere<double, std::uint64_t>(); }
TEST(BlinkTreeModel, AnySequenceOnNarrowNodes) {
  check_everywhere<std::uint32_t, std::uint32_t, blink_policy<protocol::blink, inner_index::express_lane, 8>>();
}
TEST(BlinkTreeModel, AnySequenceWithInnerNodesOnly) {
  check_everywhere<std::uint64_t, std::uint64_t, blink_policy<protocol::blink, inner_index::inner_nodes>>();
}
TEST(BlinkTreeModel, AnySequenceWithCoupledLatches) {
  check_everywhere<std::uint32_t, std::uint32_t, blink_policy<protocol::latch_coupling, inner_index::inner_nodes>>();
}
TEST(BlinkTreeModel, AnySequenceWithoutLatches) {
  check_everywhere<std::uint64_t, std::uint64_t, blink_policy<protocol::single_writer, inner_index::express_lane>>();
}

}  // namespace
}  // namespace espalier::test
