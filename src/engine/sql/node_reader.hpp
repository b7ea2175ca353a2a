// node_reader.hpp - one node of the parser's JSON tree, read field by field.
//
// Nothing may be ignored silently: a reader takes the fields it understands, and `finish` refuses the node if any other
// is left. The parser writes no field that has its default value, so a field that is there was meant.
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

  /// `around`: where errors point to if the node has no location of its own.
  node_reader(std::string_view kind, const json& fields, int around);

  [[nodiscard]] std::string_view kind() const { return kind_; }
  [[nodiscard]] int position() const { return position_; }

  /// The field, or null if it is absent.
  const json* take(const char* field);
  std::string text(const char* field);
  bool flag(const char* field);
  int number(const char* field, int missing = 0);
  /// The elements of a list, none if it is absent.
  std::vector<const json*> list(const char* field);
  /// A list of String nodes.
  std::vector<std::string> strings(const char* field);
  /// Takes an enumeration and refuses every value but these.
  void only(const char* field, std::initializer_list<std::string_view> allowed);
  /// Takes fields that say nothing a reader of ours needs.
  void drop(std::initializer_list<const char*> fields);

  /// Refuses what was not taken.
  void finish() const;

 private:
  std::string_view kind_;
  const json& fields_;
  int position_;
  std::set<std::string, std::less<>> taken_;
};

/// A node as {"Kind": {fields}}: its reader. `around` as above.
[[nodiscard]] node_reader read_node(const nlohmann::json& node, int around);
/// Is it a node of that kind?
[[nodiscard]] bool is_node(const nlohmann::json& node, const char* kind);
[[nodiscard]] std::string string_of(const nlohmann::json& node);
/// The first location inside a tree, or `otherwise`.
[[nodiscard]] int location_in(const nlohmann::json& node, int otherwise);

}  // namespace espalier::engine
