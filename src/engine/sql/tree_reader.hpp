// tree_reader.hpp - translates the parser's JSON tree into ast.hpp and refuses what ast.hpp cannot represent.
//
// Each part of the grammar has its own file: read_expression.cpp, read_select.cpp, read_window.cpp and
// read_statement.cpp.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "engine/sql/ast.hpp"

namespace espalier::engine {

class node_reader;

class tree_reader {
 public:
  explicit tree_reader(std::string_view text) : text_(text) {}

  [[nodiscard]] ast::statement statement(const nlohmann::json& node, int position, int length);
  [[nodiscard]] ast::expression_ptr expression(const nlohmann::json& node, int around);
  /// Reads a node {"SelectStmt": {...}} or its fields.
  [[nodiscard]] std::shared_ptr<ast::select> select(const nlohmann::json& node, int around);

 private:
  // read_expression.cpp
  ast::expression_ptr constant(node_reader& reader);
  ast::expression_ptr operation(node_reader& reader);
  ast::expression_ptr call(node_reader& reader);
  ast::expression_ptr current_timestamp_name(node_reader& reader);
  ast::expression_ptr sublink(node_reader& reader);
  ast::expression_ptr case_when(node_reader& reader);
  ast::expression_ptr simple(node_reader& reader);
  ast::expression_ptr with_args(node_reader& reader, ast::expression_kind kind, const char* field);
  ast::type_name type(const nlohmann::json& fields, int around);
  std::string negative_or_zero(int position) const;

  // read_select.cpp
  ast::from_ptr from(const nlohmann::json& node, int around);
  ast::from_ptr join(node_reader& reader);
  ast::from_ptr function(node_reader& reader);
  ast::table_name table(const nlohmann::json& fields, int around, std::string* alias,
                        std::vector<std::string>* column_aliases);
  void alias(const nlohmann::json* fields, int around, std::string& name, std::vector<std::string>& columns);
  ast::target target(const nlohmann::json& node, int around);
  ast::sort_key sort_key(const nlohmann::json& node, int around);
  void with(const nlohmann::json& fields, int around, ast::select& out);

  // read_window.cpp
  ast::window window(node_reader& reader);

  // read_statement.cpp
  ast::create_table create_table(node_reader& reader);
  ast::column_definition column(node_reader& reader);
  ast::create_table_as create_table_as(node_reader& reader);
  ast::create_index create_index(node_reader& reader);
  ast::drop drop(node_reader& reader);
  ast::insert insert(node_reader& reader);
  ast::update update(node_reader& reader);
  ast::erase erase(node_reader& reader);
  ast::copy copy(node_reader& reader);
  ast::analyze analyze(node_reader& reader);
  ast::explain explain(node_reader& reader);
  ast::transaction transaction(node_reader& reader);
  ast::set_option set_option(node_reader& reader);

  std::string_view text_;
  int depth_ = 0;
  int set_operations_ = 0;
  std::size_t joined_ = 0;  ///< items of the FROM clause being read
};

}  // namespace espalier::engine
