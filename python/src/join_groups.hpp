// join_groups.hpp - group codes of `by` columns of any layout.
#pragma once

#include <memory>
#include <optional>
#include <shared_mutex>
#include <span>
#include <vector>

#include "espalier/join/dense_groups.hpp"
#include "espalier/join/group_encoder.hpp"
#include "join_columns.hpp"

namespace espalier::python {

class text_dictionary;

/// Dense codes of the distinct rows of one or more `by` columns. Strings may come as offsets, as views, or behind a
/// dictionary, whatever they came as in an earlier call; all other columns must have the same format in every call,
/// which the caller sees to. Thread-safe, and to be called without the GIL: encode() waits for the lookups of other
/// threads.
class join_groups {
 public:
  join_groups();
  ~join_groups();
  /// Codes of the rows. With `adds`, new groups are added; otherwise they get no_group, as rows with a NULL do.
  void encode(std::span<const column_ptr> columns, std::span<std::uint32_t> codes, bool adds);
  [[nodiscard]] std::uint32_t size() const;

 private:
  void codes_of_text(const join_column& column, std::size_t position, std::span<std::uint32_t> codes, bool adds);

  mutable std::shared_mutex latch_;
  std::vector<std::unique_ptr<text_dictionary>> texts_;  // null where the column is not text
  bool is_one_text_ = false;
  group_encoder encoder_;
};

/// Codes of one `by` column of each side without a dictionary of groups: integers of a small range, and text behind the
/// same dictionary of 4-byte indices on both sides. Works without the GIL.
[[nodiscard]] std::optional<dense_groups> dense_groups_of_columns(const join_column& left, const join_column& right);

}  // namespace espalier::python
