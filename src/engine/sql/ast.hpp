// ast.hpp - the abstract syntax tree of a statement. Names are not resolved and types are not known yet.
//
// Every node stores the byte position in the statement text that its errors point to; -1 means that it has none.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/expr/frame.hpp"

namespace espalier::engine::ast {

struct select;
struct expression;
struct window;
using expression_ptr = std::unique_ptr<expression>;

struct type_name {
  std::string name;  ///< type name as in PostgreSQL's catalog: int4, numeric, varchar
  std::vector<int> modifiers;
  int position = -1;
};

enum class expression_kind {
  column,  // names: [qualifier,] column; flag: written in double quotes
  star,    // names: [qualifier]
  null_literal,
  integer,    // text
  number,     // text; has a fraction, an exponent or more digits than an integer can hold
  string,     // text
  boolean,    // flag
  parameter,  // number
  op,         // text: operator; one or two args
  logical_and,
  logical_or,
  logical_not,
  is_null,        // flag: negated
  truth_test,     // text: IS_TRUE, IS_NOT_TRUE, ...
  between,        // value, low, high; flag: negated
  in_list,        // value, then the list; flag: negated
  in_query,       // value IN (query); flag: negated
  exists,         // query
  scalar_query,   // query
  like,           // value, pattern; flag: negated; text: LIKE or ILIKE
  distinct_from,  // flag: negated
  case_when,      // operand or null first, then condition, result, ..., else or null last
  coalesce,
  nullif,
  extreme,     // text: greatest or least
  cast,        // type
  call,        // text: function; flag: DISTINCT; number 1: (*); over: a window function
  use_default  // DEFAULT in VALUES
};

enum class nulls_order { standard, first, last };

struct sort_key {
  expression_ptr value;
  bool descending = false;
  nulls_order nulls = nulls_order::standard;
};

struct expression {
  expression_kind kind;
  int position = -1;
  std::string text;
  std::vector<std::string> names;
  std::vector<expression_ptr> args;
  bool flag = false;
  int number = 0;
  type_name type;
  std::shared_ptr<select> query;
  // The next two fields are used by calls of aggregates only.
  expression_ptr filter;        ///< FILTER (WHERE ...)
  std::vector<sort_key> order;  ///< ORDER BY inside the call or in WITHIN GROUP
  bool within_group = false;
  std::shared_ptr<window> over;  ///< OVER name or OVER (...); null for other calls
};

/// The text of OVER or of an item of WINDOW. PostgreSQL's default frame is RANGE BETWEEN UNBOUNDED PRECEDING AND
/// CURRENT ROW.
struct window {
  std::string name;  ///< OVER name, or the name that WINDOW defines
  std::string base;  ///< the window that OVER (base ...) extends; empty if there is none
  std::vector<expression_ptr> partition_by;
  std::vector<sort_key> order_by;
  bool has_frame = false;  ///< a frame clause is written
  frame_unit unit = frame_unit::range;
  frame_bound start = frame_bound::unbounded_preceding;
  frame_bound end = frame_bound::current_row;
  expression_ptr start_offset, end_offset;  ///< n of n PRECEDING or n FOLLOWING
  int position = -1;
};

struct table_name {
  std::string name;
  int position = -1;
};

struct from_item;
using from_ptr = std::unique_ptr<from_item>;

enum class join_kind { inner, left, right, full, cross };

struct from_item {
  enum class what { table, function, query, join } kind = what::table;
  int position = -1;
  std::string alias;
  std::vector<std::string> column_aliases;
  table_name table;
  std::string function;  ///< read_parquet, read_csv, read_arrow, generate_series
  std::vector<expression_ptr> args;
  std::vector<std::pair<std::string, expression_ptr>> named_args;
  std::shared_ptr<select> query;
  bool lateral = false;
  join_kind join = join_kind::inner;
  from_ptr left, right;
  expression_ptr condition;
  std::vector<std::string> using_columns;
};

struct target {
  std::string name;  ///< empty if omitted
  expression_ptr value;
  int position = -1;
};

struct common_table {
  std::string name;
  std::vector<std::string> column_aliases;
  std::shared_ptr<select> query;
  int position = -1;
};

struct select {
  std::vector<common_table> with;
  bool distinct = false;
  std::vector<expression_ptr> distinct_on;
  std::vector<target> targets;
  std::vector<from_ptr> from;
  expression_ptr where;
  std::vector<expression_ptr> group_by;
  expression_ptr having;
  std::vector<window> windows;  ///< WINDOW name AS (...), ...
  std::vector<sort_key> order_by;
  expression_ptr limit, offset;
  std::vector<std::vector<expression_ptr>> values;  ///< VALUES; targets and other clauses are empty
  std::shared_ptr<select> union_left, union_right;  ///< UNION, EXCEPT or INTERSECT [ALL]
  enum class set_kind { unite, except, intersect } set = set_kind::unite;
  bool union_all = false;
  int position = -1;
};

struct column_definition {
  std::string name;
  type_name type;
  bool not_null = false;
  bool unique = false;
  bool primary_key = false;
  std::string key_name;  ///< name in CONSTRAINT name PRIMARY KEY or UNIQUE
  int position = -1;
};

struct create_table {
  table_name table;
  bool if_not_exists = false;
  std::vector<column_definition> columns;
  struct key {
    std::string name;  ///< empty if omitted
    std::vector<std::string> columns;
    bool primary = false;
    int position = -1;
  };
  std::vector<key> keys;  ///< table constraints UNIQUE (...) and PRIMARY KEY (...)
};

struct create_table_as {
  table_name table;
  bool if_not_exists = false;
  std::vector<std::string> columns;
  std::shared_ptr<select> query;
};

struct create_index {
  std::string name;
  table_name table;
  std::string method;  ///< static, blink, radix, hybrid, auto
  std::vector<std::string> columns, included;
  bool unique = false;
  bool if_not_exists = false;
};

struct drop {
  bool index = false;  ///< DROP INDEX if true, DROP TABLE otherwise
  bool if_exists = false;
  std::vector<std::string> names;
};

struct insert {
  table_name table;
  std::vector<std::string> columns;
  std::shared_ptr<select> query;
};

struct update {
  table_name table;
  std::string alias;
  std::vector<target> assignments;
  expression_ptr where;
};

struct erase {
  table_name table;
  std::string alias;
  expression_ptr where;
};

struct copy {
  table_name table;  ///< unused if `query` is set
  std::vector<std::string> columns;
  std::shared_ptr<select> query;
  bool from = false;
  std::string file;
  std::vector<std::pair<std::string, std::string>> options;
};

struct analyze {
  std::vector<table_name> tables;  ///< empty means all tables
};

struct set_option {
  std::string name;
  std::optional<std::string> value;  ///< no value means the default
};

struct statement;

struct explain {
  bool analyze = false;
  bool json = false;
  std::shared_ptr<statement> query;
};

enum class transaction_kind { begin, commit, rollback };

struct transaction {
  transaction_kind kind = transaction_kind::begin;  ///< END is read as commit, ABORT as rollback
  bool start = false;                               ///< written as START TRANSACTION
  bool read_only = false;
  bool chain = false;  ///< AND CHAIN starts a new transaction immediately
};

struct statement {
  int position = 0;
  int length = 0;
  std::variant<std::shared_ptr<select>, create_table, create_table_as, create_index, drop, insert, update, erase, copy,
               analyze, explain, transaction, set_option>
      body;
};

}  // namespace espalier::engine::ast
