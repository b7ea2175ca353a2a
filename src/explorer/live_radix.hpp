// live_radix.hpp - a radix tree of 64-bit numbers as byte strings, written to and read by traced teams of one kind of
// device.
//
// The library's own builder and writer do the work, with a context whose teams are traced where they change nodes. What
// a batch does before and after that (which keys are there, memory for leaves and nodes, the root table) leaves no
// events. Launcher: how teams run and what the context is, live_radix.cpp and live_radix_cuda.cu.
#pragma once

#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "espalier/core/byte_key.hpp"
#include "explorer/live_tree.hpp"
#include "explorer/radix_state.hpp"
#include "explorer/radix_work.hpp"
#include "radix_tree/build.hpp"
#include "radix_tree/order.hpp"
#include "radix_tree/write.hpp"

namespace espalier::explorer {

template <class Launcher>
class noting_context : public Launcher::context {
 public:
  noting_context(const device& where, const stream& order, const trace_ring& ring, const live_call& call)
      : Launcher::context(where, order), ring_(ring), op_(call.op), workers_(call.workers) {}

  template <class Step>
  void for_each_change(std::size_t n, const Step& step) {
    Launcher::run(this->where(), this->order(), workers_, note_changes<Step>{step, ring_, op_, n, workers_});
  }

 private:
  trace_ring ring_;
  trace_op op_;
  unsigned workers_;
};

template <class Launcher>
class live_radix final : public live_tree {
  using context = noting_context<Launcher>;
  using keys_span = std::span<const std::uint64_t>;
  static constexpr detail::element_type elements{scalar_kind::u64, scalar_kind::u64, 8};

 public:
  live_radix(const device& where, const std::vector<std::uint64_t>& keys) : where_(where) {
    const stream order = where.default_stream();
    context build_context(where, order, {}, {});
    const std::string text = bytes_of(keys);
    const auto bytes = to_device(where, std::span<const char>(text), order);
    const auto values = to_device(where, keys_span(keys), order);
    tree_ = detail::radix_builder<context, 8>(build_context, elements, {})(batch(bytes), values.data(), keys.size());
    order.synchronize();
  }

  [[nodiscard]] trace_header header() const override {
    trace_header header;
    header.index = "radix";
    header.protocol = "none";
    header.slots = 256;
    header.device = Launcher::on_gpu ? "gpu" : "cpu";
    header.team = Launcher::team_name();
    return header;
  }
  [[nodiscard]] trace_state state() const override {
    numbers_view host = tree_.view;
    auto node4 = tree_.node4.to_vector();
    auto node16 = tree_.node16.to_vector();
    auto node48 = tree_.node48.to_vector();
    auto node256 = tree_.node256.to_vector();
    std::vector<std::uint64_t> leaves(tree_.leaves[0].bytes() / 8);
    const stream order = where_.default_stream();
    if (!leaves.empty()) where_.copy(leaves.data(), tree_.leaves[0].data(), leaves.size() * 8, order);
    order.synchronize();
    host.node4 = node4.data();
    host.node16 = node16.data();
    host.node48 = node48.data();
    host.node256 = node256.data();
    host.leaves[0] = reinterpret_cast<std::byte*>(leaves.data());
    return radix_state(host, tree_.root_info);
  }
  [[nodiscard]] std::string dump() const override { return {}; }
  [[nodiscard]] bool changes() const override { return true; }
  [[nodiscard]] const device& where() const override { return where_; }
  bool maintain() override { return false; }

  live_outcome run(const live_call& call, const trace_ring& ring) override {
    live_outcome outcome;
    if (call.op == trace_op::find || call.op == trace_op::range || call.op == trace_op::update) {
      ask(call, call.keys, ring, outcome);
      return outcome;
    }
    // One worker goes key by key, as it was asked; several do what a batch of the library does.
    const std::size_t piece = call.workers == 1 ? 1 : call.keys.size();
    for (std::size_t first = 0; first < call.keys.size(); first += piece)
      write(call, call.keys.subspan(first, piece), ring, outcome);
    return outcome;
  }

 private:
  static std::string bytes_of(keys_span keys) {
    std::string bytes;
    bytes.reserve(8 * keys.size());
    for (const std::uint64_t k : keys) bytes += byte_key(k);
    return bytes;
  }
  static byte_batch batch(const buffer<char>& bytes) {
    return {reinterpret_cast<const std::uint8_t*>(bytes.data()), nullptr, 8};
  }

  /// Those that change the tree's nodes after the others; of equal keys the first.
  void write(const live_call& call, keys_span keys, const trace_ring& ring, live_outcome& outcome) {
    std::vector<std::uint64_t> first, repeated;
    std::unordered_set<std::uint64_t> known;
    for (const std::uint64_t k : keys) (known.insert(k).second ? first : repeated).push_back(k);
    if (ask(call, first, ring, outcome) != 0) {
      const stream order = where_.default_stream();
      context at(where_, order, ring, call);
      const std::string text = bytes_of(first);
      const auto bytes = to_device(where_, std::span<const char>(text), order);
      const auto values = to_device(where_, keys_span(first), order);
      const auto op = call.op == trace_op::insert   ? detail::radix_write::insert
                      : call.op == trace_op::assign ? detail::radix_write::insert_or_assign
                                                    : detail::radix_write::erase;
      detail::radix_writer<context, 8>(at, tree_, elements, {})(op, batch(bytes), first.size(), values.data(), nullptr,
                                                                radix_path::in_place);
      order.synchronize();
    }
    (void)ask(call, repeated, ring, outcome);
  }
  /// Returns how many keys are left to radix_writer, counted as done.
  std::uint64_t ask(const live_call& call, keys_span keys, const trace_ring& ring, live_outcome& outcome) {
    if (keys.empty()) return 0;
    const stream order = where_.default_stream();
    if (call.op == trace_op::range) {
      context at(where_, order, ring, call);
      detail::know_order(at, tree_);
    }
    const std::string text = bytes_of(keys);
    const auto bytes = to_device(where_, std::span<const char>(text), order);
    const buffer<std::uint8_t> results(where_, keys.size(), order);
    const buffer<std::uint64_t> found(where_, live_outcome::most_found, order), count(where_, 1, order);
    where_.fill(count.data(), 0, sizeof(std::uint64_t), order);
    order.synchronize();
    Launcher::run(where_, order, call.workers,
                  radix_work{tree_.view, ring, call.op, batch(bytes).bytes, keys.size(), call.to, call.workers,
                             results.data(), found.data(), live_outcome::most_found, count.data()});
    std::uint64_t left = 0;
    for (const std::uint8_t r : results.to_vector()) {
      left += r == radix_work::left_over ? 1 : 0;
      ++(r == radix_work::left_over || r == static_cast<std::uint8_t>(trace_result::done) ? outcome.done
                                                                                          : outcome.unchanged);
    }
    outcome.count = count.to_vector().front();
    outcome.found = found.to_vector();
    if (outcome.count < outcome.found.size()) outcome.found.resize(outcome.count);
    return left;
  }

  device where_;
  detail::radix_storage<8> tree_;
};

}  // namespace espalier::explorer
