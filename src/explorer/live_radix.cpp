// live_radix.cpp - a radix tree of 64-bit numbers as byte strings, searched by a traced team and written by its owner.
//
// Searches tell the nodes they reach. A write is preceded by a search for its key, which is the way that it takes; what
// it changed is seen by comparing the tree before and after (source.cpp).
#include <array>
#include <memory>

#include "espalier/core/byte_key.hpp"
#include "espalier/radix_tree/radix_tree.hpp"
#include "espalier/team/scalar_team.hpp"
#include "espalier/trace/note.hpp"
#include "explorer/live_tree.hpp"

namespace espalier::explorer {

namespace {

using radix_of_numbers = radix_tree<std::uint64_t>;
using numbers_view = radix_view<8>;
using numbers_ref = radix_tree_ref<std::uint64_t>;

std::uint64_t number_of(const leaf_key& key) { return key.word(0); }

trace_name name_of(radix_link l) { return {radix_trace::number(l), l.is_node()}; }

std::string hex_of(std::uint64_t key, std::uint32_t from, std::uint32_t to) {
  static const char* digits = "0123456789abcdef";
  std::string text;
  for (std::uint32_t i = from; i < to && i < 8; ++i) {
    const auto byte = static_cast<unsigned>(key >> (56 - 8 * i) & 0xff);
    text += {digits[byte >> 4], digits[byte & 15]};
  }
  return text;
}

/// The tree below a link, whose first `known` bytes the way there has told.
class walker {
 public:
  walker(const numbers_view& t, trace_state& state) : t_(t), state_(state) {}

  /// A key below it.
  std::uint64_t operator()(radix_link l, std::uint32_t known) {
    if (!l.is_node()) {
      trace_node_state& leaf = state_.nodes[name_of(l)];
      leaf.kind = trace_node_kind::leaf;
      leaf.keys = {number_of(t_.key_of(l))};
      leaf.prefix = hex_of(leaf.keys[0], known, 8);
      return leaf.keys[0];
    }
    trace_node_state n;
    std::uint64_t some = 0;
    std::uint32_t at = 0;
    t_.with_node(l, [&](const auto& node) {
      at = node.head.at;
      n.level = radix_trace::node(l, at).level;
      n.kind = static_cast<trace_node_kind>(static_cast<unsigned>(l.kind()) + 1);
      n.version = 2 * (node.head.info / radix_info::one_version) + (node.head.info & radix_info::latched);
      each_child(node, 1, [&](unsigned symbol, radix_link child) {
        n.keys.push_back(symbol - 1);
        n.children.push_back(name_of(child));
        some = (*this)(child, at + 1);
        return true;
      });
    });
    n.prefix = hex_of(some, known, at);
    state_.nodes[name_of(l)] = std::move(n);
    return some;
  }

 private:
  const numbers_view& t_;
  trace_state& state_;
};

class live_radix final : public live_tree {
 public:
  live_radix(const device& where, const std::vector<std::uint64_t>& keys)
      : where_(where), tree_(radix_of_numbers::build(strings_of(keys), keys, {}, where)) {}

  [[nodiscard]] trace_header header() const override {
    trace_header header;
    header.index = "radix";
    header.protocol = "none";
    header.slots = 256;
    return header;
  }
  [[nodiscard]] trace_state state() const override {
    trace_state state;
    const numbers_ref ref = tree_.ref();
    const numbers_view& t = ref.layout();
    trace_node_state& top = state.nodes[state.root];
    top.level = radix_trace::root_level;
    top.kind = trace_node_kind::root;
    if (t.size == 0) return state;
    top.keys = {0};
    top.children = {name_of(t.root)};
    (void)walker(t, state)(t.root, 0);
    return state;
  }
  [[nodiscard]] std::string dump() const override { return {}; }
  [[nodiscard]] bool changes() const override { return true; }
  [[nodiscard]] bool tells_changes() const override { return false; }
  [[nodiscard]] const device& where() const override { return where_; }
  bool maintain() override { return false; }

  live_outcome run(const live_call& call, const trace_ring& ring) override {
    const traced_team<scalar_team> team(scalar_team{}, ring, 0);
    live_outcome outcome;
    for (const std::uint64_t key : call.keys) {
      note(team, trace::begin(call.op, key, call.to));
      const bool done = call.op == trace_op::range ? range(team, key, call.to, outcome) : one(team, call.op, key);
      note(team, trace::end(call.op, done ? trace_result::done : trace_result::unchanged, outcome.count));
      ++(done ? outcome.done : outcome.unchanged);
    }
    return outcome;
  }

 private:
  static std::vector<std::string> strings_of(const std::vector<std::uint64_t>& keys) {
    std::vector<std::string> strings;
    strings.reserve(keys.size());
    for (const std::uint64_t k : keys) strings.push_back(byte_key(k));
    return strings;
  }
  bool one(const traced_team<scalar_team>& team, trace_op op, std::uint64_t key) {
    const std::string bytes = byte_key(key);
    std::uint64_t value = key;
    const bool there = tree_.ref().find(team, numbers_ref::key(bytes), value);
    if (op == trace_op::find) return there;
    std::array<std::uint8_t, 1> done{};
    const std::array<std::uint64_t, 1> values{key};
    if (op == trace_op::erase) {
      tree_.erase({bytes}, done, radix_path::in_place);
    } else if (op == trace_op::assign) {
      tree_.insert_or_assign({bytes}, values, done, radix_path::in_place);
    } else if (op == trace_op::insert) {
      tree_.insert({bytes}, values, done, radix_path::in_place);
    } else {
      throw error("a radix tree is traced with insert, assign, erase, find and range.");
    }
    return done[0] != 0;
  }
  bool range(const traced_team<scalar_team>& team, std::uint64_t from, std::uint64_t to, live_outcome& outcome) const {
    const std::string bytes = byte_key(from);
    const numbers_ref ref = tree_.ref();
    const numbers_view& t = ref.layout();
    for (std::uint64_t r = ref.lower_bound(team, numbers_ref::key(bytes)); r < t.size; ++r, ++outcome.count) {
      const radix_link leaf = t.leaf_at(r);
      const std::uint64_t key = number_of(t.key_of(leaf));
      if (key > to) break;
      note(team, trace::reach(trace::leaf(radix_trace::number(leaf))));
      if (outcome.found.size() < live_outcome::most_found) outcome.found.push_back(key);
    }
    return outcome.count != 0;
  }

  device where_;
  radix_of_numbers tree_;
};

}  // namespace

std::unique_ptr<live_tree> make_live_radix(const device& where, const live_request& request) {
  return std::make_unique<live_radix>(where, request.keys);
}

}  // namespace espalier::explorer
