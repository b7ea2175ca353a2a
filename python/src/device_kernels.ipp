// device_kernels.ipp - bodies of device_kernels.hpp; included by device_kernels.cu and, without CUDA,
// device_kernels.cpp.
#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <type_traits>

#include "device_kernels.hpp"
#include "espalier/core/config.hpp"
#include "espalier/device/buffer.hpp"
#include "espalier/device/cpu.hpp"
#include "kinds.hpp"

#if ESPALIER_CUDA_COMPILER
#include "espalier/device/cuda.cuh"
#endif

namespace espalier::python::device_kernels {
namespace {

#if ESPALIER_CUDA_COMPILER
/// A backend per GPU, for ever: its construction asks the driver.
const cuda_backend& backend_of(const device& on) {
  static std::mutex mutex;
  static auto* const all = new std::map<int, cuda_backend*>;
  const std::lock_guard lock(mutex);
  cuda_backend*& backend = (*all)[on.ordinal()];
  if (backend == nullptr) backend = new cuda_backend(on);
  return *backend;
}
#endif

template <class Body>
void for_each([[maybe_unused]] work_place at, std::size_t n, const Body& body) {
#if ESPALIER_CUDA_COMPILER
  if (at.on.kind() == device_kind::cuda) {
    backend_of(at.on).for_each(at.order, n, body);
    return;
  }
#endif
  for (std::size_t i = 0; i < n; ++i) body(i);
}

template <class T>
ESPALIER_INLINE T load(const void* array, std::size_t i) {
  return static_cast<const T*>(array)[i];
}

/// The least of the numbers that bodies pass to lower().
class minimum {
 public:
  minimum(work_place at, std::uint64_t most) : at_(at), most_(most), memory_(at.on, 1, at.order) {
    at.on.fill(memory_.data(), 0xff, sizeof most_, at.order);
  }
  [[nodiscard]] unsigned long long* memory() const { return memory_.data(); }
  ESPALIER_INLINE static void lower(unsigned long long* to, unsigned long long x) {
#ifdef __CUDA_ARCH__
    if (x < *static_cast<volatile unsigned long long*>(to)) atomicMin(to, x);
#else
    if (x < *to) *to = x;
#endif
  }
  [[nodiscard]] std::uint64_t read() const {
    std::uint64_t x = 0;
    at_.on.copy(&x, memory_.data(), sizeof x, at_.order);
    at_.order.synchronize();
    return std::min(x, most_);
  }

