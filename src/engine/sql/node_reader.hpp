// node_reader.hpp - reads one node of the parser's JSON tree, field by field.
//
// No field is ignored silently: a reader takes the fields that it supports, and `finish` refuses the node if a field is
// left. The parser omits fields with default values, so a field that is present was written by the user.
#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::engine {

class node_reader {
 public:
  using json = nlohmann::json;

  /// `around` is the error position if the node has no location.
  node_reader(std::string_view kind, const json& fields, int around);

  [[nodiscard]] std::string_view kind() const { return kind_; }
  [[nodiscard]] int position() const { return position_; }

  /// Returns the field, or null if it is absent.
  const json* take(const char* field);
  std::string text(const char* field);
  bool flag(const char* field);
  int number(const char* field, int missing = 0);
  /// Returns the elements of a list; an absent list is empty.
  std::vector<const json*> list(const char* field);
  /// Reads a list of String nodes.
  std::vector<std::string> strings(const char* field);
  /// Reads an enumeration and refuses every value that is not in `allowed`.
  void only(const char* field, std::initializer_list<std::string_view> allowed);
  /// Takes fields that do not affect the meaning of the statement.
  void drop(std::initializer_list<const char*> fields);

  /// Throws if a field was not taken.
  void finish() const;

 private:
  std::string_view kind_;
  const json& fields_;
  int position_;
  std::set<std::string, std::less<>> taken_;
};

/// Returns the reader of a node {"Kind": {fields}}. `around` is the error position if the node has no location.
[[nodiscard]] node_reader read_node(const nlohmann::json& node, int around);
/// Returns whether the node is of that kind.
[[nodiscard]] bool is_node(const nlohmann::json& node, const char* kind);
[[nodiscard]] std::string string_of(const nlohmann::json& node);
/// Returns the first location in the tree, or `otherwise` if it has none.
[[nodiscard]] int location_in(const nlohmann::json& node, int otherwise);

}  // namespace espalier::engine
