// batch_columns.hpp - the arrays of a job: keys, which a partition reorders, and answers, which it puts back.
#pragma once

#include "espalier/static_tree/jobs.hpp"

namespace espalier::detail {

/// columns_of<Job>::keys(job, f) calls f(pointer) for each array of keys, answers(job, f) calls f(pointer, bytes of an
/// element) for each array of answers, by reference. Pointers to answers may be null.
template <class Job>
struct columns_of;

template <class Job>
struct one_key_column {
  template <class F>
  static ESPALIER_INLINE void keys(Job& job, F f) {
    f(job.keys);
  }
};
template <class Job>
struct range_columns {
  template <class F>
  static ESPALIER_INLINE void keys(Job& job, F f) {
    f(job.lo);
    f(job.hi);
  }
};

template <class W, unsigned V>
struct columns_of<find_job<W, V>> : one_key_column<find_job<W, V>> {
  template <class F>
  static void answers(find_job<W, V>& job, F f) {
    f(job.values, job.tree.value_bytes);
    f(job.found, 1u);
  }
};
template <class W, unsigned V>
struct columns_of<rank_job<W, V>> : one_key_column<rank_job<W, V>> {
  template <class F>
  static void answers(rank_job<W, V>& job, F f) {
    f(job.ranks, 8u);
  }
};
template <class W, unsigned V>
struct columns_of<seek_job<W, V>> : one_key_column<seek_job<W, V>> {
  template <class F>
  static void answers(seek_job<W, V>& job, F f) {
    f(job.out_keys, bytes_of(job.tree.key));
    f(job.out_values, job.tree.value_bytes);
    f(job.found, 1u);
  }
};
template <class W, unsigned V>
struct columns_of<count_job<W, V>> : range_columns<count_job<W, V>> {
  template <class F>
  static void answers(count_job<W, V>& job, F f) {
    f(job.counts, 8u);
    f(job.starts, 8u);
  }
};
template <class W, unsigned V>
struct columns_of<aggregate_job<W, V>> : range_columns<aggregate_job<W, V>> {
  template <class F>
  static void answers(aggregate_job<W, V>& job, F f) {
    const scalar_kind kind = V == 0 ? job.tree.key : job.tree.value;
    f(job.out, result_bytes(job.op, kind));
    f(job.found, 1u);
  }
};

}  // namespace espalier::detail
