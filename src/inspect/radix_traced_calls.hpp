// radix_traced_calls.hpp - a recorded batch: queries and writes by traced teams.
//
// The work of a batch before and after its nodes change (searching its keys, memory for leaves and nodes, the root
// table) records no events. One team executes key by key, in the order of the call; several teams execute a batch as
// the library does: of equal keys the first changes the tree, and the others, which find it changed, are recorded last.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "espalier/inspect/radix_trace.hpp"
#include "inspect/radix_traced_writer.hpp"
#include "radix_tree/index_impl.hpp"
#include "radix_tree/leaf_order.hpp"
#include "radix_tree/update.hpp"
#include "radix_tree/write.hpp"

namespace espalier::detail {

/// Marks the elements that insert a missing key (or erase a present one), of distinct keys.
struct mark_missing_or_present {
  const radix_link* links;
  bool present;
  std::uint64_t* marks;
  ESPALIER_HD void operator()(std::size_t e) const { marks[e] = links[e].is_nothing() != present ? 1 : 0; }
};

template <class Context, class Launcher, unsigned V>
class traced_caller {
 public:
  traced_caller(Context& context, radix_storage<V>& tree, element_type elements, const radix_options& options)
      : context_(context), tree_(tree), elements_(elements), options_(options) {}

  /// Keys and values are in the device's memory; those of `call` are not used.
  radix_traced_outcome operator()(const radix_traced_call& call, const byte_batch& keys, const void* values) {
    const std::size_t n = call.keys.n;
    require_eight_bytes(keys, n);
    const byte_batch plain{keys.offsets == nullptr ? keys.bytes : keys.bytes + context_.read(keys.offsets), nullptr, 8};
    if (call.op == trace_op::find || call.op == trace_op::range || call.op == trace_op::update) {
      (void)ask(call, plain, n);
      if (call.op == trace_op::update) assign(plain, n, values);
      return outcome_;
    }
    const std::size_t piece = call.teams == 1 ? 1 : n;
    for (std::size_t first = 0; first < n; first += piece) {
      const auto* const from = static_cast<const std::byte*>(values);
      change(call, plain.from(first), piece, from == nullptr ? nullptr : from + first * elements_.value_bytes);
    }
    return outcome_;
  }

 private:
  using numbers = std::vector<std::uint32_t>;

  void require_eight_bytes(const byte_batch& keys, std::size_t n) {
    bool are = keys.offsets != nullptr || keys.stride == 8;
    if (keys.offsets != nullptr) {
      const auto offsets = host<std::uint64_t>(keys.offsets, n + 1);
      for (std::size_t i = 0; i < n; ++i) are = are && offsets[i + 1] - offsets[i] == 8;
    }
    if (!are) throw error("radix_tree: traces know keys of 8 bytes, such as byte_key(number): give no others.");
  }

  /// Executes a piece of a call that inserts, assigns or erases.
  void change(const radix_traced_call& call, const byte_batch& keys, std::size_t n, const void* values) {
    numbers first, repeated, values_of_first;
    const auto words = host<std::uint64_t>(keys.bytes, n);
    std::unordered_map<std::uint64_t, std::size_t> known;
    for (std::uint32_t i = 0; i < n; ++i) {
      const auto [at, is_new] = known.emplace(words[i], first.size());
      (is_new ? first : repeated).push_back(i);
      if (is_new) {
        values_of_first.push_back(i);
      } else if (call.op == trace_op::assign) {
        values_of_first[at->second] = i;
      }
    }
    const auto taken = taken_of<std::uint64_t>(words, first);
    const byte_batch firsts{reinterpret_cast<const std::uint8_t*>(taken.data()), nullptr, 8};
    const std::uint64_t left = ask(call, firsts, first.size());
    const auto op = call.op == trace_op::insert   ? write_op::insert
                    : call.op == trace_op::assign ? write_op::insert_or_assign
                                                  : write_op::erase;
    if (left != 0 || op == write_op::insert_or_assign) {
      const raw_buffer some = values == nullptr ? raw_buffer{} : values_at(values, n, values_of_first);
      write(call, op, firsts, first.size(), values == nullptr ? nullptr : some.data());
    }
    const auto others = taken_of<std::uint64_t>(words, repeated);
    (void)ask(call, {reinterpret_cast<const std::uint8_t*>(others.data()), nullptr, 8}, repeated.size());
  }
  /// Keys are distinct.
  void write(const radix_traced_call& call, write_op op, const byte_batch& keys, std::size_t n, const void* values) {
    const buffer<radix_link> links = room<radix_link>(context_, n);
    context_.ask(radix_locate_job<V>{tree_.view, keys, links.data()}, n);
    const bool erases = op == write_op::erase, assigns = op == write_op::insert_or_assign;
    const buffer<std::uint64_t> marks = room<std::uint64_t>(context_, n + 1);
    context_.for_each(n, mark_missing_or_present{links.data(), erases, marks.data()});
    const std::uint64_t m = number_marks(context_, marks, n);
    const buffer<std::uint32_t> changing = room<std::uint32_t>(context_, m);
    context_.for_each(n, keep_numbers{marks.data(), changing.data()});
    radix_updater<Context, V> update(context_, tree_, elements_.value_bytes);
    if (assigns) update.prepare(n);  // while it may still fail
    if (m != 0) {
      radix_traced_writer<Context, Launcher, V> writer(context_, tree_, options_.table_bits,
                                                       {call.ring, call.op, call.teams});
      if (erases) {
        std::size_t gone[leaf_classes] = {};
        gone[leaf_class(8)] = m;
        writer.erase(keys, changing.data(), m, gone);
      } else {
        writer.insert(keys, changing.data(), m, values);
      }
    }
    if (assigns) update(links.data(), n, values);
    if constexpr (Context::on_gpu) context_.order().synchronize();
  }
  void assign(const byte_batch& keys, std::size_t n, const void* values) {
    radix_updater<Context, V> update(context_, tree_, elements_.value_bytes);
    update.prepare(n);
    update(keys, n, values, nullptr);
    if constexpr (Context::on_gpu) context_.order().synchronize();
  }

