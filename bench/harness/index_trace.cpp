// index_trace.cpp - see index_trace.hpp.
#include "bench/harness/index_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/harness/traced_work.hpp"

namespace espalier::bench {
namespace {

using keys_span = std::span<const std::uint64_t>;
constexpr std::size_t most_traced_ranges = 16;

/// Returns nothing if the operation is not recorded.
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
/// As documented in `espalier bench --help`.
std::uint64_t usual_range_length(index_kind index) {
  return index == index_kind::static_tree ? 100 : index == index_kind::hybrid ? 8 : 32;
}
bool leaves_events(operation op, bool written) { return traced_as(op) && (written || !writes(op)); }

std::string with_commas(const std::vector<operation>& operations) {
  std::string text;
  for (const operation op : operations) text += fmt::format("{}{}", text.empty() ? "" : ", ", name_of(op));
  return text;
}

class trace_run {
 public:
  explicit trace_run(const options& what)
      : what_(what),
        into_empty_(what.operations.front() == operation::insert_empty),
        work_(make_traced_work(what)),
        tree_(make_tree()),
        recorder_(work_.dev, std::uint64_t{1} << 18),
        workers_(workers_on(work_.dev)) {
    for (const operation op : what.operations)
      (leaves_events(op, tree_->changes()) ? recorded_ : skipped_).push_back(op);
    if (recorded_.empty()) {
      throw cli::bad_arguments(fmt::format("--trace: no events come of {}: choose --ops from {}.",
                                           with_commas(skipped_), traced_operations(what.index, tree_->changes())));
    }
    trace_.header = tree_->header();
    trace_.header.title = what.command.substr(0, 200);
    trace_.start = tree_->state();
  }

  recorded_trace operator()() {
    for (const operation op : recorded_) run(op, *traced_as(op));
    trace_.lost = recorder_.lost();
    trace_.final = tree_->state();
    trace_.left_out = fmt::format(
        "Recorded apart from the timed runs, {}: a tree of {} keys of {}, at most {} keys of each operation{}.",
        work_.about, into_empty_ ? 0 : work_.keys.size(), what_.keys.front(), most_operations(),
        skipped_.empty() ? "" : "; not recorded: " + with_commas(skipped_));
    return std::move(trace_);
  }

 private:
  std::unique_ptr<explorer::live_tree> make_tree() const {
    explorer::live_request request = work_.tree;
    if (!into_empty_) request.keys = work_.keys;
    try {
      return explorer::make_live_tree(work_.dev, std::move(request));
    } catch (const error&) {
      if (work_.no_hooks.empty()) throw;
      throw cli::bad_arguments(work_.no_hooks);
    }
  }
  unsigned workers_on(const device& dev) const {
    if (dev.kind() == device_kind::cuda) return 64;
    const std::uint64_t asked =
        what_.threads.front() == 0 ? std::thread::hardware_concurrency() : what_.threads.front();
    return static_cast<unsigned>(std::clamp<std::uint64_t>(asked, 1, 8));
  }
  /// Fewer if fewer queries were requested.
  [[nodiscard]] std::uint64_t most_operations() const {
    return what_.queries.empty() ? most_traced_operations : std::min(what_.queries.front(), most_traced_operations);
  }
  void run(operation op, trace_op as) {
    const bool fresh = op == operation::insert || op == operation::find_after_insert;
    const keys_span all = fresh ? work_.fresh : work_.incoming;
    const keys_span keys = all.first(std::min<std::size_t>(all.size(), most_operations()));
    if (as != trace_op::range) {
      call({as, keys, 0, workers_});
      return;
    }
    for (const std::uint64_t from : keys.first(std::min(keys.size(), most_traced_ranges)))
      call({as, keys_span(&from, 1), end_of_range(from), 1});
  }
  /// Returns the end of a range with the requested number of elements, by the keys that the tree was built from.
  [[nodiscard]] std::uint64_t end_of_range(std::uint64_t from) const {
    std::vector<std::uint64_t> sorted = work_.keys;
    std::sort(sorted.begin(), sorted.end());
    const auto first = std::lower_bound(sorted.begin(), sorted.end(), from);
    const std::uint64_t asked = what_.range_length.value_or(usual_range_length(what_.index));
    const auto length = static_cast<std::ptrdiff_t>(std::clamp<std::uint64_t>(asked, 1, sorted.size()));
    return sorted.end() - first > length ? first[length - 1] : ~std::uint64_t{0};
  }
  void call(const explorer::live_call& c) {
    (void)tree_->run(c, recorder_.ring());
    append(trace_, recorder_.take());
  }

  const options& what_;
  bool into_empty_;
  traced_work work_;
  std::unique_ptr<explorer::live_tree> tree_;
  trace_recorder recorder_;
  unsigned workers_;
  std::vector<operation> recorded_, skipped_;
  recorded_trace trace_;
};

}  // namespace

recorded_trace record_trace(const options& what) { return trace_run(what)(); }

std::string traced_operations(index_kind index, bool written) {
  std::vector<operation> traced;
  for (const auto& entry : operation_names) {
    if (serves(index, entry.value) && leaves_events(entry.value, written)) traced.push_back(entry.value);
  }
  return with_commas(traced);
}

}  // namespace espalier::bench
