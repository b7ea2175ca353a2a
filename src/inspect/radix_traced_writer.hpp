// radix_traced_writer.hpp - inserts and erases key by key: what a trace is to show.
//
// The keys of a batch are inserted (or erased) by many concurrent teams (espalier/radix_tree/insert_erase.hpp);
// untraced batches are written differently (radix_tree/in_place.hpp). A team that finds no node waits for a larger
// pool. If there is no memory for that, what was inserted is erased again, which needs no memory.
#pragma once

#include <algorithm>
#include <iterator>
#include <utility>

#include "device/with_memory.hpp"
#include "inspect/radix_traced_steps.hpp"
#include "radix_tree/in_place.hpp"

namespace espalier::detail {

/// Who records the events of a write, and where.
struct trace_target {
  event_log ring;
  trace_op op = trace_op::insert;
  unsigned teams = 1;
};

/// Launcher runs the teams: thread_launcher (team_threads.hpp) or its twin for a GPU.
template <class Context, class Launcher, unsigned V>
class radix_traced_writer : in_place_writer<Context, V> {
  using base = in_place_writer<Context, V>;
  using base::context_, base::tree_, base::grow;

 public:
  /// `table_bits` as in radix_options.
  radix_traced_writer(Context& context, radix_storage<V>& tree, unsigned table_bits, const trace_target& target)
      : base(context, tree, table_bits), target_(target), counters_(context.get_device(), 8, context.order()) {}

  /// Inserts m elements whose keys are new and distinct. Strong exception guarantee.
  void insert(const byte_batch& keys, const std::uint32_t* numbers, std::size_t m, const void* values) {
    const ordered_keys listed{keys, numbers, m};
    const buffer<radix_link> links = base::make_leaves(listed, values);
    const buffer<radix_root> root = copy_root();
    buffer<std::uint32_t> pending, refused = room<std::uint32_t>(context_, m);
    const buffer<std::uint32_t> refusals = room<std::uint32_t>(context_, 1);
    std::size_t left = m;
    const auto attach_leaves = [&] {
      grow_pools(left);
      while (left != 0) {
        context_.zero(refusals.data(), 4);
        copy_counters();
        run_traced(left, insert_listed<V>{tree_.view,
                                          root.data(),
                                          pools(),
                                          {keys, numbers},
                                          links.data(),
                                          pending.size() == 0 ? nullptr : pending.data(),
                                          refused.data(),
                                          refusals.data()});
        const std::size_t still = context_.read(refusals.data());
        read_counters();
        if (still == 0) return;
        grow_pools(still);
        buffer<std::uint32_t> list = room<std::uint32_t>(context_, still);
        context_.copy(list.data(), refused.data(), still * 4);
        pending = std::move(list);
        left = still;
      }
    };
    try {
      attach_leaves();
    } catch (...) {
      withdraw(keys, numbers, m, root);
      throw;
    }
    read_root(root);
    base::inserted(keys, numbers, m);
  }
  /// Erases m elements whose keys are present and distinct; `gone` is the number of their leaves of each class.
  void erase(const byte_batch& keys, const std::uint32_t* numbers, std::size_t m,
             const std::size_t (&gone)[leaf_classes]) {
    const buffer<radix_root> root = copy_root();
    grow_pools_if_possible(m);
    copy_counters();
    run_traced(m, erase_listed<V>{tree_.view, root.data(), pools(), {keys, numbers}});
    read_counters();
    read_root(root);
    base::erased(keys, numbers, m, gone);
  }

 private:
  template <class Step>
  void run_traced(std::size_t n, const Step& step) {
    Launcher::run(context_.get_device(), context_.order(), target_.teams,
                  traced_changes<Step>{step, target_.ring, target_.op, n, target_.teams});
  }

  /// Reserves what m inserts may need of each kind, or a substantial part of it.
  void grow_pools(std::size_t m) {
    grow(tree_.node4, tree_.view.node4, 0, m / 2 + 64);
    grow(tree_.node16, tree_.view.node16, 1, m / 8 + 16);
    grow(tree_.node48, tree_.view.node48, 2, m / 64 + 16);
    grow(tree_.node256, tree_.view.node256, 3, m / 256 + 16);
  }
  /// Erases work without: nodes then stay larger than necessary.
  void grow_pools_if_possible(std::size_t m) {
    static_cast<void>(with_memory([&] {
      grow(tree_.node4, tree_.view.node4, 0, m / 16 + 16);
      grow(tree_.node16, tree_.view.node16, 1, m / 64 + 16);
      grow(tree_.node48, tree_.view.node48, 2, m / 256 + 16);
    }));
  }
  [[nodiscard]] radix_pools pools() const {
    return {counters_.data(),
            {static_cast<std::uint32_t>(tree_.node4.size()), static_cast<std::uint32_t>(tree_.node16.size()),
             static_cast<std::uint32_t>(tree_.node48.size()), static_cast<std::uint32_t>(tree_.node256.size())}};
  }
  /// Copies the numbers of nodes in use, and of dead ones, to the device and back.
  void copy_counters() {
    std::uint32_t host[8];
    for (unsigned k = 0; k < 4; ++k) {
      host[k] = static_cast<std::uint32_t>(tree_.node_counts[k]);
      host[4 + k] = static_cast<std::uint32_t>(tree_.node_dead[k]);
    }
    context_.copy(counters_.data(), host, sizeof(host));
    if constexpr (Context::on_gpu) context_.order().synchronize();
  }
  void read_counters() {
    std::uint32_t host[8];
    context_.copy(host, counters_.data(), sizeof(host));
    if constexpr (Context::on_gpu) context_.order().synchronize();
    const std::size_t sizes[4] = {tree_.node4.size(), tree_.node16.size(), tree_.node48.size(), tree_.node256.size()};
    for (unsigned k = 0; k < 4; ++k) {
      tree_.node_counts[k] = std::min<std::size_t>(host[k], sizes[k]);  // refused requests have incremented the counter
      tree_.node_dead[k] = host[4 + k];
    }
  }
  [[nodiscard]] buffer<radix_root> copy_root() {
    buffer<radix_root> root = room<radix_root>(context_, 1);
    const radix_root host{tree_.root_info, tree_.view.root.word};
    context_.copy(root.data(), &host, sizeof(host));
    if constexpr (Context::on_gpu) context_.order().synchronize();
    return root;
  }
  void read_root(const buffer<radix_root>& root) {
    const radix_root host = context_.read(root.data());
    tree_.root_info = host.info;
    tree_.view.root = {host.link};
  }

  void withdraw(const byte_batch& keys, const std::uint32_t* numbers, std::size_t m, const buffer<radix_root>& root) {
    // Without pools, so that it makes no node: only the numbers of dead nodes increase.
    std::size_t used[4];
    std::copy(std::begin(tree_.node_counts), std::end(tree_.node_counts), used);
    copy_counters();
    run_traced(m, erase_listed<V>{tree_.view, root.data(), {counters_.data(), {0, 0, 0, 0}}, {keys, numbers}});
    read_counters();
    std::copy(std::begin(used), std::end(used), tree_.node_counts);
    read_root(root);
    base::after(keys, numbers, m);
  }

  trace_target target_;
  buffer<std::uint32_t> counters_;
};

}  // namespace espalier::detail
