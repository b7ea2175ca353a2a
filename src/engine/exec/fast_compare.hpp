// fast_compare.hpp - comparisons of decimals and texts as loops over 64 rows, a word of the answer at a time. Arrow
// calls a function for each decimal and each text, and hashes texts that are looked up in a list of two.
#pragma once

#include <arrow/type_fwd.h>

#include <memory>
#include <string_view>
#include <vector>

#include "engine/sql/expr.hpp"

namespace arrow {
struct Datum;
}

namespace espalier::engine {

/// left kind right, for each row. Null where they are not decimals of one scale, or both are constants, or one is NULL.
[[nodiscard]] std::shared_ptr<arrow::Array> compared_decimals(op kind, const arrow::Datum& left,
                                                              const arrow::Datum& right);

inline constexpr std::size_t most_listed_texts = 8;
/// Is the text one of these? NULL for NULL.
[[nodiscard]] std::shared_ptr<arrow::Array> texts_among(const arrow::Array& texts,
                                                        const std::vector<std::string_view>& wanted);

}  // namespace espalier::engine
