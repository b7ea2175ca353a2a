// batch_spread.hpp - how the keys of a batch lie among the leaves. cuda_spread.cuh finds out, kernels obey.
#pragma once

#include <cstdint>

#include "espalier/core/config.hpp"

namespace espalier::detail {

/// Bits, so that a condition may name several.
enum class batch_spread : std::uint32_t {
  unknown = 0,
  apart = 1,   ///< hardly any two keys of a leaf
  uneven = 2,  ///< some leaf gets many
  dense = 4,   ///< all of them do: the batch is to be merged
  not_dense = apart | uneven,
  dense_at_end = 8,  ///< and all of them go behind the last leaf that upper levels know
};

/// Read by kernels behind the one that finds out.
struct spread_condition {
  const batch_spread* seen = nullptr;  ///< null: always
  batch_spread wanted = batch_spread::unknown;
  [[nodiscard]] ESPALIER_INLINE bool holds() const {
    return seen == nullptr || (static_cast<std::uint32_t>(*seen) & static_cast<std::uint32_t>(wanted)) != 0;
  }
};

}  // namespace espalier::detail
