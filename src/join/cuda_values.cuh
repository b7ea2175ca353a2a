// cuda_values.cuh - the structures of values.hpp on a GPU: the same numbers at the same positions, so that window joins
// give the CPU's results bit by bit. Sums of floats are made in the same blocks of sum_block rows, each by one thread
// in row order; the sums of the blocks are added by the host.
#pragma once

#include <vector>

#include "espalier/device/cuda.cuh"
#include "join/aggregate_views.hpp"
#include "join/cuda_side.cuh"

namespace espalier::join_detail {

/// Values of n positions on a GPU.
struct positioned_values {
  scalar_kind kind = scalar_kind::opaque;
  const void* data = nullptr;
  const std::uint8_t* bits = nullptr;  // null: no value is NULL
  std::size_t offset = 0;
  const row_number* rows = nullptr;  // null: position p is row p
  std::size_t n = 0;

  __device__ std::size_t row(std::size_t p) const { return rows == nullptr ? p : rows[p]; }
  __device__ bool is_valid(std::size_t row) const {
    return bits == nullptr || ((bits[(offset + row) / 8] >> ((offset + row) % 8)) & 1u) != 0;
  }
  __device__ std::uint64_t raw(std::size_t row) const { return load_bits<std::uint64_t>(kind, data, row); }
  /// 0 for NULL.
  __device__ double real(std::size_t p) const {
    const std::size_t at = row(p);
    if (!is_valid(at)) return 0;
    return kind == scalar_kind::f32 ? static_cast<const float*>(data)[at] : static_cast<const double*>(data)[at];
  }
  __device__ int128 integer(std::size_t p) const {
    const std::size_t at = row(p);
    if (!is_valid(at)) return 0;
    const std::uint64_t x = raw(at);
    switch (kind) {
      case scalar_kind::i8:
        return static_cast<std::int8_t>(x);
      case scalar_kind::i16:
        return static_cast<std::int16_t>(x);
      case scalar_kind::i32:
        return static_cast<std::int32_t>(x);
      case scalar_kind::i64:
        return static_cast<std::int64_t>(x);
      default:
        return static_cast<int128>(x);
    }
  }
};

/// Per block of sum_block positions: the sum of absolute values that are finite, and the others.
struct block_facts {
  double absolute = 0;
  odd_values odd;
};

/// The magnitude of the integers of each thread block, added by the host.
inline __global__ void __launch_bounds__(256) add_magnitudes(positioned_values in, uint128* out) {
  __shared__ uint128 sums[256];
  uint128 sum = 0;
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t p = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; p < in.n; p += stride) {
    const int128 x = in.integer(p);
    sum += static_cast<uint128>(x < 0 ? -x : x);
  }
  sums[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (unsigned t = 1; t < 256; ++t) sum += sums[t];
  out[blockIdx.x] = sum;
}

/// One warp per block of extrema_block positions.
template <bool Max>
__global__ void __launch_bounds__(256)
    make_extrema(const std::uint64_t* words, prefix_counts_view valid, std::size_t n, std::size_t blocks,
                 std::uint64_t* from_start, std::uint64_t* to_end, std::uint64_t* base) {
  static_assert(extrema_block == 32);
  const std::size_t p = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const unsigned lane = threadIdx.x % 32;
  unsigned long long up = extremum_of<Max>::worst;
  if (p < n && valid.is_valid(p)) up = words[p];
  unsigned long long down = up;
#pragma unroll
  for (unsigned step = 1; step < 32; step *= 2) {
    const unsigned long long before = __shfl_up_sync(0xffffffffu, up, step);
    const unsigned long long after = __shfl_down_sync(0xffffffffu, down, step);
    if (lane >= step) up = extremum_of<Max>::better(up, before);
    if (lane + step < 32) down = extremum_of<Max>::better(down, after);
  }
  if (p >= n) return;
  from_start[p] = up;
  to_end[p] = down;
  if (lane == 31 && p / 32 < blocks) base[p / 32] = up;
}

/// A value column in position order.
class gpu_values {
 public:
  gpu_values(const cuda_backend& backend, const stream& order, const positioned_values& in, unsigned functions)
      : backend_(backend), order_(order), in_(in) {
    const auto wants = [functions](window_function f) { return (functions & (1u << static_cast<unsigned>(f))) != 0; };
    if (in.bits != nullptr) make_counts();
    if (wants(window_function::sum) || wants(window_function::avg)) {
      is_float_kind(in.kind) ? make_real() : make_integer();
    }
    if (wants(window_function::min) || wants(window_function::max)) {
      make_words();
      if (wants(window_function::min)) make_table<false>(min_);
      if (wants(window_function::max)) make_table<true>(max_);
    }
  }

