// static_tree_cpu_u64.cpp - the static tree on a CPU, u64 words.
#include "static_tree/cpu_executor.hpp"
#include "static_tree/index_impl.hpp"

namespace espalier::detail {

template std::unique_ptr<static_index> build_index_on<cpu_executor, std::uint64_t>(const device&, element_type,
                                                                                   const void*, const void*,
                                                                                   std::size_t, const build_options&,
                                                                                   const execution&);

}  // namespace espalier::detail
