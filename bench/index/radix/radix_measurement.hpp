// radix_measurement.hpp - measures one radix tree on one device, operation by operation, as in static_measurement.hpp.
//
// Point queries are sent in batches, by one caller or by several concurrently. For inserts and erases the tree is
// rebuilt before each run, outside the timed part; the first run is checked by finding every key. An update leaves the
// same tree however often it is repeated, so it is measured like a query, together with finds of the same batch.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "bench/data/radix_data.hpp"
#include "bench/data/string_batches.hpp"
#include "bench/harness/device_array.hpp"
#include "bench/harness/options.hpp"
#include "bench/harness/row.hpp"
#include "bench/index/radix/radix_under_test.hpp"
#include "bench/index/radix/radix_writes.hpp"
#include "bench/peers/radix_peers.hpp"

namespace espalier::bench {

/// The way in which one row is measured: one point of the axes of the radix tree for an operation.
struct radix_variant {
  location place = location::device;
  std::uint64_t batch = 0;  ///< 0 means all queries
  unsigned streams = 1;
  radix_path path = radix_path::automatic;
};
[[nodiscard]] std::vector<radix_variant> radix_variants(operation op, const options& what, device_kind dev);

class radix_measurement {
 public:
  radix_measurement(const options& what, const radix_data& data, const string_maps& maps, const device& dev,
                    long_key_mode long_keys);

  /// Returns one row per variant.
  [[nodiscard]] std::vector<row> measure(operation op, std::uint64_t queries);

 private:
  struct point_questions {
    operation op;
    std::uint64_t queries;
    radix_questions keys;
    answers expected;
  };

  [[nodiscard]] row measure_one(operation op, std::uint64_t queries, const radix_variant& how);
  [[nodiscard]] row empty_row(operation op, const radix_variant& how) const;
  [[nodiscard]] bool is_gpu() const { return device_.kind() == device_kind::cuda; }
  void load();
  /// Called before queries, since earlier operations may have changed the tree.
  void load_if_changed();
  /// The queries are only generated again if they differ from the previous ones, independently of how they are sent.
  [[nodiscard]] const point_questions& questions_for(operation op, std::uint64_t queries);
  void measure_build(row& r);
  void measure_points(operation op, std::uint64_t queries, const radix_variant& how, row& r);
  void measure_ranks(operation op, std::uint64_t queries, const radix_variant& how, row& r);
  void measure_lists(operation op, std::uint64_t queries, const radix_variant& how, row& r);
  void measure_update(std::uint64_t queries, const radix_variant& how, row& r);
  void measure_change(operation op, std::uint64_t queries, const radix_variant& how, row& r);
  /// Checks the results of the write and the content of the tree.
  void require_done(operation op, const radix_batch& batch, const device_answers& done) const;
  void require_contents(operation op, const radix_batch& batch, const answers& after,
                        const byte_string_batch& batch_keys) const;
  void require_found(operation op, const byte_column& keys, const byte_string_batch& on_device,
                     const answers& expected) const;

  const options& what_;
  const radix_data& data_;
  device device_;
  long_key_mode long_keys_;
  string_batches keys_;  ///< all in one batch
  device_column values_;
  radix_under_test tree_;
  bool changed_ = true;  ///< since it was built from the data
  std::optional<point_questions> asked_;
  radix_peers peers_;
};

}  // namespace espalier::bench
