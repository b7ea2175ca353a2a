// blink_trace.cpp - see blink_trace.hpp.
#include "bench/blink_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "bench/blink_data.hpp"
#include "bench/runner.hpp"
#include "explorer/live_tree.hpp"

namespace espalier::bench {
namespace {

using keys_span = std::span<const std::uint64_t>;

/// Nothing: not recorded.
std::optional<trace_op> traced_as(operation op) {
  switch (op) {
    case operation::insert:
    case operation::insert_empty:
      return trace_op::insert;
    case operation::find:
    case operation::contains:
    case operation::find_after_insert:
      return trace_op::find;
    case operation::update:
      return trace_op::update;
    case operation::erase:
      return trace_op::erase;
    case operation::range:
      return trace_op::range;
    default:
      return std::nullopt;
  }
}

keys_span first_keys(const column& keys) {
  return keys_span(keys.as<std::uint64_t>()).first(std::min<std::size_t>(keys.size(), most_traced_operations));
}

class trace_run {
 public:
  trace_run(const options& what, const device& where)
      : what_(what),
        into_empty_(what.operations.front() == operation::insert_empty),
        data_(make_blink_data(spec_of(what), most_traced_operations)),
        tree_(make_tree(where)),
        recorder_(where, std::uint64_t{1} << 18),
        workers_(workers_on(where)) {
    trace_.header = tree_->header();
    trace_.header.title = what.command.substr(0, 200);
    trace_.start = tree_->state();
  }

  recorded_trace operator()() {
    std::string skipped;
    for (const operation op : what_.operations) {
      const auto as = traced_as(op);
      if (as) {
        run(op, *as);
      } else {
        skipped += fmt::format("{}{}", skipped.empty() ? "" : ", ", name_of(op));
      }
    }
    trace_.lost = recorder_.lost();
    trace_.final = tree_->state();
    trace_.left_out = fmt::format(
        "Recorded apart from the timed runs, with u64 keys: a tree of {} keys of {}, at most {} keys of each "
        "operation{}.",
        into_empty_ ? 0 : data_.tree.keys.size(), what_.keys.front(), most_traced_operations,
        skipped.empty() ? "" : "; not recorded: " + skipped);
    return std::move(trace_);
  }

 private:
  static data_spec spec_of(const options& what) {
    return {scalar_kind::u64, scalar_kind::u64, what.distributions.front(),
            std::min(what.keys.front(), most_traced_keys), what.seed};
  }
  std::unique_ptr<explorer::live_tree> make_tree(const device& where) const {
    const blink_shape& shape = what_.blink.shapes.front();
    explorer::live_request request{
        "blink", to_string(shape.how), to_string(shape.above), shape.slots == 0 ? 12 : shape.slots, {}};
    const auto keys = data_.tree.keys.as<std::uint64_t>();
    if (!into_empty_) request.keys.assign(keys.begin(), keys.end());
    try {
      return explorer::make_live_tree(where, std::move(request));
    } catch (const error&) {
      throw bad_arguments(fmt::format(
          "--trace: there are no hooks in a tree with --policy {} --upper {} --slots {}; they are in link and "
          "couple with 12 slots, on a CPU with 8, too.",
          to_string(shape.how), to_string(shape.above), shape.slots));
    }
  }
  unsigned workers_on(const device& where) const {
    if (where.kind() == device_kind::cuda) return 64;
    const std::uint64_t asked =
        what_.threads.front() == 0 ? std::thread::hardware_concurrency() : what_.threads.front();
    return static_cast<unsigned>(std::clamp<std::uint64_t>(asked, 1, 8));
  }
  void run(operation op, trace_op as) {
    const bool fresh = op == operation::insert || op == operation::find_after_insert;
    const keys_span keys = first_keys(fresh ? data_.fresh_keys : data_.incoming_keys());
    if (as != trace_op::range) {
      call({as, keys, 0, workers_});
      return;
    }
    for (const std::uint64_t from : keys.first(std::min<std::size_t>(keys.size(), 16)))
      call({as, keys_span(&from, 1), end_of_range(from), 1});
  }
  /// As many elements as the benchmark asks for, by the keys that the tree was built from.
  [[nodiscard]] std::uint64_t end_of_range(std::uint64_t from) const {
    const auto keys = data_.tree.keys.as<std::uint64_t>();
    std::vector<std::uint64_t> sorted(keys.begin(), keys.end());
    std::sort(sorted.begin(), sorted.end());
    const auto first = std::lower_bound(sorted.begin(), sorted.end(), from);
    const auto length =
        static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(what_.range_length.value_or(32), sorted.size()));
    return sorted.end() - first > length ? first[length - 1] : ~std::uint64_t{0};
  }
  void call(const explorer::live_call& c) {
    (void)tree_->run(c, recorder_.ring());
    append(trace_, recorder_.take());
  }

  const options& what_;
  bool into_empty_;
  blink_data data_;
  std::unique_ptr<explorer::live_tree> tree_;
  trace_recorder recorder_;
  unsigned workers_;
  recorded_trace trace_;
};

}  // namespace

recorded_trace record_blink_trace(const options& what) { return trace_run(what, choose_device(what))(); }

}  // namespace espalier::bench
