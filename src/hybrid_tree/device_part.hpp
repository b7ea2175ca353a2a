// device_part.hpp - the part of a tree on the device, and the transfer of queries and results. host_tree.hpp is the
// host part.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "hybrid_tree/bucket_queues.hpp"
#include "hybrid_tree/device_leaves.hpp"
#include "hybrid_tree/inner_levels.hpp"
#include "hybrid_tree/inner_walk_pipeline.hpp"
#include "hybrid_tree/placement_selector.hpp"
#include "hybrid_tree/work_sharing.hpp"

namespace espalier::detail {

/// Queries of one call, and the functions that answer them.
struct batch_request {
  const void* keys;
  unsigned key_bytes;
  std::size_t n;
  std::size_t bucket;
  std::function<void(const query_span&)> here;                              ///< the host searches all levels
  std::function<void(const std::uint32_t* lines, const query_span&)> from;  ///< the host searches from lines on
  std::function<void(unsigned slot, const query_span&)> start;              ///< the device searches all levels
  std::function<window_sizes()> window;                                     ///< sizes of the device's windows
  placement_selector* choice;  ///< separate for rows and finds, because a row costs more
  device_share* share;

  [[nodiscard]] const void* key(std::size_t i) const { return static_cast<const char*>(keys) + i * key_bytes; }
};

/// Used by one call at a time. If a function throws, `rest` lists the unanswered queries, and drain() must be called
/// first.
struct device_part {
  std::unique_ptr<inner_levels> host_levels;  ///< levels in host memory, for the host's share of a bucket
  std::unique_ptr<inner_levels> levels;       ///< null if the host works alone
  std::unique_ptr<inner_walk_pipeline> walker;
  std::unique_ptr<device_leaves> leaves;  ///< null if the device does not read leaves

  void begin_bucket(const load_balance& b, const batch_request& c, const query_span& s, unsigned slot,
                    host_copies copies, const stream& host_order) const {
    const bucket_parts parts = parts_of(b, s.size());
    if (parts.grouped != 0) {
      host_levels->table(c.key(s.first + parts.plain), parts.grouped, walker->groups(slot), host_order);
      host_order.synchronize();
    }
    walker->start(slot, *levels, c.key(s.first), parts.plain, parts.grouped, copies);
  }
  void finish_bucket(const load_balance& b, const batch_request& c, const query_span& s, unsigned slot) const {
    const bucket_parts parts = parts_of(b, s.size());
    const std::size_t walked = s.first + parts.plain + parts.grouped;
    if (walked != s.first) c.from(walker->wait(slot), {s.first, walked});
    if (walked != s.last) c.here({walked, s.last});
  }

  /// Runs placement `shared`.
  [[nodiscard]] pipeline_times run_shared(const load_balance& b, const batch_request& c,
                                          const hybrid_query_options& how, const stream& host_order,
                                          std::vector<query_span>& rest) const {
    const std::size_t bucket = c.bucket, buckets = (c.n + bucket - 1) / bucket;
    const auto span = [&](std::size_t i) { return query_span{i * bucket, std::min(c.n, (i + 1) * bucket)}; };
    std::size_t finished = 0;
    try {
      return run_pipeline(
          how.queue_depth, buckets, inner_walk_pipeline::slots, finished,
          [&](std::size_t i, unsigned slot) { begin_bucket(b, c, span(i), slot, how.copies, host_order); },
          [&](unsigned slot) { (void)walker->wait(slot); },
          [&](std::size_t i, unsigned slot) { finish_bucket(b, c, span(i), slot); });
    } catch (...) {
      rest.push_back({finished * bucket, c.n});
      throw;
    }
  }
  /// Runs placement `device_alone` and, if the host takes buckets concurrently (`with_host`), `both`.
  void run_queues_of(bool with_host, const load_balance& b, const batch_request& c, const hybrid_query_options& how,
                     const stream& host_order, std::vector<query_span>& rest) const {
    const std::size_t bucket = c.bucket;
    constexpr std::size_t one = 1;
    const unsigned slots = std::min(1 + how.queue_depth, device_leaves::slots);
    const window_plan plan = with_host ? windows_with_host(*c.share, c.n, c.window(), std::max(bucket / 4, one), slots)
                                       : windows_alone(c.window(), bucket, slots);
    leaves->expect(plan.room);
    bucket_queue windows(plan.slots, plan.size, c.start);
    bucket_queue buckets(
        with_host ? std::max(1u, how.queue_depth) : 0, [&](std::size_t) { return bucket; },
        [&](unsigned slot, const query_span& s) { begin_bucket(b, c, s, slot, how.copies, host_order); });
    const dual_queue_work work =
        run_queues(c.n, windows,
                   queue_end{[&](unsigned slot) { return leaves->is_done(slot); },
                             [&](unsigned slot, const query_span&) { leaves->finish(slot); }},
                   buckets,
                   queue_end{[&](unsigned slot) { return walker->is_done(slot); },
                             [&](unsigned slot, const query_span& s) { finish_bucket(b, c, s, slot); }},
                   how.queue_depth == 0 ? 0 : std::max(bucket / 8, one), c.here, rest);
    c.share->note(work);
  }
  /// Waits until the device does not access the caller's memory any more.
  void drain() const noexcept {
    if (walker != nullptr) walker->abandon();
    if (leaves != nullptr) leaves->abandon();
  }
};

}  // namespace espalier::detail
