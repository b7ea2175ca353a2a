// batch_columns.hpp - the arrays of the B-link tree's jobs that may be answered in bucket order: on a GPU find, on a
// CPU also neighbours, and counts and aggregates by the lower ends of their ranges.
#pragma once

#include "espalier/blink_tree/jobs.hpp"
#include "static_tree/batch_columns.hpp"

namespace espalier::detail {

template <class View>
struct columns_of<blink_find_job<View>> : one_key_column<blink_find_job<View>> {
  template <class F>
  static void answers(blink_find_job<View>& job, F f) {
    f(job.values, job.tree.value_bytes);
    f(job.found, 1u);
  }
};
template <class View>
struct columns_of<blink_seek_job<View>> : one_key_column<blink_seek_job<View>> {
  template <class F>
  static void answers(blink_seek_job<View>& job, F f) {
    f(job.out_keys, bytes_of(job.tree.key));
    f(job.out_values, job.tree.value_bytes);
    f(job.found, 1u);
  }
};
template <class View>
struct columns_of<blink_count_job<View>> : range_columns<blink_count_job<View>> {
  template <class F>
  static void answers(blink_count_job<View>& job, F f) {
    f(job.counts, 8u);
    f(job.starts, unsigned{sizeof(leaf_position)});
    f(job.lines, unsigned{sizeof(std::uint32_t)});
  }
};
template <class View>
struct columns_of<blink_aggregate_job<View>> : range_columns<blink_aggregate_job<View>> {
  template <class F>
  static void answers(blink_aggregate_job<View>& job, F f) {
    f(job.out, result_bytes(job.op, View::leaf_shape::value_bytes == 0 ? job.tree.key : job.tree.value));
    f(job.found, 1u);
  }
};

}  // namespace espalier::detail