 private:
  work_place at_;
  std::uint64_t most_;
  buffer<unsigned long long> memory_;
};

ESPALIER_INLINE std::int64_t row_of(row_array rows, std::uint64_t rank) {
  if (rows.bytes == 0) return static_cast<std::int64_t>(rank);
  if (rows.bytes == 8) return static_cast<std::int64_t>(load<std::uint64_t>(rows.data, rank));
  return load<std::uint32_t>(rows.data, rank);
}

// ---- build ----------------------------------------------------------------------------------------------------------

template <class Word>
struct find_descent {
  scalar_kind kind;
  const void* keys;
  unsigned long long* first;
  ESPALIER_HD void operator()(std::size_t i) const {
    const Word a = encode_bits(kind, load_bits<Word>(kind, keys, i));
    const Word b = encode_bits(kind, load_bits<Word>(kind, keys, i + 1));
    if (b < a) minimum::lower(first, i);
  }
};

template <class Word, class Row>
struct encode_with_row {
  scalar_kind kind;
  const void* keys;
  Word* words;
  Row* rows;
  ESPALIER_HD void operator()(std::size_t i) const {
    words[i] = encode_bits(kind, load_bits<Word>(kind, keys, i));
    rows[i] = static_cast<Row>(i);
  }
};

template <class Word>
struct decode {
  scalar_kind kind;
  const Word* words;
  void* keys;
  ESPALIER_HD void operator()(std::size_t i) const { store_bits(kind, keys, i, decode_bits(kind, words[i])); }
};

template <class Value>
struct gather_values {
  const Value* from;
  row_array rows;
  Value* to;
  ESPALIER_HD void operator()(std::size_t i) const { to[i] = from[row_of(rows, i)]; }
};

template <class Bits>
struct positive_zeros {
  const Bits* from;
  Bits* to;
  ESPALIER_HD void operator()(std::size_t i) const {
    const Bits x = from[i];
    to[i] = x == Bits{1} << (8 * sizeof(Bits) - 1) ? Bits{0} : x;
  }
};

template <class Value>
struct strided_copy {
  const unsigned char* from;
  std::ptrdiff_t stride;
  Value* to;
  ESPALIER_HD void operator()(std::size_t i) const {
    to[i] = *reinterpret_cast<const Value*>(from + static_cast<std::ptrdiff_t>(i) * stride);
  }
};

/// Calls f(T{}) with an unsigned type of this width.
template <class F>
void visit_width(unsigned width, F&& f) {
  switch (width) {
    case 1:
      return f(std::uint8_t{});
    case 2:
      return f(std::uint16_t{});
    case 4:
      return f(std::uint32_t{});
    default:
      return f(std::uint64_t{});
  }
}
template <class F>
void visit_word(scalar_kind kind, F&& f) {
  if (bytes_of(kind) == 8) {
    f(std::uint64_t{});
  } else {
    f(std::uint32_t{});
  }
}

template <class Word, class Row>
void sort_rows(work_place at, scalar_kind kind, const void* keys, std::size_t n, void* sorted_keys, Row* rows) {
  buffer<Word> words(at.on, n, at.order), other_words(at.on, n, at.order);
  buffer<Row> other_rows(at.on, n, at.order);
  for_each(at, n, encode_with_row<Word, Row>{kind, keys, words.data(), rows});
  bool is_other = false;
#if ESPALIER_CUDA_COMPILER
  if (at.on.kind() == device_kind::cuda) {
    is_other = backend_of(at.on).sort_pairs(at.order, words.data(), other_words.data(), rows, other_rows.data(),
                                            sizeof(Row), n, 0, 8 * bytes_of(kind));
  } else
#endif
  {
    is_other = cpu_backend(at.on).sort_pairs(words.data(), other_words.data(), rows, other_rows.data(), sizeof(Row), n,
                                             0, 8 * bytes_of(kind));
  }
  if (is_other) at.on.copy(rows, other_rows.data(), n * sizeof(Row), at.order);
  for_each(at, n, decode<Word>{kind, is_other ? other_words.data() : words.data(), sorted_keys});
}

// ---- queries --------------------------------------------------------------------------------------------------------

template <class Word>
struct match_rows {
  scalar_kind kind;
  const void *queries, *keys;
  std::uint8_t* found;
  row_array rows;
  std::uint64_t* ranks;
  ESPALIER_HD void operator()(std::size_t i) const {
    const bool hit = found[i] != 0 && encode_bits(kind, load_bits<Word>(kind, keys, i)) ==
                                          encode_bits(kind, load_bits<Word>(kind, queries, i));
    found[i] = hit ? 1 : 0;
    ranks[i] = static_cast<std::uint64_t>(hit ? row_of(rows, ranks[i]) : -1);
  }
};

struct decrement_rank {
  std::uint64_t* ranks;
  ESPALIER_HD void operator()(std::size_t i) const { --ranks[i]; }
};

struct rank_rows {
  const std::uint8_t* found;
  row_array rows;
  std::uint64_t* ranks;
  ESPALIER_HD void operator()(std::size_t i) const {
    ranks[i] = static_cast<std::uint64_t>(found == nullptr || found[i] != 0 ? row_of(rows, ranks[i]) : -1);
  }
};

template <class T>
struct choose_asof {
  asof_arguments a;

  /// In u64 for integers, whose difference is exact there, and in double for floats.
  ESPALIER_HD static auto distance(T x, T y) {
    if constexpr (std::is_floating_point_v<T>) {
      const double apart = static_cast<double>(x) - static_cast<double>(y);
      return x == y ? 0.0 : apart < 0 ? -apart : apart;
    } else {
      const auto wide_x = static_cast<std::uint64_t>(x), wide_y = static_cast<std::uint64_t>(y);
      return x < y ? wide_y - wide_x : wide_x - wide_y;
    }
  }
  ESPALIER_HD bool is_within(T x, T y) const {
    if (!a.has_tolerance) return true;
    if constexpr (std::is_floating_point_v<T>) {
      return x == y || distance(x, y) <= a.real_tolerance;
    } else {
      return distance(x, y) <= a.tolerance;
    }
  }
  ESPALIER_HD void operator()(std::size_t i) const {
    const T asked = load<T>(a.queries, i);
    const bool is_number = asked == asked;
    const std::uint64_t back = a.back_ranks == nullptr ? a.comparable : a.back_ranks[i];
    const std::uint64_t ahead = a.ahead_ranks == nullptr ? a.comparable : a.ahead_ranks[i];
    const bool has_back = is_number && back < a.comparable && is_within(asked, load<T>(a.back_keys, i));
    const bool has_ahead = is_number && ahead < a.comparable && is_within(asked, load<T>(a.ahead_keys, i));
    std::uint64_t rank = has_back ? back : ahead;
    if (has_back && has_ahead && distance(asked, load<T>(a.ahead_keys, i)) < distance(asked, load<T>(a.back_keys, i))) {
      rank = ahead;
    }
    a.found[i] = has_back || has_ahead ? 1 : 0;
    a.out_rows[i] = has_back || has_ahead ? row_of(a.rows, rank) : -1;
  }
};

/// Calls missing(i) for each found[i] == 0. A thread loads four words of four elements before it looks at any of them:
/// with one element per thread, the latency of the loads takes 166 us for 2^26 elements on an H200, 6% of the search
/// itself. The words of a thread are `threads` apart, so that neighbouring threads load, and store, neighbouring
/// elements.
struct mask_scan {
  static constexpr std::size_t words = 4;
  const std::uint8_t* found;  // aligned to its words
  std::size_t n, threads;

