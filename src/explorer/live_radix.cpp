// live_radix.cpp - a radix tree of the library with 64-bit numbers as byte strings, using its traced calls.
#include <memory>
#include <string>

#include "espalier/core/byte_key.hpp"
#include "espalier/inspect/radix_trace.hpp"
#include "explorer/live_tree.hpp"

namespace espalier::explorer {

namespace {

using numbers_span = std::span<const std::uint64_t>;

byte_string_batch number_keys(numbers_span numbers) {
  byte_string_batch::memory keys;
  keys.length = 8;
  keys.bytes.reserve(8 * numbers.size());
  for (const std::uint64_t k : numbers) keys.bytes += byte_key(k);
  return byte_string_batch(std::move(keys));
}

class live_radix final : public live_tree {
 public:
  live_radix(const device& dev, numbers_span keys)
      : tree_(radix_tree<std::uint64_t>::build(number_keys(keys), keys, {}, dev)) {}

  [[nodiscard]] trace_header header() const override { return detail::radix_trace_header(tree_.untyped()); }
  [[nodiscard]] trace_state state() const override { return state_of(tree_); }
  [[nodiscard]] std::string dump() const override { return tree_.dump_json(); }
  [[nodiscard]] bool changes() const override { return true; }
  [[nodiscard]] const device& get_device() const override { return tree_.get_device(); }
  bool maintain() override { return false; }

  live_outcome run(const live_call& call, const event_log& ring) override {
    const detail::radix_traced_outcome told =
        detail::run_traced(tree_.untyped(), {call.op, number_keys(call.keys).raw(), call.keys.data(), call.to,
                                             call.workers, ring, live_outcome::most_found});
    live_outcome outcome;
    outcome.done = told.done;
    outcome.unchanged = told.unchanged;
    outcome.count = told.count;
    outcome.found = told.found;
    return outcome;
  }

 private:
  radix_tree<std::uint64_t> tree_;
};

}  // namespace

std::unique_ptr<live_tree> make_live_radix(const device& dev, const live_request& request) {
  return std::make_unique<live_radix>(dev, request.keys);
}

}  // namespace espalier::explorer