  [[nodiscard]] value_column_view view() const {
    return {in_.kind,
            {counts_.data()},
            {narrow_.data(), wide_.data(), reals_.data(), odd_.data(), scale_},
            {words_.data(), min_.view(), max_.view()}};
  }

  // Public for the sake of nvcc, which takes no kernels from private functions.
  template <class T>
  [[nodiscard]] buffer<T> make(std::size_t n) const {
    return buffer<T>(backend_.get_device(), n, order_);
  }
  template <class T>
  [[nodiscard]] std::vector<T> to_host(const buffer<T>& from) const {
    std::vector<T> out(from.size());
    backend_.get_device().copy(out.data(), from.data(), from.bytes(), order_);
    order_.synchronize();
    return out;
  }

  void make_counts() {
    counts_ = make<std::uint32_t>(in_.n + 1);
    std::uint32_t* const to = counts_.data();
    backend_.for_each(order_, in_.n + 1, [in = in_, to] __device__(std::size_t p) {
      to[p] = p < in.n && in.is_valid(in.row(p)) ? 1u : 0u;
    });
    backend_.exclusive_scan(order_, static_cast<const std::uint32_t*>(to), to, in_.n + 1);
  }

  template <class Sum>
  [[nodiscard]] buffer<Sum> integer_prefix() const {
    buffer<Sum> out = make<Sum>(in_.n + 1);
    Sum* const to = out.data();
    backend_.for_each(order_, in_.n + 1, [in = in_, to] __device__(std::size_t p) {
      to[p] = p < in.n ? static_cast<Sum>(in.integer(p)) : Sum{0};
    });
    backend_.exclusive_scan(order_, static_cast<const Sum*>(to), to, in_.n + 1);
    return out;
  }
  void make_integer() {
    // 2^31 values of 32 bits have a 63-bit sum.
    bool is_narrow = bytes_of(in_.kind) <= 4 && in_.n < (std::size_t{1} << 31);
    if (!is_narrow) {
      constexpr unsigned blocks = 512;
      const buffer<uint128> sums = make<uint128>(blocks);
      add_magnitudes<<<blocks, 256, 0, cuda_backend::native(order_)>>>(in_, sums.data());
      detail::check_cuda(cudaGetLastError(), "add_magnitudes");
      uint128 all = 0;
      for (const uint128 sum : to_host(sums)) all += sum;
      is_narrow = all < (uint128{1} << 63);
    }
    if (is_narrow) {
      narrow_ = integer_prefix<std::int64_t>();
    } else {
      wide_ = integer_prefix<int128>();
    }
  }

  void make_real() {
    const std::size_t n = in_.n, blocks = (n + sum_block - 1) / sum_block;
    const buffer<double> values = make<double>(n);
    double* const value = values.data();
    backend_.for_each(order_, n, [in = in_, value] __device__(std::size_t p) { value[p] = in.real(p); });
    const buffer<block_facts> facts = make<block_facts>(blocks);
    backend_.for_each(order_, blocks, [n, value, to = facts.data()] __device__(std::size_t b) {
      block_facts found;
      for (std::size_t p = b * sum_block; p < min(n, (b + 1) * sum_block); ++p) {
        const odd_values odd = odd_values::of(value[p]);
        found.absolute += odd.is_none() ? fabs(value[p]) : 0.0;
        found.odd = found.odd + odd;
      }
      to[b] = found;
    });
    block_facts all;
    for (const block_facts& f : to_host(facts)) {
      all.absolute += f.absolute;
      all.odd = all.odd + f.odd;
    }
    if (!all.odd.is_none()) make_odd(value);
    if (all.absolute > most_unscaled_sum) scale_ = sum_scale;
    backend_.for_each(order_, n, [value, scale = scale_] __device__(std::size_t p) {
      value[p] = odd_values::of(value[p]).is_none() ? value[p] * scale : 0.0;
    });
    const buffer<double_double> bases = make<double_double>(blocks);
    backend_.for_each(order_, blocks, [n, value, to = bases.data()] __device__(std::size_t b) {
      double_double total;
      for (std::size_t p = b * sum_block; p < min(n, (b + 1) * sum_block); ++p) {
        total = total + double_double{value[p], 0.0};
      }
      to[b] = total;
    });
    std::vector<double_double> base = to_host(bases);
    double_double before;
    for (double_double& b : base) {
      const double_double total = std::exchange(b, before);
      before = before + total;
    }
    backend_.get_device().copy(bases.data(), base.data(), bases.bytes(), order_);
    reals_ = make<double_double>(n + 1);
    backend_.for_each(order_, blocks + 1,
                      [n, blocks, value, before, from = bases.data(), to = reals_.data()] __device__(std::size_t b) {
                        if (b == blocks) {
                          to[n] = before;
                          return;
                        }
                        double_double total;
                        for (std::size_t p = b * sum_block; p < min(n, (b + 1) * sum_block); ++p) {
                          to[p] = from[b] + total;
                          total = total + double_double{value[p], 0.0};
                        }
                      });
    order_.synchronize();  // `base` is still being copied
  }

