// device_index.hpp - an index and a map in the memory of a GPU: espalier._core.DeviceIndex and DeviceMap, which
// espalier/_gpu wraps.
//
// Arguments are addresses of memory of the device (as integers) and the handle of a stream: the wrapper checks types
// and lengths, and allocates what answers are written to. A call is enqueued on its stream and returns, unless it says
// that it waits. Handles 0 and 1 are CUDA's legacy default stream, as in the array interfaces of Python.
//
// Lifetime: memory that a call allocates is freed in the order of its stream. The index itself is built on the default
// stream; its destructor makes that stream wait for the last call on each other stream, and frees the memory behind
// them.
//
// Device number -1 is the CPU. Tests use it: everything except the kernels runs without a GPU.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "columns.hpp"
#include "device_kernels.hpp"
#include "espalier/blink_tree/index.hpp"
#include "espalier/static_tree/index.hpp"
#include "fixed_index.hpp"

namespace espalier::python {

using address = std::uintptr_t;

/// The GPU with this number, or the CPU for -1. Throws ValueError if there is none or the build has no code for it.
[[nodiscard]] const device& device_at(int ordinal);
[[nodiscard]] stream stream_at(const device& on, address handle);

/// The last use of an object on each stream other than the default one. Thread-safe.
class stream_uses {
 public:
  void note(const stream& order, address handle);
  /// Makes the default stream of the device wait for all of them.
  void join(const device& on) noexcept;

 private:
  std::mutex mutex_;
  std::map<address, stream_event> last_;
};

/// Untyped memory of a device, for what the wrapper has no library to allocate by.
class device_memory {
 public:
  device_memory(int ordinal, std::size_t bytes, address stream);
  [[nodiscard]] address pointer() const { return reinterpret_cast<address>(memory_.data()); }
  [[nodiscard]] std::size_t bytes() const { return memory_.bytes(); }

 private:
  raw_buffer memory_;
};

class device_call;

class device_index {
 public:
  /// `key_example` and `value_example` are arrays whose dtypes are those of the keys and values. If `row_bytes` is not
  /// 0, the keys ascend and `rows` are their rows.
  device_index(int ordinal, nb::handle key_example, address keys, std::size_t n, nb::handle value_example,
               address values, address rows, unsigned row_bytes, nb::handle keep, address stream);
  ~device_index();
  device_index(const device_index&) = delete;
  device_index& operator=(const device_index&) = delete;

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] const data_type& key_type() const { return key_; }
  [[nodiscard]] const data_type& value_type() const { return value_; }
  [[nodiscard]] bool has_values() const { return has_values_; }
  [[nodiscard]] aggregates kept() const { return keep_; }

  void searchsorted(address q, std::size_t n, bool right, address ranks, address stream) const;
  void get_indexer(address q, std::size_t n, address rows, address stream) const;
  /// As find(), of an index whose values are the rows.
  void find_rows(address q, std::size_t n, address rows, nb::handle fallback, address stream) const;
  /// Without `fallback` (an array of one value, or None) waits, and throws KeyError for a missing key.
  void find(address q, std::size_t n, address values, nb::handle fallback, address stream) const;
  void contains(address q, std::size_t n, address found, address stream) const;
  /// Mean time of the library's calls below find() (or contains(), if `values` is 0), as its benchmark takes it: many,
  /// and one wait. For python/bench.
  [[nodiscard]] double seconds_per_find(address q, std::size_t n, address values, address found,
                                        std::size_t times) const;
  void asof(address q, std::size_t n, const asof_request& request, address rows, address found, address stream) const;
  void neighbour(address q, std::size_t n, bool successor, address keys, address rows, address found,
                 address stream) const;
  void count(address lo, address hi, std::size_t n, interval ends, address counts, address stream) const;
  /// Waits for min and max without `fallback`, and for sums of 64-bit integers.
  void aggregate(espalier::detail::aggregate_op op, address lo, address hi, std::size_t n, interval ends,
                 address results, nb::handle fallback, address stream) const;
  /// Writes n + 1 offsets and n ranks. Waits, and returns the last offset.
  [[nodiscard]] std::uint64_t range(address lo, address hi, std::size_t n, interval ends, nb::handle limit,
                                    address offsets, address starts, address stream) const;
  void range_rows(address offsets, address starts, std::size_t n, std::uint64_t total, address rows,
                  address stream) const;
  /// `asked` are integers of the type of the example. Waits.
  void at(nb::handle example, address asked, std::size_t n, address keys, address rows, address stream) const;