  mask_scan(const std::uint8_t* mask, std::size_t size)
      : found(mask), n(size), threads(std::max<std::size_t>(1, (size / 4 + words - 1) / words)) {}

  template <class Missing>
  ESPALIER_INLINE void run(std::size_t thread, const Missing& missing) const {
    constexpr std::uint32_t all_found = 0x01010101;
    const auto* const masks = reinterpret_cast<const std::uint32_t*>(found);
    std::uint32_t loaded[words];
    for (std::size_t k = 0; k < words; ++k) {
      const std::size_t place = thread + k * threads;
      loaded[k] = place < n / 4 ? masks[place] : all_found;
    }
    for (std::size_t k = 0; k < words; ++k) {
      if (loaded[k] == all_found) continue;
      for (unsigned j = 0; j < 4; ++j) {
        if ((loaded[k] >> (8 * j) & 0xff) == 0) missing((thread + k * threads) * 4 + j);
      }
    }
    if (thread != 0) return;
    for (std::size_t i = n / 4 * 4; i < n; ++i) {
      if (found[i] == 0) missing(i);
    }
  }
};

struct find_missing {
  mask_scan mask;
  unsigned long long* first;
  ESPALIER_HD void operator()(std::size_t thread) const {
    mask.run(thread, [this](std::size_t i) { minimum::lower(first, i); });
  }
};

template <class Value>
struct fill_values {
  mask_scan mask;
  Value one;
  Value* values;
  ESPALIER_HD void operator()(std::size_t thread) const {
    mask.run(thread, [this](std::size_t i) { values[i] = one; });
  }
};

template <class Wide, class Narrow>
struct narrow_sum {
  const Wide* wide;
  Narrow* sums;
  unsigned long long* first;
  ESPALIER_HD void operator()(std::size_t i) const {
    const auto narrow = static_cast<Narrow>(wide[i]);
    if (static_cast<Wide>(narrow) != wide[i]) minimum::lower(first, i);
    sums[i] = narrow;
  }
};

template <class T>
struct read_rank {
  const T* asked;
  std::uint64_t size;
  std::uint64_t* ranks;
  unsigned long long* first;
  ESPALIER_HD void operator()(std::size_t i) const {
    const T rank = asked[i];
    const bool from_end = std::is_signed_v<T> && rank < 0;
    const auto wide = static_cast<std::uint64_t>(rank);  // sign-extended
    const std::uint64_t place = from_end ? wide + size : wide;
    if (place >= size) minimum::lower(first, i);  // also if the sum is below 0
    ranks[i] = place;
  }
};

/// Each writes one row: ranges may have very different lengths, so none is left to one thread.
struct range_row {
  const std::uint64_t *offsets, *starts;
  std::size_t ranges;
  row_array rows;
  std::int64_t* out;
  ESPALIER_HD void operator()(std::size_t i) const {
    std::size_t low = 0, high = ranges;  // the last range with offsets[range] <= i
    while (high - low > 1) {
      const std::size_t middle = low + (high - low) / 2;
      if (offsets[middle] <= i) {
        low = middle;
      } else {
        high = middle;
      }
    }
    out[i] = row_of(rows, starts[low] + (i - offsets[low]));
  }
};

}  // namespace

bool ascends(work_place at, scalar_kind kind, const void* keys, std::size_t n) {
  if (n < 2) return true;
  const minimum first(at, n);
  visit_word(kind, [&]<class Word>(Word) { for_each(at, n - 1, find_descent<Word>{kind, keys, first.memory()}); });
  return first.read() == n;
}

void sort_with_rows(work_place at, scalar_kind kind, const void* keys, std::size_t n, void* sorted_keys, void* rows,
                    unsigned row_bytes) {
  visit_word(kind, [&]<class Word>(Word) {
    if (row_bytes == 8) {
      sort_rows<Word>(at, kind, keys, n, sorted_keys, static_cast<std::uint64_t*>(rows));
    } else {
      sort_rows<Word>(at, kind, keys, n, sorted_keys, static_cast<std::uint32_t*>(rows));
    }
  });
}

void gather(work_place at, unsigned width, const void* from, row_array rows, std::size_t n, void* to) {
  visit_width(width, [&]<class T>(T) {
    for_each(at, n, gather_values<T>{static_cast<const T*>(from), rows, static_cast<T*>(to)});
  });
}

void without_negative_zeros(work_place at, scalar_kind kind, const void* from, std::size_t n, void* to) {
  visit_word(kind, [&]<class Bits>(Bits) {
    for_each(at, n, positive_zeros<Bits>{static_cast<const Bits*>(from), static_cast<Bits*>(to)});
  });
}

void copy_strided(work_place at, unsigned width, const void* from, std::ptrdiff_t stride, std::size_t n, void* to) {
  visit_width(width, [&]<class T>(T) {
    for_each(at, n, strided_copy<T>{static_cast<const unsigned char*>(from), stride, static_cast<T*>(to)});
  });
}

void rows_of_matches(work_place at, scalar_kind kind, const void* queries, const void* keys, std::uint8_t* found,
                     row_array rows, std::size_t n, std::uint64_t* ranks) {
  visit_word(kind, [&]<class Word>(Word) {
    for_each(at, n, match_rows<Word>{kind, queries, keys, found, rows, ranks});
  });
}

void decrement(work_place at, std::uint64_t* ranks, std::size_t n) { for_each(at, n, decrement_rank{ranks}); }

void rows_of_ranks(work_place at, const std::uint8_t* found, row_array rows, std::size_t n, std::uint64_t* ranks) {
  for_each(at, n, rank_rows{found, rows, ranks});
}

void asof(work_place at, scalar_kind kind, const asof_arguments& arguments, std::size_t n) {
  visit_kind(kind, [&]<class T>(T) { for_each(at, n, choose_asof<T>{arguments}); });
}

std::uint64_t first_missing(work_place at, const std::uint8_t* found, std::size_t n) {
  if (n == 0) return 0;
  const minimum first(at, n);
  const mask_scan mask(found, n);
  for_each(at, mask.threads, find_missing{mask, first.memory()});
  return first.read();
}

void fill_missing(work_place at, unsigned width, const std::uint8_t* found, std::uint64_t bits, std::size_t n,
                  void* values) {
  const mask_scan mask(found, n);
  visit_width(width, [&]<class T>(T) {
    for_each(at, mask.threads, fill_values<T>{mask, static_cast<T>(bits), static_cast<T*>(values)});
  });
}

std::uint64_t narrow_sums(work_place at, bool is_signed, const void* wide, std::size_t n, void* sums) {
  if (n == 0) return 0;
  const minimum first(at, n);
  if (is_signed) {
    for_each(at, n,
             narrow_sum<int128, std::int64_t>{static_cast<const int128*>(wide), static_cast<std::int64_t*>(sums),
                                              first.memory()});
  } else {
    for_each(at, n,
             narrow_sum<uint128, std::uint64_t>{static_cast<const uint128*>(wide), static_cast<std::uint64_t*>(sums),
                                                first.memory()});
  }
  return first.read();
}

std::uint64_t read_ranks(work_place at, scalar_kind kind, const void* asked, std::uint64_t size, std::size_t n,
                         std::uint64_t* ranks) {
  if (n == 0) return 0;
  const minimum first(at, n);
  visit_kind(kind, [&]<class T>(T) {
    if constexpr (std::is_integral_v<T>) {
      for_each(at, n, read_rank<T>{static_cast<const T*>(asked), size, ranks, first.memory()});
    }
  });
  return first.read();
}

void rows_of_ranges(work_place at, const std::uint64_t* offsets, const std::uint64_t* starts, std::size_t ranges,
                    std::uint64_t total, row_array rows, std::int64_t* out) {
  for_each(at, total, range_row{offsets, starts, ranges, rows, out});
}

}  // namespace espalier::python::device_kernels
