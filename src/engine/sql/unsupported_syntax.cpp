#include "engine/sql/unsupported_syntax.hpp"

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

}  // namespace espalier::engine
