// fast_compare.hpp - comparisons of decimals and texts, 64 rows and one result word at a time. Arrow calls a function
// per decimal and per text, and hashes texts even to look them up in a list of two.
#pragma once

#include <arrow/type_fwd.h>

#include <memory>
#include <string_view>
#include <vector>

#include "engine/expr/expr.hpp"

namespace arrow {
struct Datum;
}

namespace espalier::engine {

/// Returns `left kind right` for each row. Returns null if they are not decimals of one scale, both are constants, or
/// one is NULL.
[[nodiscard]] std::shared_ptr<arrow::Array> compared_decimals(op kind, const arrow::Datum& left,
                                                              const arrow::Datum& right);

inline constexpr std::size_t most_listed_texts = 8;
/// Returns whether each text is in the list, and NULL for NULL.
[[nodiscard]] std::shared_ptr<arrow::Array> texts_among(const arrow::Array& texts,
                                                        const std::vector<std::string_view>& wanted);

}  // namespace espalier::engine
