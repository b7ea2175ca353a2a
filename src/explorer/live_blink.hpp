// live_blink.hpp - a B-link tree of the library that traced teams of one kind of device write and read.
//
// The owner is any of the library's compiled trees. Only the operations are compiled here, with trace hooks, for u64
// keys and values. Launcher runs a blink_work; see live_blink.cpp and live_blink_cuda.cu.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "espalier/blink_tree/index.hpp"
#include "espalier/inspect/blink_trace.hpp"
#include "explorer/blink_work.hpp"
#include "explorer/live_tree.hpp"

namespace espalier::explorer {

template <class Launcher, protocol P, inner_index U, unsigned N>
class live_blink final : public live_tree {
  using view = blink_view<std::uint64_t, 8, N>;

 public:
  live_blink(const device& dev, const live_request& r)
      : index_(r.index),
        tree_(detail::build_blink_index(dev, {scalar_kind::u64, scalar_kind::u64, 8}, {P, U, N}, r.keys.data(),
                                        r.keys.data(), r.keys.size(), {}, dev.default_stream())) {}

  [[nodiscard]] trace_header header() const override {
    trace_header header = detail::blink_trace_header(*tree_);
    header.index = index_;
    header.team = Launcher::team_name();
    return header;
  }
  [[nodiscard]] trace_state state() const override { return detail::blink_state(*tree_); }
  [[nodiscard]] std::string dump() const override { return tree_->dump(false); }
  [[nodiscard]] bool changes() const override { return true; }
  [[nodiscard]] const device& get_device() const override { return tree_->get_device(); }
  bool maintain() override {
    tree_->maintain(get_device().default_stream());
    return true;
  }

  live_outcome run(const live_call& call, const event_log& ring) override {
    const stream order = get_device().default_stream();
    const std::size_t n = call.keys.size();
    const bool inserts = call.op == trace_op::insert || call.op == trace_op::assign;
    const auto keys = to_device(get_device(), call.keys, order);
    const buffer<std::uint8_t> results(get_device(), n, order);
    const buffer<std::uint64_t> found(get_device(), live_outcome::most_found, order), count(get_device(), 1, order);
    get_device().fill(count.data(), 0, sizeof(std::uint64_t), order);
    order.synchronize();
    view tree;
    tree_->view(inserts ? n : 0, &tree);
    Launcher::run(get_device(), order, call.workers,
                  blink_work<P, U, view>{tree, ring, call.op, keys.data(), n, call.to, call.workers, results.data(),
                                         found.data(), live_outcome::most_found, count.data()});
    live_outcome outcome;
    for (const std::uint8_t r : results.to_vector()) {
      const auto result = static_cast<trace_result>(r);
      ++(result == trace_result::done        ? outcome.done
         : result == trace_result::unchanged ? outcome.unchanged
                                             : outcome.out_of_nodes);
    }
    outcome.count = count.to_vector().front();
    outcome.found = found.to_vector();
    if (outcome.count < outcome.found.size()) outcome.found.resize(outcome.count);
    return outcome;
  }

 private:
  std::string index_;
  std::unique_ptr<detail::blink_index> tree_;
};

/// Returns null if the policy is not compiled with hooks.
template <class Launcher>
[[nodiscard]] std::unique_ptr<live_tree> make_live_blink_on(const device& dev, const live_request& r) {
  const auto is = [&](const char* protocol_name, const char* upper_name, unsigned slots) {
    return r.protocol == protocol_name && r.upper == upper_name && r.slots == slots;
  };
  if (is("link", "classic", 12))
    return std::make_unique<live_blink<Launcher, protocol::blink, inner_index::inner_nodes, 12>>(dev, r);
  if (is("link", "express", 12))
    return std::make_unique<live_blink<Launcher, protocol::blink, inner_index::express_lane, 12>>(dev, r);
  if (is("couple", "classic", 12))
    return std::make_unique<live_blink<Launcher, protocol::latch_coupling, inner_index::inner_nodes, 12>>(dev, r);
  if constexpr (!Launcher::on_gpu) {
    if (is("link", "classic", 8))
      return std::make_unique<live_blink<Launcher, protocol::blink, inner_index::inner_nodes, 8>>(dev, r);
    if (is("couple", "classic", 8))
      return std::make_unique<live_blink<Launcher, protocol::latch_coupling, inner_index::inner_nodes, 8>>(dev, r);
  }
  if (is("link", "express", 8))
    return std::make_unique<live_blink<Launcher, protocol::blink, inner_index::express_lane, 8>>(dev, r);
  return nullptr;
}

}  // namespace espalier::explorer
