// model_test.cpp - for any sequence of writes, any batches, paths and ways to call, a radix tree holds what a std::map
// would, and answers like it. RapidCheck draws and shrinks the sequence.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <ostream>

#include "radix_tree/answers.hpp"
#include "support/less_work.hpp"

namespace espalier::test {
namespace {

struct model_step {
  radix_op what = radix_op::insert;
  strings keys;
  strings asked;
  radix_path path = radix_path::automatic;
  interval ends = interval::closed;
  bool asks = true;  ///< else several writes come without a question between them
};

std::ostream& operator<<(std::ostream& out, const model_step& s) {
  static constexpr const char* names[] = {"insert", "insert_or_assign", "update", "erase"};
  out << names[static_cast<unsigned>(s.what)] << " by path " << static_cast<unsigned>(s.path) << " {";
  for (const std::string& k : s.keys) out << " " << testing::PrintToString(k);
  return out << " }" << (s.asks ? ", asked" : "");
}

/// Short keys over few symbols meet in nodes and end within each other; repeated ones make long paths and wide nodes.
rc::Gen<std::string> any_key() {
  const auto part =
      rc::gen::map(rc::gen::pair(rc::gen::element<std::string>("", std::string(1, '\0'), "\x01", "a", "b", "\xff"),
                                 rc::gen::weightedElement<std::size_t>({{12, 1}, {2, 9}, {1, 40}})),
                   [](const std::pair<std::string, std::size_t>& p) {
                     std::string s;
                     for (std::size_t i = 0; i < p.second; ++i) s += p.first;
                     return s;
                   });
  const auto rows = rc::gen::map(rc::gen::container<strings>(part), [](const strings& parts) {
    std::string s;
    for (std::size_t i = 0; i < parts.size() && i < 6; ++i) s += parts[i];
    return s;
  });
  const auto wide =
      rc::gen::map(rc::gen::inRange(0, 256), [](int b) { return "w" + std::string(1, static_cast<char>(b)); });
  return rc::gen::weightedOneOf<std::string>({{3, rows}, {2, wide}});
}

rc::Gen<model_step> any_step() {
  using enum radix_op;
  return rc::gen::build<model_step>(
      rc::gen::set(&model_step::what,
                   rc::gen::weightedElement<radix_op>({{4, insert}, {2, insert_or_assign}, {2, update}, {3, erase}})),
      rc::gen::set(&model_step::keys, rc::gen::container<strings>(any_key())),
      rc::gen::set(&model_step::asked, rc::gen::container<strings>(any_key())),
      rc::gen::set(&model_step::path,
                   rc::gen::element(radix_path::automatic, radix_path::in_place, radix_path::rebuild)),
      rc::gen::set(&model_step::ends,
                   rc::gen::element(interval::closed, interval::right_open, interval::left_open, interval::open)),
      rc::gen::set(&model_step::asks, rc::gen::weightedElement<bool>({{2, true}, {1, false}})));
}

void check_any_sequence(const setting& dev) {
  const auto steps = *rc::gen::resize(less_work > 1 ? 12 : 25, rc::gen::container<std::vector<model_step>>(any_step()));
  const auto how = *rc::gen::element(calls::wait, calls::enqueue);
  const auto bits = *rc::gen::element(radix_options::automatic + 0, 0u, 5u, 11u);
  radix_options options;
  options.table_bits = bits;
  radix_model m;
  radix_subject<std::uint64_t> tree(dev, {}, {}, options, how);
  for (std::size_t i = 0; i < steps.size() && i < 8; ++i) {
    const model_step& s = steps[i];
    std::vector<std::uint64_t> values(s.keys.size());
    for (std::size_t j = 0; j < values.size(); ++j) values[j] = 1000 * i + j;
    std::vector<std::uint8_t> done;
    tree.write(s.what, s.keys, values, done, s.path);
    RC_ASSERT(done == m.apply(s.what, s.keys, values));
    if (!s.asks) continue;
    RC_ASSERT(difference(tree, m) == "");
    strings asked = s.asked;
    asked.insert(asked.end(), s.keys.begin(), s.keys.end());
    RC_ASSERT(wrong_answer(tree, m, asked, s.ends) == "");
  }
}

TEST(RadixTreeModel, AnySequenceOfWritesAndQuestionsAgreesWithAMap) {
  for (const setting* s : all_settings()) {
    EXPECT_TRUE(rc::check(s->name, [s] { check_any_sequence(*s); }));
  }
}

}  // namespace
}  // namespace espalier::test
