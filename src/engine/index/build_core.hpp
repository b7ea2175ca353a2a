// build_core.hpp - builds an index from a table: chooses the kind, encodes the keys and builds the tree.
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
  std::uint64_t counted_rows = 0;  ///< row count when the memory was counted
};

/// Counts the memory of the core if it may have changed considerably since the last count.
void count_memory(built_core& built) noexcept;

/// `again` means that the index had the requested kind and its keys have outgrown it. Its keys become bytes then, which
/// would otherwise be an error.
[[nodiscard]] built_core build_core(const table_version& table, const index_spec& spec, const device& where, bool again,
                                    const index_progress& tell);
/// Builds an index of this kind from sorted keys.
[[nodiscard]] std::unique_ptr<table_index_impl> make_core(index_kind kind, ordered_keys keys, const device& where);
/// Returns all keys of the table in order. Throws `unique_violation`.
[[nodiscard]] ordered_keys read_keys(const table_version& table, const index_spec& spec,
                                     const std::shared_ptr<const key_encoder>& encoder, const device& where);

/// Throws `error` if the table does not have these columns.
void check_spec(const table_version& table, const index_spec& spec);
[[nodiscard]] unique_violation violation(const table_version& table, const index_spec& spec, std::uint64_t row);
/// Returns the names in the form "(a, b)".
[[nodiscard]] std::string column_names(const table_version& table, const index_spec& spec);

}  // namespace espalier::engine
