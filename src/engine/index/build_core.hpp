// build_core.hpp - from a table to an index: which kind, which keys, built.
#pragma once

#include <memory>
#include <string>

#include "engine/index/table_index_impl.hpp"
#include "engine/memory_budget.hpp"

namespace espalier::engine {

struct built_core {
  std::shared_ptr<const key_encoder> encoder;
  std::unique_ptr<table_index_impl> core;
  held_memory memory{};
  std::uint64_t counted_rows = 0;  ///< when its memory was counted
};

/// Counts the memory of the core, if it may have changed much since that was done.
void count_memory(built_core& built) noexcept;

/// `again`: the index was of the kind asked for and its keys have outgrown it; they become bytes then, not an error.
[[nodiscard]] built_core build_core(const table_version& table, const index_spec& spec, const device& where, bool again,
                                    const index_progress& tell);
/// An index of this kind from keys in order.
[[nodiscard]] std::unique_ptr<table_index_impl> make_core(index_kind kind, ordered_keys keys, const device& where);
/// All keys of the table in order. Throws `unique_violation`.
[[nodiscard]] ordered_keys read_keys(const table_version& table, const index_spec& spec,
                                     const std::shared_ptr<const key_encoder>& encoder, const device& where);

/// Throws `error` where the table has no such columns.
void check_spec(const table_version& table, const index_spec& spec);
[[nodiscard]] unique_violation violation(const table_version& table, const index_spec& spec, std::uint64_t row);
/// "(a, b)"
[[nodiscard]] std::string column_names(const table_version& table, const index_spec& spec);

}  // namespace espalier::engine
