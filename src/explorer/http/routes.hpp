// routes.hpp - maps URLs to handlers (docs/explorer-api.md).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <semaphore>
#include <string>
#include <string_view>
#include <vector>

#include "explorer/http/message.hpp"
#include "explorer/registry.hpp"

namespace espalier::explorer {

class routes {
 public:
  /// `sources` must outlive it. `index` is the index that the page starts with.
  routes(registry& sources, const std::string& index);

  /// Returns the maximum body size of a request, given its head.
  [[nodiscard]] std::size_t most_body(const request& asked) const;
  /// Throws `error` and other exceptions of handlers, and `refused` 404 for an unknown URL. Thread-safe.
  [[nodiscard]] response answer(const request& asked) const;

 private:
  using handler = std::function<response(const request& asked, const std::string& id)>;
  struct route {
    std::string_view method, before, after;  ///< parts around the id of a source; without an id, `after` is "-"
    handler answer;
  };
  /// Each download may hold the first line of a trace, which is a whole tree.
  using download_slots = std::counting_semaphore<4>;

  void add(std::string_view method, std::string_view path, handler answer);
  void add_questions();
  void add_changes();
  [[nodiscard]] response download(const std::string& id) const;

  registry& sources_;
  std::string index_;
  std::vector<route> routes_;
  std::shared_ptr<download_slots> downloads_ = std::make_shared<download_slots>(4);
};

}  // namespace espalier::explorer