  /// As fixed_index::parts(): arrays in host memory.
  [[nodiscard]] nb::tuple parts() const;
  [[nodiscard]] nb::dict stats() const;

 private:
  /// Writes the rows, and -1 where there is no such key, and returns what was found.
  [[nodiscard]] buffer<std::uint8_t> match(const device_call& c, address q, std::size_t n, address rows) const;
  [[nodiscard]] const data_type& summand() const { return has_values_ ? value_ : key_; }
  [[nodiscard]] device_kernels::row_array rows() const { return {rows_.data(), row_bytes_}; }

  const device& on_;
  data_type key_, value_;
  bool has_values_ = false;
  aggregates keep_ = aggregates::none;
  std::size_t size_ = 0;
  std::size_t comparable_ = 0;  ///< keys before the first NaN
  unsigned row_bytes_ = 0;
  raw_buffer rows_;
  std::unique_ptr<espalier::detail::static_index> tree_;
  mutable stream_uses uses_;
};

/// The elements of ranges of a map, which say only afterwards how many they are.
struct found_range {
  explicit found_range(int ordinal) : on(device_at(ordinal)) {}
  /// Copies them to the caller's memory (0: none), and frees them.
  void take(address keys, unsigned key_bytes, address values, unsigned value_bytes, address stream);

  const device& on;
  espalier::detail::range_buffers buffers;
};

class device_map {
 public:
  device_map(int ordinal, nb::handle key_example, address keys, std::size_t n, nb::handle value_example, address values,
             address stream);
  ~device_map();
  device_map(const device_map&) = delete;
  device_map& operator=(const device_map&) = delete;

  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] const data_type& key_type() const { return key_; }
  [[nodiscard]] const data_type& value_type() const { return value_; }
  [[nodiscard]] bool has_values() const { return has_values_; }
  [[nodiscard]] std::uint64_t version() const { return version_; }

  /// `done` may be 0.
  void write(write_op op, address keys, address values, std::size_t n, address done, address stream);
  void apply(address ops, address keys, address values, std::size_t n, address found, address done, address stream);
  void clear();
  void find(address q, std::size_t n, address values, nb::handle fallback, address stream) const;
  void contains(address q, std::size_t n, address found, address stream) const;
  void seek(espalier::detail::seek_kind kind, address q, std::size_t n, address keys, address values, address found,
            address stream) const;
  void count(address lo, address hi, std::size_t n, interval ends, address counts, address stream) const;
  void aggregate(espalier::detail::aggregate_op op, address lo, address hi, std::size_t n, interval ends,
                 address results, nb::handle fallback, address stream) const;
  /// Writes n + 1 offsets, and returns how many elements there are in `found`. Waits.
  [[nodiscard]] std::uint64_t range(address lo, address hi, std::size_t n, interval ends, nb::handle limit,
                                    address offsets, found_range& found, address stream) const;
  /// All elements in key order. Waits.
  [[nodiscard]] std::uint64_t all(found_range& found) const;
  /// (keys, values or None): arrays in host memory.
  [[nodiscard]] nb::tuple parts() const;
  [[nodiscard]] nb::dict stats() const;

 private:
  const device& on_;
  data_type key_, value_;
  bool has_values_ = false;
  std::unique_ptr<espalier::detail::blink_index> tree_;
  std::atomic<std::uint64_t> version_ = 0;
  mutable stream_uses uses_;
};

}  // namespace espalier::python
