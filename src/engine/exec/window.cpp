// window.cpp - the operator of window functions. Rows are sorted once by the keys of the node, and every call writes
// its results at the rows of the input, so that no column of the input is copied.
#include <arrow/array/util.h>
#include <arrow/chunked_array.h>
#include <arrow/scalar.h>

#include <map>

#include "engine/exec/executor.hpp"
#include "engine/exec/window_frames.hpp"
#include "engine/exec/window_ranks.hpp"
#include "engine/exec/window_rows.hpp"
#include "engine/exec/window_sums.hpp"
#include "engine/expr/sql_arrow_status.hpp"
#include "engine/keys/groups.hpp"
#include "engine/memory_budget.hpp"

namespace espalier::engine {
namespace {

bool same_or_null(const expr_ptr& a, const expr_ptr& b) { return a && b ? same(*a, *b) : a == b; }

bool same_frame(const window_call& a, const window_call& b) {
  return a.partition_keys == b.partition_keys && a.order_keys == b.order_keys && same(a.frame, b.frame) &&
         same_or_null(a.range_key, b.range_key) && same_or_null(a.range_start, b.range_start) &&
         same_or_null(a.range_end, b.range_end);
}

// Evaluates the calls of one node. Calls share partitions and frames.
class window_run {
 public:
  window_run(const evaluation& values, const relation& input, const window_node& node)
      : values_(values), input_(input), node_(node), order_(sort_columns(), static_cast<std::size_t>(input.rows)) {}

  [[nodiscard]] std::shared_ptr<arrow::ChunkedArray> result(const window_call& call) {
    const auto& runs = runs_of(call);
    const auto argument = [&](std::size_t i) {
      return i < call.arguments.size() ? column(call.arguments[i]) : nullptr;
    };
    if (is_rank_function(call.function)) {
      return rank_values(call.function, argument(0), order_, runs, call.position);
    }
    // Row numbers of the input, or a deque and its words.
    const memory_claim claim(static_cast<std::size_t>(input_.rows) * 32);
    if (call.function == "lag" || call.function == "lead") {
      return shifted_values({argument(0), argument(1), argument(2), call.function == "lead"}, order_, runs);
    }
    const auto& frames = frames_of_call(call, runs);
    if (call.function == "count") return counts_of_frames(argument(0), order_, frames);
    if (call.function == "sum" || call.function == "avg") {
      return sums_of_frames(call, argument(0), order_, runs, frames);
    }
    if (call.function == "min" || call.function == "max") {
      return extreme_of_frame(argument(0), call.function == "min", order_, runs, frames);
    }
    return value_of_frame(call.function, argument(0), argument(1), order_, frames, call.position);
  }

 private:
  [[nodiscard]] std::shared_ptr<arrow::ChunkedArray> column(const expr_ptr& e) const {
    return e ? values_.column(e, input_) : nullptr;
  }

  // The order of partitions does not matter, and words for equality are cheaper than words in order.
  [[nodiscard]] bool is_ordered(std::size_t key) const {
    return std::any_of(node_.calls.begin(), node_.calls.end(), [&](const window_call& call) {
      return key >= call.partition_keys && key < call.partition_keys + call.order_keys;
    });
  }

  [[nodiscard]] std::vector<sort_column> sort_columns() const {
    std::vector<sort_column> out;
    for (std::size_t i = 0; i < node_.keys.size(); ++i) {
      const auto& key = node_.keys[i];
      const auto values = column(key.value);
      out.push_back({is_ordered(i) ? ordered_codes(*values) : group_codes(*values), key.descending, key.nulls_first});
    }
    return out;
  }

  const window_runs& runs_of(const window_call& call) {
    auto& out = runs_[{call.partition_keys, call.order_keys}];
    if (out.partitions.empty()) {
      out = {order_.runs(call.partition_keys), order_.runs(call.partition_keys + call.order_keys)};
    }
    return out;
  }

  const frame_rows& frames_of_call(const window_call& call, const window_runs& runs) {
    for (const auto& [other, frames] : frames_) {
      if (same_frame(*other, call)) return *frames;
    }
    frame_values values;
    if (call.frame.start_offset) values.start_offset = values_.constant(call.frame.start_offset);
    if (call.frame.end_offset) values.end_offset = values_.constant(call.frame.end_offset);
    values.range_key = column(call.range_key);
    values.range_start = column(call.range_start);
    values.range_end = column(call.range_end);
    if (call.order_keys > 0) values.descending = node_.keys[call.partition_keys].descending;
    frames_.emplace_back(&call, std::make_unique<frame_rows>(frames_of(call.frame, values, order_, runs)));
    return *frames_.back().second;
  }

  const evaluation& values_;
  const relation& input_;
  const window_node& node_;
  window_order order_;
  std::map<std::pair<std::size_t, std::size_t>, window_runs> runs_;
  std::vector<std::pair<const window_call*, std::unique_ptr<frame_rows>>> frames_;
};

}  // namespace

relation executor::window(window_node& n) {
  auto out = node(*n.inputs[0]);
  for (const auto& call : n.calls) {  // also where there are no rows, as in PostgreSQL
    for (const auto& offset : {call.frame.start_offset, call.frame.end_offset}) {
      if (offset) check_frame_offset(*values_.constant(offset), offset->position);
    }
  }
  const auto rows = static_cast<std::size_t>(out.rows);
  check_row_numbers(rows);
  if (rows == 0 || n.calls.empty()) {
    for (const auto& call : n.calls) {
      out.add(call.output, chunked(value_of(arrow::MakeEmptyArray(arrow_type(call.type)))));
    }
    return out;
  }
  const memory_claim claim(rows * 16 * (n.keys.size() + 2));  // keys, order, partitions and frames
  std::vector<std::shared_ptr<arrow::ChunkedArray>> results;
  window_run run(values_, out, n);
  for (const auto& call : n.calls) results.push_back(run.result(call));
  for (std::size_t i = 0; i < results.size(); ++i) out.add(n.calls[i].output, std::move(results[i]));
  return out;
}

}  // namespace espalier::engine
