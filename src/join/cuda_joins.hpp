// cuda_joins.hpp - the entries from host code to the joins of a GPU. In a build without CUDA there is no GPU device to
// call them with.
#pragma once

#include <span>

#include "espalier/join/asof_join.hpp"
#include "espalier/join/gather.hpp"
#include "espalier/join/window_join.hpp"

namespace espalier::join_detail {

#if defined(ESPALIER_HAS_CUDA) && ESPALIER_HAS_CUDA

/// As asof_join(). Preconditions: sizes, types and numbers of groups fit.
void asof_join_on_gpu(const join_side& left, const join_side& right, std::span<row_number> rows,
                      const asof_options& options, const device& dev, const stream& s);

/// As gather_column(). Precondition: sizes fit.
[[nodiscard]] std::size_t gather_column_on_gpu(const fixed_width_view& column, std::span<const row_number> rows,
                                               void* out, std::span<std::uint8_t> validity, const device& dev,
                                               const stream& s);

/// As window_join(). Preconditions: sizes, types, bounds and outputs fit.
void window_join_on_gpu(const join_side& left, const join_side& right, std::span<const column_view> columns,
                        const window_bounds& bounds, std::span<const window_output> outputs, const device& dev,
                        const stream& s);

#else

[[noreturn]] inline void throw_no_cuda() { throw error("No GPU can be used: this build has no CUDA code."); }
[[noreturn]] inline void asof_join_on_gpu(const join_side&, const join_side&, std::span<row_number>,
                                          const asof_options&, const device&, const stream&) {
  throw_no_cuda();
}
[[noreturn]] inline std::size_t gather_column_on_gpu(const fixed_width_view&, std::span<const row_number>, void*,
                                                     std::span<std::uint8_t>, const device&, const stream&) {
  throw_no_cuda();
}
[[noreturn]] inline void window_join_on_gpu(const join_side&, const join_side&, std::span<const column_view>,
                                            const window_bounds&, std::span<const window_output>, const device&,
                                            const stream&) {
  throw_no_cuda();
}

#endif

}  // namespace espalier::join_detail
