#include "engine/sql/parse.hpp"

#include <pg_query.h>

#include <string>

#include "engine/error.hpp"
#include "engine/json_tree.hpp"
#include "engine/sql/hints.hpp"
#include "engine/sql/node_reader.hpp"
#include "engine/sql/tree_reader.hpp"
#include "engine/sql/unsupported_syntax.hpp"
#include "espalier/engine/database.hpp"

namespace espalier::engine {
namespace {

class parser_result {
 public:
  explicit parser_result(const std::string& text) : result_(pg_query_parse(text.c_str())) {}
  ~parser_result() { pg_query_free_parse_result(result_); }
  parser_result(const parser_result&) = delete;
  parser_result& operator=(const parser_result&) = delete;
  [[nodiscard]] const PgQueryParseResult& get() const { return result_; }

 private:
  PgQueryParseResult result_;
};

// The parser counts characters from 1; all other code counts bytes from 0.
int byte_of_character(std::string_view text, int character) {
  if (character <= 0) return -1;
  std::size_t at = 0;
  for (int seen = 1; at < text.size(); ++at) {
    const bool continues = (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
    if (!continues && seen++ == character) break;
  }
  return static_cast<int>(at);
}

std::string as_sentence(std::string message) {
  if (!message.empty()) message[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(message[0])));
  return message.empty() || message.back() == '.' ? message : message + ".";
}

constexpr std::size_t longest_script = std::size_t{64} << 20;
constexpr const char* script_is_too_long = "A script longer than 64 MB is not read; split it or use COPY.";

void check_text(std::string_view text) {
  if (const auto zero = text.find('\0'); zero != std::string_view::npos) {
    throw_sql_error(codes::syntax_error, static_cast<int>(zero), "A statement cannot contain the character NUL.");
  }
  if (text.size() > longest_script) throw_sql_error(codes::program_limit_exceeded, 0, script_is_too_long);
  check_operators_and_comments(text);
  check_statement_length(text);
  refuse_asof_join(text);
}

json_tree parse_tree(std::string_view text) {
  check_text(text);
  const parser_result result{std::string(text)};
  if (const auto* problem = result.get().error) {
    const int place = byte_of_character(text, problem->cursorpos);
    if (std::string_view(problem->message).starts_with("memory exhausted")) {  // the parser's own stack overflowed
      throw_sql_error(codes::too_complex, place, "The statement is nested too deeply; write it in smaller parts.");
    }
    // "frame start cannot be UNBOUNDED FOLLOWING" and the like: the parser does not return its SQLSTATE.
    const bool is_frame = std::string_view(problem->message).starts_with("frame ");
    throw_sql_error(is_frame ? codes::windowing_error : codes::syntax_error, place,
                    as_sentence(problem->message) + syntax_hint(text, place));
  }
  json_tree tree(nlohmann::json::parse(result.get().parse_tree, nullptr, false));
  if (tree->is_discarded())
    throw_sql_error(0, "The statement is not valid UTF-8, or the parser's tree cannot be read.");
  return tree;
}

// The parser's location of a statement is the byte after the previous semicolon; this skips blanks and comments.
std::size_t skip_blank(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    if (std::isspace(static_cast<unsigned char>(text[at]))) {
      ++at;
    } else if (text.substr(at, 2) == "--") {
      at = std::min(text.find('\n', at), text.size());
    } else if (text.substr(at, 2) == "/*" && after_comment(text, at) != std::string_view::npos) {
      at = after_comment(text, at);
    } else {
      break;
    }
  }
  return at;
}

}  // namespace

std::vector<ast::statement> parse(std::string_view text) {
  const auto tree = parse_tree(text);
  std::vector<ast::statement> out;
  node_reader root("script", *tree, 0);
  root.drop({"version"});
  for (const auto* element : root.list("stmts")) {
    node_reader one("RawStmt", *element, 0);
    const auto start = skip_blank(text, static_cast<std::size_t>(one.number("stmt_location")));
    const int length = one.number("stmt_len");
    const auto* body = one.take("stmt");
    if (!body) continue;
    out.push_back(tree_reader(text).statement(*body, static_cast<int>(start), length));
  }
  return out;
}

namespace {

// The statements of a text, and where the scanner stopped if it did not reach the end.
struct scanned_script {
  std::vector<script_statement> statements;
  std::optional<std::size_t> problem;
  bool is_refused = false;  // because of its comments, which belong to the statement with the problem then
};

scanned_script scanned(std::string_view sql) {
  if (const auto zero = sql.find('\0'); zero != std::string_view::npos) return {{}, zero};
  scanned_script out;
  try {
    check_operators_and_comments(sql);
  } catch (const located_error& e) {
    out.problem = static_cast<std::size_t>(e.position());  // executing that statement reports the error
    out.is_refused = true;
    return out;
  }
  const std::string text(sql);
  const auto result = pg_query_split_with_scanner(text.c_str());
  if (result.error) {
    const int place = byte_of_character(sql, result.error->cursorpos);
    out.problem = place < 0 ? sql.size() : static_cast<std::size_t>(place);
  }
  // The scanner skips text without a keyword and everything after an unclosed parenthesis. Such text is returned as a
  // statement, so that the parser reports what is wrong with it.
  std::size_t taken = 0;
  const auto take_until = [&](std::size_t end) {
    std::size_t first = skip_blank(sql, taken);
    while (first < end && text[first] == ';') first = skip_blank(sql, first + 1);
    if (first < end) out.statements.push_back({first, text.substr(first, end - first)});
    taken = std::max(taken, end);
  };
  for (int i = 0; !out.problem && i < result.n_stmts; ++i) {
    const auto start = static_cast<std::size_t>(result.stmts[i]->stmt_location);
    take_until(start);
    take_until(start + static_cast<std::size_t>(result.stmts[i]->stmt_len));
  }
  pg_query_free_split_result(result);
  if (!out.problem) take_until(text.size());
  return out;
}

}  // namespace

std::vector<script_statement> split_script(std::string_view sql) {
  if (sql.size() > longest_script) throw sql_error(script_is_too_long, sql, 0, codes::program_limit_exceeded);
  auto out = scanned(sql);
  if (!out.problem) return std::move(out.statements);
  // The statements before the error are scanned again without it. The rest is returned as it is, and executing it
  // reports the error.
  const auto end = last_statement_end(sql, std::min(*out.problem, sql.size() - 1));
  const std::size_t rest = end == std::string_view::npos ? 0 : end + 1;
  auto statements = rest == 0 ? std::vector<script_statement>() : split_script(sql.substr(0, rest));
  const auto first = out.is_refused ? rest : skip_blank(sql, rest);
  statements.push_back({first, std::string(sql.substr(first))});
  return statements;
}

}  // namespace espalier::engine
