#include "engine/sql/unsupported_syntax.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "engine/error.hpp"
#include "engine/sql/parse.hpp"

namespace espalier::engine {
namespace {

struct refusal {
  std::string_view parser_word;
  std::string_view what;     ///< the subject of "is not supported"
  std::string_view instead;  ///< may be empty
};

constexpr refusal refusals[] = {
    // statements
    {"AlterTableStmt", "ALTER TABLE", "make another table with CREATE TABLE ... AS SELECT"},
    {"RenameStmt", "ALTER ... RENAME", "make another table with CREATE TABLE ... AS SELECT"},
    {"TruncateStmt", "TRUNCATE", "use DELETE FROM without WHERE"},
    {"ViewStmt", "CREATE VIEW", "use WITH, or CREATE TABLE ... AS SELECT"},
    {"VariableShowStmt", "SHOW", "\\d lists tables and \\d TABLE its columns, in the shell"},
    {"GrantStmt", "GRANT or REVOKE", ""},
    {"CreateSchemaStmt", "CREATE SCHEMA", "all tables are in one place"},
    {"CreateSeqStmt", "CREATE SEQUENCE", ""},
    {"CreateFunctionStmt", "CREATE FUNCTION", ""},
    {"CreateTrigStmt", "CREATE TRIGGER", ""},
    {"CreateExtensionStmt", "CREATE EXTENSION", ""},
    {"CreateEnumStmt", "CREATE TYPE", "use varchar"},
    {"CreateDomainStmt", "CREATE DOMAIN", ""},
    {"CompositeTypeStmt", "CREATE TYPE", ""},
    {"CreatedbStmt", "CREATE DATABASE", "the option --db names a folder, which is made"},
    {"PrepareStmt", "PREPARE", "use database::prepare of the C++ interface"},
    {"ExecuteStmt", "EXECUTE", "use database::prepare of the C++ interface"},
    {"DeclareCursorStmt", "DECLARE", "use LIMIT and OFFSET"},
    {"FetchStmt", "FETCH", "use LIMIT and OFFSET"},
    {"MergeStmt", "MERGE", "use UPDATE and INSERT"},
    {"LockStmt", "LOCK", "each statement is a transaction of its own"},
    {"CommentStmt", "COMMENT", ""},
    {"DoStmt", "DO", ""},
    {"CallStmt", "CALL", ""},
    {"ReindexStmt", "REINDEX", "it is not needed either"},
    {"ClusterStmt", "CLUSTER", "it is not needed either"},
    {"RefreshMatViewStmt", "REFRESH MATERIALIZED VIEW", ""},
    // expressions
    {"SQLValueFunction", "CURRENT_TIME, CURRENT_USER or a word like them", "write the value as a constant"},
    {"A_ArrayExpr", "ARRAY", ""},
    {"RowExpr", "A row as a value", "compare its columns one by one"},
    {"A_Indirection", "A subscript or field access", ""},
    {"GroupingSet", "GROUPING SETS, ROLLUP or CUBE", "use UNION ALL of several GROUP BY"},
    {"GroupingFunc", "GROUPING", ""},
    {"CollateClause", "COLLATE", "text is ordered by its bytes"},
    {"CurrentOfExpr", "CURRENT OF", ""},
    {"XmlExpr", "XML", ""},
    {"XmlSerialize", "XML", ""},
    {"NamedArgExpr", "A named argument here", ""},
    {"MultiAssignRef", "SET of several columns at once", "assign them one by one"},
    // subqueries and sets
    {"ALL_SUBLINK", "ALL with a subquery", "compare with its max or min"},
    {"ROWCOMPARE_SUBLINK", "A row as a value", "compare its columns one by one"},
    {"ARRAY_SUBLINK", "ARRAY", ""},
    {"MULTIEXPR_SUBLINK", "SET of several columns at once", "assign them one by one"},
    // FROM
    {"RangeTableSample", "TABLESAMPLE", "use LIMIT"},
    {"RangeTableFunc", "XMLTABLE", ""},
};

bool equal_words(std::string_view word, std::string_view upper) {
  return std::ranges::equal(word, upper,
                            [](char a, char b) { return std::toupper(static_cast<unsigned char>(a)) == b; });
}

template <std::size_t Count>
bool is_one_of(std::string_view word, const std::array<std::string_view, Count>& words) {
  return std::ranges::any_of(words, [&](std::string_view one) { return equal_words(word, one); });
}

bool is_word_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || (c & 0x80) != 0;
}

// Finds ASOF after a table and before JOIN in the tokens of a script.
class asof_join_finder {
 public:
  void token(std::string_view text) {
    constexpr std::array<std::string_view, 7> kinds = {"NATURAL", "INNER", "LEFT", "RIGHT", "FULL", "OUTER", "CROSS"};
    // After these tokens "asof" is the name of a table, or an alias that is marked as one.
    constexpr std::array<std::string_view, 8> before_names = {"AS", "FROM", "JOIN", "ONLY", "USING", ",", ".", "("};
    if (equal_words(text, "ASOF") && !is_one_of(last_, before_names)) {
      candidate_ = text.data();
    } else if (equal_words(text, "JOIN")) {
      if (candidate_ != nullptr && found_ == nullptr) found_ = candidate_;
      candidate_ = nullptr;
    } else if (!is_one_of(text, kinds)) {
      candidate_ = nullptr;
    }
    last_ = text;
  }

  [[nodiscard]] const char* found() const { return found_; }

 private:
  std::string_view last_ = "(";
  const char* candidate_ = nullptr;
  const char* found_ = nullptr;
};

}  // namespace

std::string refusal_of(std::string_view parser_word) {
  for (const auto& [word, what, instead] : refusals) {
    if (word != parser_word) continue;
    std::string out(what);
    out += " is not supported";
    if (!instead.empty()) out.append("; ").append(instead);
    return out + ".";
  }
  return "This part of SQL is not supported (the parser calls it " + std::string(parser_word) + ").";
}

void refuse_asof_join(std::string_view sql) {
  asof_join_finder finder;
  for (std::size_t at = 0; at < sql.size();) {
    auto end = at;
    while (end < sql.size() && is_word_character(sql[end]) && (sql[end] != '$' || end > at)) ++end;
    if (end == at) end = std::min(after_token(sql, at), sql.size());
    if (!is_blank_token(sql, at)) finder.token(sql.substr(at, end - at));
    at = end;
  }
  if (finder.found() == nullptr) return;
  throw_sql_error(codes::feature_not_supported, static_cast<int>(finder.found() - sql.data()),
                  "There is no ASOF JOIN; write LEFT JOIN LATERAL (SELECT ... WHERE b.at <= a.at ORDER BY b.at DESC "
                  "LIMIT 1) b ON true. For a table alias, write AS asof.");
}

}  // namespace espalier::engine
