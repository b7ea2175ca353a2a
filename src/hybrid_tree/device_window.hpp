// device_window.hpp - a window of queries on a device: a stream, memory for queries and results, and their transfers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "espalier/device/buffer.hpp"
#include "espalier/static_tree/jobs.hpp"
#include "hybrid_tree/device_leaves.hpp"
#include "hybrid_tree/host_staging.hpp"

namespace espalier::detail {

class device_window {
 public:
  explicit device_window(const device& dev)
      : order(dev.make_stream()),
        key_passage_(dev, order),
        hi_passage_(dev, order),
        row_key_passage_(dev, order),
        value_passage_(dev, order),
        mark_passage_(dev, order) {}

  /// Ensures capacity for n finds, growing to max(n, room); more(capacity) allocates the caller's extra buffers. On an
  /// exception the capacity is 0.
  template <class More>
  void make_room(const device& dev, element_type e, std::size_t n, std::size_t room, const More& more) {
    if (room_ >= n) return;
    room_ = 0;
    for (raw_buffer* const b : {&keys, &values}) *b = raw_buffer();  // freed before the larger one is allocated
    found = buffer<std::uint8_t>();
    room = std::max(n, room);
    keys = raw_buffer(dev, room * bytes_of(e.key), order);
    values = raw_buffer(dev, room * e.value_bytes, order);
    found = buffer<std::uint8_t>(dev, room, order);
    more(room);
    room_ = room;
  }
  /// Additionally ensures capacity for n rows of `limit` elements.
  template <class More>
  void make_row_room(const device& dev, element_type e, std::size_t n, std::size_t limit, std::size_t room,
                     const More& more) {
    if (row_room_ >= n && row_places_ >= n * limit) return;
    row_room_ = row_places_ = 0;
    for (raw_buffer* const b : {&hi, &row_keys, &row_values}) *b = raw_buffer();
    counts = buffer<std::uint64_t>();
    room = std::max(n, room);
    hi = raw_buffer(dev, room * bytes_of(e.key), order);
    counts = buffer<std::uint64_t>(dev, room, order);
    row_keys = raw_buffer(dev, room * limit * bytes_of(e.key), order);
    row_values = raw_buffer(dev, room * limit * e.value_bytes, order);
    more(room);
    row_room_ = room;
    row_places_ = room * limit;
  }
  [[nodiscard]] std::size_t bytes() const {
    return keys.bytes() + values.bytes() + found.bytes() + hi.bytes() + counts.bytes() + row_keys.bytes() +
           row_values.bytes();
  }

  void send(const cpu_backend& host, element_type e, const device_leaves::window& w) {
    key_passage_.up(host, keys.data(), w.keys, w.n * bytes_of(e.key), w.copies, keys.bytes());
  }
  void bring_back(element_type e, const device_leaves::window& w) {
    row_key_passage_.down(nullptr, nullptr, 0, w.copies);
    mark_passage_.down(w.found, found.data(), w.n, w.copies, found.bytes());
    value_passage_.down(w.values, values.data(), w.n * e.value_bytes, w.copies, values.bytes());
  }
  void send(const cpu_backend& host, element_type e, const range_head_request& rows, std::size_t n,
            host_copies copies) {
    key_passage_.up(host, keys.data(), rows.lo, n * bytes_of(e.key), copies, keys.bytes());
    hi_passage_.up(host, hi.data(), rows.hi, n * bytes_of(e.key), copies, hi.bytes());
  }
  void bring_back(element_type e, const range_head_request& rows, std::size_t n, host_copies copies) {
    const std::size_t places = n * rows.options.limit;
    if (has_narrow_counts(rows)) {
      mark_passage_.down_narrow(rows.counts, found.data(), n, found.bytes());
    } else {
      mark_passage_.down(rows.counts, counts.data(), n * 8, copies, counts.bytes());
    }
    value_passage_.down(rows.values, row_values.data(), places * e.value_bytes, copies, row_values.bytes());
    row_key_passage_.down(rows.keys, row_keys.data(), places * bytes_of(e.key), copies, row_keys.bytes());
  }
  /// One byte per count, in `found`: 8 bytes are a third of a row of one pair.
  [[nodiscard]] static bool has_narrow_counts(const range_head_request& rows) { return rows.options.limit <= 0xff; }
  /// Called after the stream was synchronised.
  void arrive(const cpu_backend& host) const {
    for (const staging_channel* p : {&mark_passage_, &value_passage_, &row_key_passage_}) p->arrive(host);
  }
  template <class Word, unsigned V>
  [[nodiscard]] range_head_job<Word, V> job_of(const tree_view<Word, V>& tree, const range_head_request& rows) const {
    range_head_job<Word, V> job;
    job.tree = tree;
    job.keys = keys.data();
    job.hi = hi.data();
    job.ends = rows.options.ends;
    job.limit = rows.options.limit;
    job.out_keys = rows.keys == nullptr ? nullptr : row_keys.data();
    job.out_values = rows.values == nullptr ? nullptr : row_values.data();
    if (has_narrow_counts(rows)) {
      job.byte_counts = found.data();
    } else {
      job.counts = counts.data();
    }
    return job;
  }

  stream order;
  raw_buffer keys, values;
  buffer<std::uint8_t> found;
  raw_buffer hi, row_keys, row_values;  ///< for rows, whose lower ends are `keys`
  buffer<std::uint64_t> counts;

 private:
  staging_channel key_passage_, hi_passage_, row_key_passage_, value_passage_, mark_passage_;
  std::size_t room_ = 0, row_room_ = 0, row_places_ = 0;
};

}  // namespace espalier::detail
