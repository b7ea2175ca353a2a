// same_rows.hpp - checks whether two engines returned the same result.
#pragma once

#include <arrow/type_fwd.h>

#include <string>

namespace espalier::bench {

/// Compares them as multisets of rows; columns of `theirs` are converted to the types of `ours`. Throws wrong_answer
/// with a sentence that starts with `what`.
void require_same_rows(const arrow::Table& ours, const arrow::Table& theirs, const std::string& what);
/// The same, but doubles may differ by `relative`, if engines divide or round in another order. Rows that tie in all
/// columns before a double must not differ in it.
void require_close_rows(const arrow::Table& ours, const arrow::Table& theirs, double relative, const std::string& what);
/// The same, with rows in the same order.
void require_equal_rows(const arrow::Table& ours, const arrow::Table& theirs, const std::string& what);

}  // namespace espalier::bench
