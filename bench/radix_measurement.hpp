// radix_measurement.hpp - one radix tree on one device, measured operation by operation, as in measurement.hpp.
#pragma once

#include <cstdint>

#include "bench/options.hpp"
#include "bench/placed.hpp"
#include "bench/radix_data.hpp"
#include "bench/radix_subject.hpp"
#include "bench/row.hpp"

namespace espalier::bench {

class radix_measurement {
 public:
  radix_measurement(const options& what, const radix_data& data, const device& where, long_key_way long_keys);

  [[nodiscard]] row measure(operation op, std::uint64_t queries);

 private:
  [[nodiscard]] row empty_row(operation op) const;
  [[nodiscard]] bool is_gpu() const { return where_.kind() == device_kind::cuda; }
  void load() { tree_.build(keys_.keys(), values_.data()); }
  void measure_build(row& r);
  void measure_questions(operation op, std::uint64_t queries, row& r);

  const options& what_;
  const radix_data& data_;
  device where_;
  long_key_way long_keys_;
  placed_strings keys_;
  placed_column values_;
  radix_subject tree_;
};

}  // namespace espalier::bench
