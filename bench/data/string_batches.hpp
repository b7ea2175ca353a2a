// string_batches.hpp - strings split into batches in the form in which a caller passes them, and the threads that send
// them: one, or several with a stream each, so that copies of one batch overlap with the search of another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "bench/data/byte_generators.hpp"
#include "bench/harness/device_array.hpp"
#include "espalier/radix_tree/radix_tree.hpp"

namespace espalier::bench {

class string_batches {
 public:
  /// `one_length` is the length of every key, or 0; if set, no offsets are passed to the tree. The last batch may be
  /// smaller.
  string_batches(const byte_column& keys, std::size_t one_length, std::size_t batch, const device& dev, location place);

  [[nodiscard]] std::size_t size() const { return batches_.size(); }
  /// Returns the number of the first key of batch `b`.
  [[nodiscard]] std::size_t first(std::size_t b) const { return b * batch_; }
  [[nodiscard]] const byte_string_batch& operator[](std::size_t b) const { return batches_[b]; }
  /// Returns the only batch, or an empty one.
  [[nodiscard]] byte_string_batch all() const {
    return batches_.empty() ? byte_string_batch(std::span<const char>(), 1) : batches_.front();
  }

 private:
  std::size_t batch_;
  std::vector<std::uint64_t> own_offsets_;  ///< start with 0 in each batch, so that it has its own bytes only
  device_column bytes_, offsets_;
  std::vector<byte_string_batch> batches_;
};

/// Threads that run queries, with a stream each.
class askers {
 public:
  askers(const device& dev, unsigned streams);

  /// Calls ask(b, stream) for each batch b in [0, batches), `times` times, and returns when all work is done. Each
  /// thread takes every n-th batch. Rethrows an exception of any of them.
  void run(std::size_t times, std::size_t batches,
           const std::function<void(std::size_t b, const stream& order)>& ask) const;

 private:
  std::vector<stream> streams_;
};

}  // namespace espalier::bench
