// blink_script.hpp - the steps of an operation that writes, and their permitted results.
//
// Elements of one step run concurrently, so some results depend on the order: a find concurrent with an update of the
// same key may return either value. Values are derived from keys and have generations (original, changed), so each
// result is checked against the few permitted ones, and the final tree against the only one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/data/answers.hpp"
#include "bench/data/blink_data.hpp"
#include "bench/harness/options.hpp"

namespace espalier::bench {

/// The states that a result may report for its key, as a bit mask.
inline constexpr std::uint8_t absent = 1, original = 2, changed = 4;

enum class step_kind : std::uint8_t { write, apply, find, range };

struct blink_step {
  step_kind what = step_kind::write;
  write_op op = write_op::insert;     ///< write: operation of all elements
  column ops;                         ///< apply: a blink_op per element
  column keys, values;                ///< values: new values of writes
  std::vector<std::uint8_t> allowed;  ///< per element; a write that may have no effect permits `absent`
  std::optional<std::uint64_t> done;  ///< number of elements that must be done, if each may be either
  range_set ranges;
  answers expected;  ///< for ranges

  [[nodiscard]] std::size_t size() const { return what == step_kind::range ? ranges.size() : keys.size(); }
  [[nodiscard]] bool asks(std::size_t i) const {
    return what == step_kind::find ||
           (what == step_kind::apply && ops.as<std::uint8_t>()[i] == static_cast<std::uint8_t>(blink_op::find));
  }
};

struct blink_script {
  bool from_empty = false;  ///< starts with an empty tree instead of data.tree
  std::vector<blink_step> steps;
  std::uint64_t operations = 0;  ///< number of operations that the rate counts
  blink_step contents;           ///< finds that check the final content of the tree
  std::uint64_t size_after = 0;
};

/// Returns the number of fresh keys that the operation inserts.
[[nodiscard]] std::uint64_t fresh_needed(operation op, std::uint64_t queries, std::uint64_t batch);

/// Returns operation `op` with `size` elements on data that includes the fresh keys for them.
[[nodiscard]] blink_script make_script(operation op, const blink_data& data, std::uint64_t size,
                                       std::optional<request_order> requests);

/// Returns columns for the results of a step: values and done, or offsets, keys and values of ranges.
[[nodiscard]] answers make_answers(const blink_step& step, const data_spec& spec);
/// Returns the first error in the results of a step as a sentence, or nothing if they are correct.
[[nodiscard]] std::optional<std::string> wrong_step(const blink_step& step, const data_spec& spec, const answers& out,
                                                    const std::string& who);

}  // namespace espalier::bench
