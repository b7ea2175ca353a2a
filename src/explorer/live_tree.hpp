// live_tree.hpp - a real tree behind a trace, for the explorer's live sessions and `espalier bench INDEX --trace`.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "espalier/device/device.hpp"
#include "espalier/inspect/recorder.hpp"
#include "espalier/inspect/trace.hpp"

namespace espalier::explorer {

/// The kind of tree, and its content at the start of the trace.
struct live_request {
  std::string index = "blink";
  std::string protocol;  ///< empty selects the default of the index
  std::string upper;
  unsigned slots = 0;  ///< 0 selects the default of the index
  std::vector<std::uint64_t> keys;
};

/// One supported combination of options.
struct live_choice {
  std::string index, protocol, upper;
  std::vector<unsigned> slots;
};
[[nodiscard]] std::vector<live_choice> live_choices(device_kind dev);

struct live_call {
  trace_op op = trace_op::find;
  std::span<const std::uint64_t> keys;  ///< for a range: its first key
  std::uint64_t to = 0;                 ///< for a range: its last key
  unsigned workers = 1;                 ///< threads or tiles; worker w processes the keys at w, w + workers, ...
};
struct live_outcome {
  std::uint64_t done = 0, unchanged = 0, out_of_nodes = 0;
  std::uint64_t count = 0;           ///< number of elements in the range
  std::vector<std::uint64_t> found;  ///< the first of them
  static constexpr std::uint64_t most_found = 100;
};

class live_tree {
 public:
  virtual ~live_tree() = default;
  [[nodiscard]] virtual trace_header header() const = 0;
  [[nodiscard]] virtual trace_state state() const = 0;
  /// Returns dump() of the index as JSON.
  [[nodiscard]] virtual std::string dump() const = 0;
  /// Returns whether the tree supports writes.
  [[nodiscard]] virtual bool changes() const = 0;
  /// Returns when all workers are done. Throws `error` if the tree does not support the call.
  virtual live_outcome run(const live_call& call, const event_log& ring) = 0;
  /// Rebuilds the parts that writes have left stale. Returns false if the tree has no such parts.
  virtual bool maintain() = 0;
  [[nodiscard]] virtual const device& get_device() const = 0;
};

/// Throws `error` with the supported choices.
[[nodiscard]] std::unique_ptr<live_tree> make_live_tree(const device& dev, live_request request);

// There is one function per index.
[[nodiscard]] std::unique_ptr<live_tree> make_live_blink(const device& dev, const live_request& request);
[[nodiscard]] std::unique_ptr<live_tree> make_live_radix(const device& dev, const live_request& request);
/// Makes a static tree or, for `hybrid`, the implicit layout of the hybrid tree, whose host part is one. (The host part
/// of its regular layout is a B-link tree: `hybrid` with protocol `link`.)
[[nodiscard]] std::unique_ptr<live_tree> make_live_static(const device& dev, const live_request& request);

}  // namespace espalier::explorer
