// cpu_executor.hpp - Context of build.hpp on a CPU: every call is complete when it returns.
#pragma once

#include <cstring>
#include <functional>

#include "espalier/device/buffer.hpp"
#include "espalier/device/cpu.hpp"
#include "espalier/static_tree/index.hpp"
#include "static_tree/cpu_kernels.hpp"
#include "static_tree/cpu_partition.hpp"
#include "static_tree/prefetch_hint.hpp"
#include "static_tree/sort_out_of_place.hpp"

namespace espalier::detail {

class cpu_executor {
 public:
  static constexpr bool on_gpu = false;
  static constexpr bool checks_order = true;  // one pass over the keys; a sort takes at least eight

  cpu_executor(const device& dev, const stream& order) : backend_(dev), order_(order) {}

  [[nodiscard]] const device& get_device() const { return backend_.get_device(); }
  [[nodiscard]] const stream& order() const { return order_; }

  /// A body may provide more: body(first, last) processes neighbours together, in the way that is best for one thread;
  /// body.prefetch_address(i) is distant memory that body(i) reads, which is prefetched a few bodies before.
  template <class Body>
  void for_each(std::size_t n, const Body& body) {
    if constexpr (requires { body(n, n); }) {
      backend_.for_each_chunk(n, grain, [&body](std::size_t first, std::size_t last) { body(first, last); });
    } else if constexpr (requires { body.prefetch_address(n); }) {
      backend_.for_each_chunk(n, grain,
                              [&body](std::size_t first, std::size_t last) { look_ahead(body, first, last); });
    } else {
      backend_.for_each(n, body);
    }
  }
  /// For bodies that take long: even a few of them are distributed over the threads.
  template <class Body>
  void for_each_large(std::size_t n, const Body& body) {
    backend_.for_each(n, body, 1);
  }
  /// Calls body(0), ..., body(n - 1) in this thread, and prefetches what the next ones read.
  template <class Body>
  static void in_turn(std::size_t n, const Body& body) {
    look_ahead(body, 0, n);
  }
  [[nodiscard]] unsigned threads() const { return backend_.threads(); }
  template <class Word>
  [[nodiscard]] bool sort_pairs(Word* keys, Word* keys_alt, void* values, void* values_alt, unsigned value_bytes,
                                std::size_t n, unsigned begin_bit = 0, unsigned end_bit = 8 * sizeof(Word)) {
    return backend_.sort_pairs(keys, keys_alt, values, values_alt, value_bytes, n, begin_bit, end_bit);
  }
  template <class Word, class Value>
  void sort_from(const Word* keys, buffer<Word>& sorted_keys, const Value* values, buffer<Value>& sorted_values,
                 std::size_t n, unsigned begin_bit = 0, unsigned end_bit = 8 * sizeof(Word)) {
    sort_out_of_place(*this, keys, sorted_keys, values, sorted_values, n, begin_bit, end_bit);
  }
  template <class T>
  void exclusive_scan(const T* in, T* out, std::size_t n) {
    backend_.exclusive_scan(in, out, n);
  }
  void copy(void* to, const void* from, std::size_t bytes) {
    if (bytes == 0) return;
    constexpr std::size_t piece = std::size_t{1} << 22;
    backend_.for_each_chunk(bytes, piece, [&](std::size_t first, std::size_t last) {
      std::memcpy(static_cast<char*>(to) + first, static_cast<const char*>(from) + first, last - first);
    });
  }
  void zero(void* to, std::size_t bytes) { fill(to, 0, bytes); }
  void fill(void* to, unsigned char byte, std::size_t bytes) {
    if (bytes != 0) std::memset(to, byte, bytes);
  }
  template <class T>
  [[nodiscard]] T read(const T* p) {
    return *p;
  }
  template <class T>
  struct readback {
    T content;
    [[nodiscard]] T get() const { return content; }
  };
  template <class T>
  [[nodiscard]] readback<T> read_async(const T* p) {
    return {*p};
  }

