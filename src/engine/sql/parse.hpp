// parse.hpp - parses text into statements with PostgreSQL's parser.
#pragma once

#include <string_view>
#include <vector>

#include "engine/sql/ast.hpp"

namespace espalier::engine {

/// Parses the statements of a script. Throws `located_error`; positions are byte offsets into `text`.
[[nodiscard]] std::vector<ast::statement> parse(std::string_view text);
/// Throws `coded_refusal` for texts that would keep the scanner busy for minutes.
void check_operators_and_comments(std::string_view sql);
/// Throws `coded_refusal` for statements with too many terms, before the parser builds a tree of them.
void check_statement_length(std::string_view sql);
/// Returns the end of the token at `at`, which is outside of strings and comments, or npos if the token is not closed.
/// Words and numbers are read one character at a time.
[[nodiscard]] std::size_t after_token(std::string_view text, std::size_t at);
/// Returns the number of bytes outside of quoted texts, quoted names and comments, each of which counts as one. A
/// statement is at most as deep as this number.
[[nodiscard]] std::size_t nesting_bytes(std::string_view sql);
/// Returns whether white space or a comment starts at `at`.
[[nodiscard]] bool is_blank_token(std::string_view text, std::size_t at);
/// Returns the position after the comment that starts at `at` with /*, nested comments included, or npos if it is not
/// closed.
[[nodiscard]] std::size_t after_comment(std::string_view text, std::size_t at);
/// Returns the last semicolon before `limit` that ends a statement, or npos.
[[nodiscard]] std::size_t last_statement_end(std::string_view text, std::size_t limit);

}  // namespace espalier::engine
