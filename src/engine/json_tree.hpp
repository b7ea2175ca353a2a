// json_tree.hpp - owns a JSON value.
//
// The library's destructor moves the elements of an array or object to a vector, so that deep values need no deep
// stack; if there is no memory for that vector, the process ends. Values without elements need none. For the same
// reason values are built by assignments to json::object(): `json{{"a", 1}}` makes and destroys an array for each field,
// and an assignment to a field of null leaves an object without contents if memory runs out.
#pragma once

#include <nlohmann/json.hpp>
#include <utility>

namespace espalier::engine {

class json_tree {
 public:
  explicit json_tree(nlohmann::json value) : value_(std::move(value)) {}
  json_tree(json_tree&&) noexcept = default;  // leaves null behind
  json_tree& operator=(json_tree&&) = delete;
  ~json_tree() { empty(value_); }

  [[nodiscard]] nlohmann::json& operator*() noexcept { return value_; }
  [[nodiscard]] const nlohmann::json& operator*() const noexcept { return value_; }
  [[nodiscard]] nlohmann::json* operator->() noexcept { return &value_; }
  [[nodiscard]] const nlohmann::json* operator->() const noexcept { return &value_; }

 private:
  // Needs stack for each level, which the statement's stack has (deep_stack.hpp).
  static void empty(nlohmann::json& value) noexcept {
    if (auto* const elements = value.get_ptr<nlohmann::json::array_t*>()) {
      for (auto& element : *elements) empty(element);
      elements->clear();
    } else if (auto* const fields = value.get_ptr<nlohmann::json::object_t*>()) {
      for (auto& field : *fields) empty(field.second);
      fields->clear();
    }
  }

  nlohmann::json value_;
};

}  // namespace espalier::engine