  /// Four to eight cells per group while they fit a core's private cache; fewer once cells and headers compete for the
  /// last-level cache: a wrong first group is then cheaper than a cache miss on a cell (2^28 keys: 42.4 ns, with half
  /// as many 40.4 ns, with a quarter 42.2 ns).
  [[nodiscard]] static std::uint64_t root_cells(std::uint32_t groups, unsigned) {
    const std::uint64_t wanted = groups < (1u << 17) ? 4 * std::uint64_t{groups} : 2 * std::uint64_t{groups};
    std::uint64_t cells = 8;
    while (cells < wanted) cells *= 2;
    return cells;
  }

  template <class Job>
  void launch(const Job& job, std::size_t n, bool inline_, node_search search) {
    const auto piece = cpu_kernel(job, search);
    if (inline_) {
      piece(job, 0, n);
      return;
    }
    backend_.for_each_chunk(n, 4096, [&](std::size_t first, std::size_t last) { piece(job, first, last); });
  }

  /// Plan partition_first. Returns false, with nothing answered, if the batch or the tree is too small for buckets.
  /// Throws out_of_memory before any answer was written.
  template <class Job>
  [[nodiscard]] bool launch_in_buckets(const Job& job, std::size_t leaf_bytes, std::size_t n, node_search search) {
    using word = typename std::remove_cvref_t<decltype(job.tree)>::word;
    return answer_in_buckets<word>(backend_, order_, job, job.tree.headers, job.tree.groups, leaf_bytes, n,
                                   cpu_kernel(job, search));
  }

  /// Tests a sample: a batch that is not completely ordered may pass, which costs time but does not change results.
  [[nodiscard]] static bool looks_ascending(scalar_kind kind, const void* keys, std::size_t n) {
    constexpr std::size_t samples = 64, run = 4;
    if (n < samples * run * 4) return false;
    std::uint64_t previous = 0;
    for (std::size_t i = 0; i < samples; ++i) {
      const std::size_t first = i * (n / samples);
      for (std::size_t j = first; j < first + run; ++j) {
        const std::uint64_t word = encode_bits(kind, load_bits<std::uint64_t>(kind, keys, j));
        if (word < previous) return false;
        previous = word;
      }
    }
    return true;
  }

  /// Tests a sample; a batch that is too small for a sample passes.
  [[nodiscard]] static bool may_ascend(scalar_kind kind, const void* keys, std::size_t n) {
    return n < 1024 || looks_ascending(kind, keys, n);
  }

  /// Visits pieces of ranks; piece numbers ascend with the ranks. With by_key all pieces are visited in order in this
  /// thread.
  void visit_pieces(std::uint64_t first, std::uint64_t last, visit_order order,
                    const std::function<void(std::uint64_t, std::uint64_t, std::size_t)>& piece) const {
    if (first >= last) return;
    if (order == visit_order::by_key) {
      piece(first, last, 0);
      return;
    }
    const std::size_t pieces = static_cast<std::size_t>((last - first + visit_piece - 1) / visit_piece);
    backend_.for_each(
        pieces,
        [&](std::size_t i) {
          const std::uint64_t begin = first + i * visit_piece;
          piece(begin, begin + visit_piece < last ? begin + visit_piece : last, i);
        },
        1);
  }

 private:
  static constexpr std::size_t grain = 1024;

  template <class Body>
  static void look_ahead(const Body& body, std::size_t first, std::size_t last) {
    constexpr unsigned most = 8;  // with more prefetches at once, some are dropped (blink_tree/batch_descent.hpp)
    unsigned on_their_way = 0;
    for (std::size_t i = first, next = first; i < last; ++i) {
      for (; on_their_way < most && next < last; ++next) {
        const prefetch_hint m = body.prefetch_address(next);
        for (unsigned b = 0; b < m.bytes; b += 64) __builtin_prefetch(static_cast<const std::byte*>(m.begin) + b);
        on_their_way += m.bytes != 0 ? 1 : 0;
      }
      on_their_way -= body.prefetch_address(i).bytes != 0 ? 1 : 0;
      body(i);
    }
  }

  cpu_backend backend_;
  stream order_;
};

}  // namespace espalier::detail
