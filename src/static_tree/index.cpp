// index.cpp - selects the compiled index for a type and a device.
#include "espalier/static_tree/index.hpp"

#include <string>

#include "static_tree/storage.hpp"

namespace espalier::detail {

class cpu_executor;
class cuda_executor;

template <class Context, class Word>
std::unique_ptr<static_index> build_index_on(const device& dev, element_type elements, const void* keys,
                                             const void* values, std::size_t n, const build_options& options,
                                             const execution& ex);

extern template std::unique_ptr<static_index> build_index_on<cpu_executor, std::uint32_t>(
    const device&, element_type, const void*, const void*, std::size_t, const build_options&, const execution&);
extern template std::unique_ptr<static_index> build_index_on<cpu_executor, std::uint64_t>(
    const device&, element_type, const void*, const void*, std::size_t, const build_options&, const execution&);
#ifdef ESPALIER_HAS_CUDA
extern template std::unique_ptr<static_index> build_index_on<cuda_executor, std::uint32_t>(
    const device&, element_type, const void*, const void*, std::size_t, const build_options&, const execution&);
extern template std::unique_ptr<static_index> build_index_on<cuda_executor, std::uint64_t>(
    const device&, element_type, const void*, const void*, std::size_t, const build_options&, const execution&);
#endif

namespace {

template <class Context>
std::unique_ptr<static_index> build_on(const device& dev, element_type elements, const void* keys, const void* values,
                                       std::size_t n, const build_options& options, const execution& ex) {
  return bytes_of(elements.key) <= 4
             ? build_index_on<Context, std::uint32_t>(dev, elements, keys, values, n, options, ex)
             : build_index_on<Context, std::uint64_t>(dev, elements, keys, values, n, options, ex);
}

}  // namespace

std::unique_ptr<static_index> build_static_index(const device& dev, element_type elements, const void* keys,
                                                 const void* values, std::size_t n, const build_options& options,
                                                 const execution& ex) {
  if (elements.value_bytes > 16) throw error("build: values have at most 16 bytes; store an index to larger ones.");
  if (options.keep != aggregates::none && elements.value_bytes != 0 && elements.value == scalar_kind::opaque) {
    throw error("build: aggregates need values that are numbers; build with aggregates::none.");
  }
#ifdef ESPALIER_HAS_CUDA
  if (dev.kind() == device_kind::cuda) return build_on<cuda_executor>(dev, elements, keys, values, n, options, ex);
#endif
  return build_on<cpu_executor>(dev, elements, keys, values, n, options, ex);
}

}  // namespace espalier::detail
