// parse.hpp - text to statements, by PostgreSQL's own parser.
#pragma once

#include <string_view>
#include <vector>

#include "engine/sql/ast.hpp"

namespace espalier::engine {

/// The statements of a script. Throws `located_error`; positions are bytes of `text`.
[[nodiscard]] std::vector<ast::statement> parse(std::string_view text);
/// Throws `coded_refusal` for texts that the scanner would take minutes for.
void check_operators_and_comments(std::string_view sql);
/// Throws `coded_refusal` for statements with more terms than are read, before the parser has made a tree of them.
void check_statement_length(std::string_view sql);
/// The end of what begins at `at`, a character outside of strings and comments; npos where that has no end. Words and
/// numbers are read character by character.
[[nodiscard]] std::size_t after_token(std::string_view text, std::size_t at);
/// Does a space or a comment begin here?
[[nodiscard]] bool is_blank_token(std::string_view text, std::size_t at);
/// The place behind the comment that begins at `at` with /*, comments inside of it included; npos if it has no end.
[[nodiscard]] std::size_t after_comment(std::string_view text, std::size_t at);
/// The last semicolon before `limit` that ends a statement, npos without one.
[[nodiscard]] std::size_t last_statement_end(std::string_view text, std::size_t limit);

}  // namespace espalier::engine