  void make_words() {
    words_ = make<std::uint64_t>(in_.n);
    backend_.for_each(order_, in_.n, [in = in_, to = words_.data()] __device__(std::size_t p) {
      to[p] = encode_bits<std::uint64_t>(in.kind, in.raw(in.row(p)));
    });
  }

  void make_odd(const double* value) {
    const std::size_t n = in_.n;
    odd_ = make<odd_values>(n + 1);
    const buffer<std::uint32_t> counts = make<std::uint32_t>(n + 1);
    std::uint32_t* const count = counts.data();
    for (unsigned which = 0; which < 3; ++which) {
      backend_.for_each(order_, n + 1, [n, which, value, count] __device__(std::size_t p) {
        const odd_values odd = p < n ? odd_values::of(value[p]) : odd_values{};
        count[p] = which == 0 ? odd.nan : which == 1 ? odd.positive : odd.negative;
      });
      backend_.exclusive_scan(order_, static_cast<const std::uint32_t*>(count), count, n + 1);
      backend_.for_each(order_, n + 1, [which, count, to = odd_.data()] __device__(std::size_t p) {
        (which == 0 ? to[p].nan : which == 1 ? to[p].positive : to[p].negative) = count[p];
      });
    }
  }

  struct table {
    buffer<std::uint64_t> from_start, to_end, levels;
    std::size_t blocks = 0;
    [[nodiscard]] extrema_table view() const { return {from_start.data(), to_end.data(), levels.data(), blocks}; }
  };
  template <bool Max>
  void make_table(table& made) {
    const std::size_t n = in_.n, blocks = n / extrema_block;
    const unsigned levels = extrema_levels(blocks);
    made.blocks = blocks;
    made.from_start = make<std::uint64_t>(n);
    made.to_end = make<std::uint64_t>(n);
    made.levels = make<std::uint64_t>(extrema_level_begin(blocks, levels));
    if (n == 0) return;
    std::uint64_t* const base = made.levels.data();
    make_extrema<Max><<<static_cast<unsigned>((n - 1) / 256 + 1), 256, 0, cuda_backend::native(order_)>>>(
        words_.data(), {counts_.data()}, n, blocks, made.from_start.data(), made.to_end.data(), base);
    detail::check_cuda(cudaGetLastError(), "make_extrema");
    for (unsigned level = 1; level < levels; ++level) {
      const std::size_t half = std::size_t{1} << (level - 1);
      const std::uint64_t* from = base + extrema_level_begin(blocks, level - 1);
      std::uint64_t* const to = base + extrema_level_begin(blocks, level);
      backend_.for_each(order_, blocks - 2 * half + 1, [from, to, half] __device__(std::size_t b) {
        to[b] = extremum_of<Max>::better(from[b], from[b + half]);
      });
    }
  }

 private:
  cuda_backend backend_;
  stream order_;
  positioned_values in_;
  buffer<std::uint32_t> counts_;
  buffer<std::int64_t> narrow_;
  buffer<int128> wide_;
  buffer<double_double> reals_;
  buffer<odd_values> odd_;
  double scale_ = 1;
  buffer<std::uint64_t> words_;
  table min_, max_;
};

}  // namespace espalier::join_detail
