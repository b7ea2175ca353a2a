// blink_script.hpp - what an operation that writes does to a tree, step by step, and what may come back.
//
// Elements of one step run at once, so that some answers depend on who comes first: a find beside an update of the same
// key may see either value. Values follow from keys and have generations (original, changed), hence each answer is
// checked against the few that are right, and the tree afterwards against the only one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/data/answers.hpp"
#include "bench/data/blink_data.hpp"
#include "bench/harness/options.hpp"

namespace espalier::bench {

/// What an answer may say about its key, or'ed.
inline constexpr std::uint8_t absent = 1, original = 2, changed = 4;

enum class step_kind : std::uint8_t { write, apply, find, range };

struct blink_step {
  step_kind what = step_kind::write;
  write_op op = write_op::insert;     ///< write: of all elements
  column ops;                         ///< apply: a blink_op for each element
  column keys, values;                ///< values: what writes bring
  std::vector<std::uint8_t> allowed;  ///< per element; a write that may do nothing allows `absent`
  std::optional<std::uint64_t> done;  ///< how many elements must have been done, where each alone may say either
  range_set ranges;
  answers expected;  ///< of ranges

  [[nodiscard]] std::size_t size() const { return what == step_kind::range ? ranges.size() : keys.size(); }
  [[nodiscard]] bool asks(std::size_t i) const {
    return what == step_kind::find ||
           (what == step_kind::apply && ops.as<std::uint8_t>()[i] == static_cast<std::uint8_t>(blink_op::find));
  }
};

struct blink_script {
  bool from_empty = false;  ///< starts with an empty tree, not with data.tree
  std::vector<blink_step> steps;
  std::uint64_t operations = 0;  ///< what the rate counts
  blink_step contents;           ///< finds that show the tree as it must be afterwards
  std::uint64_t size_after = 0;
};

/// Fresh keys that the operation inserts.
[[nodiscard]] std::uint64_t fresh_needed(operation op, std::uint64_t queries, std::uint64_t batch);

/// Operation `op` with `size` elements on data that has the fresh keys for them.
[[nodiscard]] blink_script make_script(operation op, const blink_data& data, std::uint64_t size,
                                       std::optional<request_order> requests);

/// Columns for the answers to a step: values and done, or offsets, keys and values of ranges.
[[nodiscard]] answers make_answers(const blink_step& step, const data_spec& spec);
/// What is wrong with the answers to a step, as a sentence; nothing if they are right.
[[nodiscard]] std::optional<std::string> wrong_step(const blink_step& step, const data_spec& spec, const answers& out,
                                                    const std::string& who);

}  // namespace espalier::bench
