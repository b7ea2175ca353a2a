// asof_join.cpp - see asof_join.hpp: which algorithm joins which sides.
#include "espalier/join/asof_join.hpp"

#include "join/asof_last_seen.hpp"
#include "join/asof_partitions.hpp"
#include "join/asof_runs.hpp"
#include "join/cuda_joins.hpp"

namespace espalier {

namespace {

using namespace join_detail;

/// Whether a join by partitions pays. One thread of a Xeon at 2.5 GHz, 2^20 left rows, milliseconds of CPU time by
/// partitions / by sorts: random order 58 / 96 for 2^20 right rows, 264 / 350 for 2^23, and with 500 groups 73 / 403
/// and 307 / 3,598; but 58 / 54 and 203 / 65 if the right side is in order and there are no groups.
template <class Key>
bool wants_partitions(const clean_rows<Key>& left, const clean_rows<Key>& right, std::uint32_t groups) {
  constexpr std::size_t least_rows = std::size_t{1} << 17;
  if (left.n + right.n < least_rows || groups > partitioned_asof_join<Key>::most_groups) return false;
  if (right.codes == nullptr) return !left.is_sorted && !right.is_sorted && !fits_directory<Key>(right.n);
  if (left.is_sorted_in_groups && right.is_sorted_in_groups) return false;
  return !right.is_sorted_in_groups || right.n / 8 <= left.n;
}

template <class Key>
void asof_of_type(const join_side& left_side, const join_side& right_side, std::span<row_number> rows,
                  const asof_options& options, const device& dev) {
  constexpr const char* call = "asof_join()";
  const cpu_backend backend(dev);
  const tolerance_of<Key> tolerance(options.tolerance);
  const auto left = clean_side<Key>(call, "left", backend, dev, left_side);
  const auto right = clean_side<Key>(call, "right", backend, dev, right_side);
  fill_unmatched(backend, left, rows);
  if (left.codes != nullptr && left.is_sorted && right.is_sorted) {
    asof_by_last_seen(backend, dev, left, right, right_side.groups, options, tolerance, rows);
    return;
  }
  if (wants_partitions(left, right, right_side.groups) &&
      partitioned_asof_join<Key>(backend, dev, left, right, right_side.groups, options, tolerance, rows.data()).run()) {
    return;
  }
  const auto right_ordered = order_rows(backend, dev, right, right_side.groups, sorts_rows::always);
  const auto directory = directory_for(backend, left, right_ordered.keys, right_ordered.n);
  const auto left_ordered =
      order_rows(backend, dev, left, left_side.groups, directory.empty() ? sorts_rows::if_many : sorts_rows::never);
  std::vector<std::size_t> begin;  // of each group, to find it in O(1)
  if (right.codes != nullptr) {
    begin.assign(std::size_t{right_side.groups} + 1, 0);
    for (const group_run& run : right_ordered.runs) begin[run.group + 1] = run.last - run.first;
    for (std::size_t g = 0; g < right_side.groups; ++g) begin[g + 1] += begin[g];
  }
  const auto group_of = [&](std::uint32_t g) {
    group_view<Key> view;
    view.main = {right_ordered.keys, right.codes == nullptr ? 0 : begin[g],
                 right.codes == nullptr ? right_ordered.n : begin[g + 1], nullptr,
                 directory.empty() ? nullptr : &directory};
    view.main_rows = right_ordered.rows;
    return view;
  };
  asof_over_runs(backend, left_ordered, group_of, options, tolerance, rows.data());
}

}  // namespace

void asof_join(const join_side& left, const join_side& right, std::span<row_number> rows, const asof_options& options,
               const device& dev, const stream& s) {
  constexpr const char* call = "asof_join()";
  require_side(call, "left", left);
  require_side(call, "right", right);
  require_rows(call, "the output for row numbers", left.on.size, rows.size());
  require_same_groups(call, left, right.on.kind, right.groups, right.on.size == 0);
  if (dev.kind() == device_kind::cuda) {
    dev.invoke_in_order(dev.resolve(s), [&] { asof_join_on_gpu(left, right, rows, options, dev, dev.resolve(s)); });
    return;
  }
  dev.invoke_in_order(dev.resolve(s), [&] {
    if (right.on.size == 0) {
      std::fill(rows.begin(), rows.end(), no_row);
    } else if (left.on.size != 0) {
      with_key_type(left.on.kind, call,
                    [&](auto key) { asof_of_type<decltype(key)>(left, right, rows, options, dev); });
    }
  });
}

}  // namespace espalier
