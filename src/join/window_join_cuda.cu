// window_join_cuda.cu - window_join() on a GPU: ranks of both ends of the window of each left row, then one kernel per
// output, which takes its result from prefix sums, prefix counts and extrema of the right side.
#include <memory>

#include "join/cuda_joins.hpp"
#include "join/cuda_query_order.cuh"
#include "join/cuda_side.cuh"
#include "join/cuda_values.cuh"
#include "join/keys.hpp"
#include "join/window_rule.hpp"

namespace espalier::join_detail {

namespace {

template <class KeyWord, class Word>
struct first_of_rule {
  window_rule<KeyWord, Word> rule;
  __device__ rank_query<Word> operator()(std::uint32_t group, KeyWord key) const { return rule.first(group, key); }
};

/// Left row `sequence`[p], or p if it is null, is the one at position p of the blocks.
template <class KeyWord, class Word>
__global__ void __launch_bounds__(rank_threads)
    rank_windows(const row_number* sequence, const side_rows<KeyWord> left, const sorted_words<Word> words,
                 const window_rule<KeyWord, Word> rule, position_range* out) {
  __shared__ typename block_ranker<Word>::storage shared;
  const block_ranker<Word> ranker(shared, words);
  const std::size_t first_row = std::size_t{blockIdx.x} * rank_tile + threadIdx.x;
  KeyWord keys[rank_items];
  std::uint32_t groups[rank_items];
  bool can_match[rank_items];
  rank_query<Word> queries[rank_items];
#pragma unroll
  for (unsigned k = 0; k < rank_items; ++k) {
    const std::size_t p = first_row + k * rank_threads;
    const bool is_row = p < left.n;
    const std::size_t i = is_row && sequence != nullptr ? sequence[p] : p;
    keys[k] = is_row ? left.read(left.keys[i]) : KeyWord{0};
    groups[k] = is_row ? left.group(i) : 0;
    can_match[k] = is_row && left.can_match(i);
    queries[k] = can_match[k] ? rule.first(groups[k], keys[k]) : rank_query<Word>{0, false};
  }
  row_number first[rank_items], last[rank_items];
  ranker.rank(queries, can_match, first);
#pragma unroll
  for (unsigned k = 0; k < rank_items; ++k) {
    if (can_match[k]) queries[k] = rule.last(groups[k], keys[k]);
  }
  ranker.rank(queries, can_match, last);
#pragma unroll
  for (unsigned k = 0; k < rank_items; ++k) {
    const std::size_t p = first_row + k * rank_threads;
    const bool has_rows = can_match[k] && first[k] < last[k];
    if (p < left.n)
      out[sequence == nullptr ? p : sequence[p]] = has_rows ? position_range{first[k], last[k]} : position_range{};
  }
}

/// One output of n left rows; a warp writes four bytes of validity bits.
__global__ void __launch_bounds__(256)
    write_results(const __grid_constant__ window_target target, const position_range* ranges, std::size_t n,
                  std::uint8_t* validity, std::uint32_t* is_too_wide) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  window_result result = window_result::null;
  if (i < n) result = target.write(i, ranges[i]);
  const unsigned bits = __ballot_sync(0xffffffffu, result == window_result::value);
  if (validity != nullptr && i % 8 == 0 && i < n) {
    validity[i / 8] = static_cast<std::uint8_t>(bits >> (threadIdx.x % 32));
  }
  if (result == window_result::too_wide) *is_too_wide = 1;
}

/// The memory of one output.
struct output_memory {
  output_array<unsigned char> data;
  output_array<std::uint8_t> validity;
  output_memory(const device& dev, const stream& order, const window_output& output)
      : data(dev, order, static_cast<unsigned char*>(output.data), output.size * output.width),
        validity(dev, order, output.validity.empty() ? nullptr : output.validity.data(), output.validity.size()) {}
};
struct column_memory {
  input_array<unsigned char> data;
  input_bitmap bits;
  column_memory(const device& dev, const stream& order, const column_view& column)
      : data(dev, order, static_cast<const unsigned char*>(column.data), column.size * bytes_of(column.kind)),
        bits(dev, order, column.validity, column.size) {}
};

template <class KeyWord>
void window_of_word(const join_side& left_side, const join_side& right_side, std::span<const column_view> columns,
                    const window_bounds& bounds, std::span<const window_output> outputs, const device& dev,
                    const stream& order) {
  constexpr const char* call = "window_join()";
  const cuda_backend backend(dev);
  const std::size_t n = left_side.on.size;
  const gpu_side<KeyWord> right(dev, order, right_side), left(dev, order, left_side);
  std::vector<column_memory> column_data;
  for (const column_view& column : columns) column_data.emplace_back(dev, order, column);
  std::vector<output_memory> output_data;
  for (const window_output& output : outputs) output_data.emplace_back(dev, order, output);
  const buffer<position_range> ranges(dev, n, order);
  const std::uint32_t no = 0;
  const buffer<std::uint32_t> is_too_wide = to_device(dev, std::span(&no, 1), order);
  std::vector<std::unique_ptr<gpu_values>> values;
  join_copies copies(dev, order);
  right.fetch(copies, 0, right_side.on.size);
  const stream_event right_arrived = copies.arrived();
  for (const column_memory& column : column_data) {
    column.data.fetch(copies);
    column.bits.fetch(copies, 0, right_side.on.size);
  }
  left.fetch(copies, 0, n);
  unsigned functions = 0;
  for (const window_output& output : outputs) functions |= 1u << static_cast<unsigned>(output.function);
  order.wait_for(right_arrived);
  with_sorted_side<KeyWord>(call, backend, order, right, [&]<class Word>(const sorted_side<KeyWord, Word>& side) {
    const side_rows<KeyWord> left_rows = left.rows();
    order.wait_for(copies.arrived());
    if (right_side.on.size != 0) check_codes(call, "left", backend, order, left_rows, left_side.groups);
    const window_rule<KeyWord, Word> rule{side.packing,
                                          is_float_kind(left_side.on.kind),
                                          window_end::of(bounds.preceding),
                                          window_end::of(bounds.following),
                                          bounds.includes_first,
                                          bounds.includes_last};
    buffer<row_number> sequence;
    if (wants_query_order(backend, order, left_rows, left_side, side.words)) {
      sequence = order_of_queries(backend, order, left_rows, side.words, first_of_rule<KeyWord, Word>{rule});
    }
    rank_windows<<<static_cast<unsigned>((n - 1) / rank_tile + 1), rank_threads, 0, cuda_backend::native(order)>>>(
        sequence.data(), left_rows, side.words, rule, ranges.data());
    detail::check_cuda(cudaGetLastError(), "rank_windows");
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const bitmap_view bits = column_data[c].bits.view();
      const positioned_values in{columns[c].kind, column_data[c].data.data(), bits.bits, bits.offset, side.rows,
                                 side.words.n};
      values.push_back(std::make_unique<gpu_values>(backend, order, in, functions));
    }
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      const window_output& output = outputs[o];
      window_target target{output.function, output_data[o].data.data(), output.width, side.rows, {}};
      if (output.function != window_function::count_rows) target.column = values[output.column]->view();
      write_results<<<static_cast<unsigned>((n - 1) / 256 + 1), 256, 0, cuda_backend::native(order)>>>(
          target, ranges.data(), n, output_data[o].validity.data(), is_too_wide.data());
      detail::check_cuda(cudaGetLastError(), "write_results");
      output_data[o].data.send(copies, 0, output.size * output.width);
      output_data[o].validity.send(copies, 0, output.validity.size());
    }
    // Structures of the right side are freed in the order of the call, after the kernels that read them.
    if (read_back(dev, order, is_too_wide.data()) != 0) throw_sum_too_wide();
  });
  copies.finish();
}

}  // namespace

void window_join_on_gpu(const join_side& left, const join_side& right, std::span<const column_view> columns,
                        const window_bounds& bounds, std::span<const window_output> outputs, const device& dev,
                        const stream& s) {
  if (left.on.size == 0) return;
  // Without right rows, the type of their keys does not matter.
  const scalar_kind kind = right.on.size == 0 ? left.on.kind : right.on.kind;
  if (with_key_type(kind, "window_join()", [](auto key) { return sizeof(key); }) == 4) {
    window_of_word<std::uint32_t>(left, right, columns, bounds, outputs, dev, s);
  } else {
    window_of_word<std::uint64_t>(left, right, columns, bounds, outputs, dev, s);
  }
}

}  // namespace espalier::join_detail
