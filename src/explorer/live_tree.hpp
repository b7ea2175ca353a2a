// live_tree.hpp - a real tree behind a trace: what the explorer's live sessions and `espalier bench INDEX --trace` work
// on.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "espalier/device/device.hpp"
#include "espalier/trace/recorder.hpp"
#include "espalier/trace/trace.hpp"

namespace espalier::explorer {

/// Which tree, and what is in it when the trace begins.
struct live_request {
  std::string index = "blink";
  std::string protocol;  ///< empty: the index's own
  std::string upper;
  unsigned slots = 0;  ///< 0: the index's own
  std::vector<std::uint64_t> keys;
};

/// A line of what can be asked for.
struct live_choice {
  std::string index, protocol, upper;
  std::vector<unsigned> slots;
};
[[nodiscard]] std::vector<live_choice> live_choices(device_kind dev);

struct live_call {
  trace_op op = trace_op::find;
  std::span<const std::uint64_t> keys;  ///< of a range: where it begins
  std::uint64_t to = 0;                 ///< of a range: its last key
  unsigned workers = 1;                 ///< threads or tiles; worker w takes the keys at w, w + workers, ...
};
struct live_outcome {
  std::uint64_t done = 0, unchanged = 0, out_of_nodes = 0;
  std::uint64_t count = 0;           ///< elements of the range
  std::vector<std::uint64_t> found;  ///< the first of them
  static constexpr std::uint64_t most_found = 100;
};

class live_tree {
 public:
  virtual ~live_tree() = default;
  [[nodiscard]] virtual trace_header header() const = 0;
  [[nodiscard]] virtual trace_state state() const = 0;
  /// What dump() of the index says, as JSON.
  [[nodiscard]] virtual std::string dump() const = 0;
  /// Can it be written to?
  [[nodiscard]] virtual bool changes() const = 0;
  /// Returns when all workers are done. Throws `error` if the tree cannot do that.
  virtual live_outcome run(const live_call& call, const event_log& ring) = 0;
  /// Makes anew what writes have left behind; false: there is nothing of that kind.
  virtual bool maintain() = 0;
  [[nodiscard]] virtual const device& get_device() const = 0;
};

/// Throws `error` with a sentence that says what there is.
[[nodiscard]] std::unique_ptr<live_tree> make_live_tree(const device& dev, live_request request);

// One per index.
[[nodiscard]] std::unique_ptr<live_tree> make_live_blink(const device& dev, const live_request& request);
[[nodiscard]] std::unique_ptr<live_tree> make_live_radix(const device& dev, const live_request& request);
/// A static tree; or, as `hybrid`, the implicit layout of the hybrid tree, whose host side is one. (That of its regular
/// layout is a B-link tree: `hybrid` with protocol `link`.)
[[nodiscard]] std::unique_ptr<live_tree> make_live_static(const device& dev, const live_request& request);

}  // namespace espalier::explorer
