// batch_columns.hpp - the arrays of the B-link tree's job that may be answered in bucket order.
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

}  // namespace espalier::detail
