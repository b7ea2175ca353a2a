// gather_cuda.cu - gather_column() on a GPU: one thread per element; a warp writes four bytes of validity bits.
#include "espalier/device/cuda.cuh"
#include "join/cuda_joins.hpp"
#include "join/cuda_staging.cuh"
#include "join/keys.hpp"

namespace espalier::join_detail {

namespace {

struct alignas(16) value_of_16 {
  std::uint64_t low, high;
};

struct gather_counts {
  unsigned long long missing = 0;
  std::uint32_t is_out_of_range = 0;
};

/// `n` row numbers; element i of `rows` is bit i % 8 of byte i / 8 of `validity`, which may be null.
template <class Value>
__global__ void __launch_bounds__(256)
    gather_values(const Value* column, std::size_t size, const std::uint8_t* bits, std::size_t offset,
                  const row_number* rows, std::size_t n, Value* out, std::uint8_t* validity, gather_counts* counts) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  bool has_value = false, is_bad = false;
  if (i < n) {
    const row_number row = load_streaming(rows + i);
    has_value = row < size;
    is_bad = !has_value && row != no_row;
    if (has_value && bits != nullptr) has_value = ((bits[(offset + row) / 8] >> ((offset + row) % 8)) & 1u) != 0;
    Value value{};
    if (has_value) value = column[row];
    out[i] = value;
  }
  const unsigned present = __ballot_sync(0xffffffffu, has_value);
  const bool any_bad = __any_sync(0xffffffffu, is_bad) != 0;
  if (validity != nullptr && i % 8 == 0 && i < n) {
    validity[i / 8] = static_cast<std::uint8_t>(present >> (threadIdx.x % 32));
  }
  const unsigned missing = __syncthreads_count(i < n && !has_value);
  if (threadIdx.x == 0 && missing != 0) atomicAdd(&counts->missing, static_cast<unsigned long long>(missing));
  if (any_bad && threadIdx.x % 32 == 0) counts->is_out_of_range = 1;
}

template <class Value>
std::size_t gather_of_width(const fixed_width_view& column, std::span<const row_number> rows, void* to,
                            std::span<std::uint8_t> bits, const device& dev, const stream& order) {
  const input_array<Value> values(dev, order, static_cast<const Value*>(column.data), column.size);
  const input_bitmap valid(dev, order, column.validity, column.size);
  const input_array<row_number> numbers(dev, order, rows.data(), rows.size());
  const output_array<Value> out(dev, order, static_cast<Value*>(to), rows.size());
  const output_array<std::uint8_t> validity(dev, order, bits.empty() ? nullptr : bits.data(), bits.size());
  const gather_counts none;
  const buffer<gather_counts> counts = to_device(dev, std::span(&none, 1), order);
  const bool is_copied = numbers.is_copy() || out.is_copy() || validity.is_copy();
  join_copies copies(dev, order);
  values.fetch(copies);
  valid.fetch(copies, 0, column.size);
  for_each_copied_piece(rows.size(), is_copied, [&](std::size_t first, std::size_t last) {
    numbers.fetch(copies, first, last);
    order.wait_for(copies.arrived());
    const auto blocks = static_cast<unsigned>((last - first - 1) / 256 + 1);
    gather_values<<<blocks, 256, 0, cuda_backend::native(order)>>>(
        values.data(), column.size, valid.view().bits, valid.view().offset, numbers.data() + first, last - first,
        out.data() + first, validity.data() == nullptr ? nullptr : validity.data() + first / 8, counts.data());
    detail::check_cuda(cudaGetLastError(), "gather_values");
    out.send(copies, first, last);
    validity.send(copies, first / 8, (last + 7) / 8);
  });
  gather_counts found;
  dev.copy(&found, counts.data(), sizeof(found), order);
  copies.finish();
  if (found.is_out_of_range != 0) throw_row_out_of_range(column.size);
  return found.missing;
}

}  // namespace

std::size_t gather_column_on_gpu(const fixed_width_view& column, std::span<const row_number> rows, void* out,
                                 std::span<std::uint8_t> validity, const device& dev, const stream& s) {
  if (rows.empty()) return 0;
  switch (column.width) {
    case 1:
      return gather_of_width<std::uint8_t>(column, rows, out, validity, dev, s);
    case 2:
      return gather_of_width<std::uint16_t>(column, rows, out, validity, dev, s);
    case 4:
      return gather_of_width<std::uint32_t>(column, rows, out, validity, dev, s);
    case 8:
      return gather_of_width<std::uint64_t>(column, rows, out, validity, dev, s);
    default:
      return gather_of_width<value_of_16>(column, rows, out, validity, dev, s);
  }
}

}  // namespace espalier::join_detail