  /// Returns the number of keys that are left to the writer, counted as done.
  std::uint64_t ask(const radix_traced_call& call, const byte_batch& keys, std::size_t n) {
    if (n == 0) return 0;
    if (call.op == trace_op::range) build_leaf_order(context_, tree_);
    const buffer<std::uint8_t> results = room<std::uint8_t>(context_, n);
    const buffer<std::uint64_t> found = room<std::uint64_t>(context_, call.most_found);
    const buffer<std::uint64_t> count = room<std::uint64_t>(context_, 1);
    context_.zero(count.data(), 8);
    Launcher::run(context_.get_device(), context_.order(), call.teams,
                  traced_queries<V>{tree_.view, call.ring, call.op, keys, n, call.to, call.teams, results.data(),
                                    found.data(), call.most_found, count.data()});
    std::uint64_t left = 0;
    for (const std::uint8_t r : host<std::uint8_t>(results.data(), n)) {
      const bool left_over = r == traced_queries<V>::left_over;
      left += left_over ? 1 : 0;
      ++(left_over || r == static_cast<std::uint8_t>(trace_result::done) ? outcome_.done : outcome_.unchanged);
    }
    outcome_.count = context_.read(count.data());
    outcome_.found = host<std::uint64_t>(found.data(), std::min(outcome_.count, call.most_found));
    return left;
  }

  // ---- between host and device -------------------------------------------------------------------------------
  template <class T>
  [[nodiscard]] std::vector<T> host(const void* from, std::size_t n) {
    std::vector<T> to(n);
    if (n != 0) context_.copy(to.data(), from, n * sizeof(T));
    if constexpr (Context::on_gpu) context_.order().synchronize();
    return to;
  }
  template <class T>
  [[nodiscard]] buffer<T> taken_of(const std::vector<T>& all, const numbers& which) {
    std::vector<T> some;
    for (const std::uint32_t i : which) some.push_back(all[i]);
    buffer<T> to = room<T>(context_, some.size());
    if (!some.empty()) context_.copy(to.data(), some.data(), some.size() * sizeof(T));
    if constexpr (Context::on_gpu) context_.order().synchronize();
    return to;
  }
  [[nodiscard]] raw_buffer values_at(const void* values, std::size_t n, const numbers& which) {
    const std::size_t bytes = elements_.value_bytes;
    const auto all = host<std::byte>(values, n * bytes);
    std::vector<std::byte> some;
    for (const std::uint32_t i : which) {
      const std::byte* const value = all.data() + i * bytes;
      some.insert(some.end(), value, value + bytes);
    }
    raw_buffer to(context_.get_device(), some.size(), context_.order());
    if (!some.empty()) context_.copy(to.data(), some.data(), some.size());
    if constexpr (Context::on_gpu) context_.order().synchronize();
    return to;
  }

  Context& context_;
  radix_storage<V>& tree_;
  element_type elements_;
  radix_options options_;
  radix_traced_outcome outcome_;
};

/// A traced call of a tree whose context is `Context`, with values of eight bytes.
template <class Context, class Launcher>
[[nodiscard]] radix_traced_outcome run_traced_on(radix_index& index, const radix_traced_call& call) {
  constexpr unsigned V = traced_value_slot;
  radix_traced_outcome outcome;
  // The only class of this context and value slot.
  static_cast<radix_index_impl<Context, V>&>(index).change_storage([&](Context& context, radix_storage<V>& tree,
                                                                       const radix_options& options) {
    const element_type elements = index.elements();
    const staged_keys<Context> keys(context, call.keys, true);
    const staged_input<Context> values(context, call.values, call.keys.n * elements.value_bytes);
    outcome = traced_caller<Context, Launcher, V>(context, tree, elements, options)(call, keys.batch(), values.data());
  });
  return outcome;
}

}  // namespace espalier::detail
