// live_static.cpp - searches in a static tree by a team that records which headers and lines it reads. The library's
// own search runs, without hooks.
//
// There are three levels: the table (level 2), groups of lines (level 1) and lines of keys (leaves). The implicit
// layout of the hybrid tree is such a tree in host memory, with a copy of its table and groups on a device.
#include <algorithm>
#include <memory>

#include "espalier/static_tree/index.hpp"
#include "espalier/static_tree/search.hpp"
#include "espalier/team/scalar_team.hpp"
#include "espalier/trace/note.hpp"
#include "explorer/live_tree.hpp"
#include "hybrid_tree/host_tree.hpp"

namespace espalier::explorer {

namespace {

using static_view = tree_view<std::uint64_t, 8>;
using static_shape = tree_shape<std::uint64_t, 8>;
constexpr trace_node table{0, 2};

/// Derives the node from the address that is read.
struct watching_team : scalar_team {
  using alone = watching_team;
  const static_view* tree;
  traced_team<scalar_team> notes;

  watching_team(const static_view& t, const traced_team<scalar_team>& to) : tree(&t), notes(to) {}

  template <unsigned N, class X>
  [[nodiscard]] node_view<X, N> view(const X* p) const {
    const auto* at = reinterpret_cast<const std::byte*>(p);
    const auto* headers = reinterpret_cast<const std::byte*>(tree->headers);
    const auto group = static_cast<std::uint64_t>(at - headers) / sizeof(group_header<std::uint64_t>);
    const auto line = static_cast<std::uint64_t>(at - tree->lines) / static_shape::line_bytes;
    if (at >= headers && group < tree->groups) {
      note(notes, trace::reach(trace_node{static_cast<std::uint32_t>(group + 1), 1}));
    } else if (at >= tree->lines && line <= (tree->size - 1) / static_shape::keys_per_line) {
      note(notes, trace::reach(trace::leaf(static_cast<std::uint32_t>(line))));
    }
    return scalar_team::view<N>(p);
  }
};

trace_state state_of(const static_view& t) {
  trace_state state;
  trace_node_state& top = state.nodes[{0, true}];
  top.level = table.level;
  const std::uint64_t lines = t.size == 0 ? 0 : (t.size - 1) / static_shape::keys_per_line + 1;
  const std::uint64_t groups = lines == 0 ? 0 : (lines - 1) / static_shape::lines_per_group + 1;
  const auto last_key = [&](std::uint64_t line) {
    return t.key_at(std::min(t.size, (line + 1) * static_shape::keys_per_line) - 1);
  };
  const auto low_of = [&](std::uint64_t line) { return line == 0 ? std::uint64_t{0} : last_key(line - 1) + 1; };
  for (std::uint64_t g = 0; g < groups; ++g) {
    const std::uint64_t first = g * static_shape::lines_per_group;
    const std::uint64_t end = std::min<std::uint64_t>(lines, first + static_shape::lines_per_group);
    trace_node_state& group = state.nodes[{static_cast<std::uint32_t>(g + 1), true}];
    group.level = 1;
    if (g + 1 < groups) {
      group.right = static_cast<std::uint32_t>(g + 2);
      group.high = last_key(end - 1);
    }
    for (std::uint64_t line = first; line < end; ++line) {
      trace_node_state& leaf = state.nodes[{static_cast<std::uint32_t>(line), false}];
      const std::uint64_t from = line * static_shape::keys_per_line;
      for (std::uint64_t r = from; r < std::min(t.size, from + static_shape::keys_per_line); ++r)
        leaf.keys.push_back(t.key_at(r));
      if (line + 1 < lines) {
        leaf.right = static_cast<std::uint32_t>(line + 1);
        leaf.high = last_key(line);
      }
      group.keys.push_back(low_of(line));
      group.children.push_back({static_cast<std::uint32_t>(line), false});
    }
    top.keys.push_back(low_of(first));
    top.children.push_back({static_cast<std::uint32_t>(g + 1), true});
  }
  return state;
}

class live_static final : public live_tree {
 public:
  live_static(const device& dev, const live_request& request) : device_(dev), index_(request.index) {
    std::vector<std::uint64_t> keys = request.keys;
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    const detail::element_type elements{scalar_kind::u64, scalar_kind::u64, 8};
    if (index_ == "hybrid") {
      side_ = detail::make_static_host_tree(dev, elements, aggregates::all, keys.data(), keys.data(), keys.size());
    } else {
      alone_ = detail::build_static_index(dev, elements, keys.data(), keys.data(), keys.size(), {},
                                          {dev.default_stream(), true});
    }
  }
  [[nodiscard]] trace_header header() const override {
    trace_header header;
    header.index = index_;
    header.protocol = "none";
    header.slots = static_shape::keys_per_line;
    return header;
  }
  [[nodiscard]] trace_state state() const override { return state_of(tree()); }
  [[nodiscard]] std::string dump() const override { return {}; }
  [[nodiscard]] bool changes() const override { return false; }
  [[nodiscard]] const device& get_device() const override { return device_; }
  bool maintain() override { return false; }

  live_outcome run(const live_call& call, const event_log& ring) override {
    const traced_team<scalar_team> notes(scalar_team{}, ring, 0);
    live_outcome outcome;
    for (const std::uint64_t key : call.keys) {
      note(notes, trace::begin(call.op, key, call.to));
      const std::uint64_t rank = search(notes, key);
      const bool range = call.op == trace_op::range;
      if (range) take_range(call, notes, rank, outcome);
      const bool found = range ? outcome.count != 0 : rank < tree().size && tree().key_at(rank) == key;
      note(notes, trace::end(call.op, found ? trace_result::done : trace_result::unchanged, outcome.count));
      ++(found ? outcome.done : outcome.unchanged);
    }
    return outcome;
  }

 private:
  [[nodiscard]] const static_view& tree() const {
    return *static_cast<const static_view*>(index_ == "hybrid" ? side_->lines()->view() : alone_->view());
  }
  /// Returns the rank of the first element that is not less than `key`.
  std::uint64_t search(const traced_team<scalar_team>& notes, std::uint64_t key) const {
    using searching = searcher<watching_team, std::uint64_t, 8>;
    const static_view& t = tree();
    note(notes, trace::reach(table));
    if (t.size == 0 || key > t.last) return t.size;
    const watching_team team(t, notes);
    const std::uint64_t x = searching::clamp(t, key);
    return searching::rank_in(team, t, searching::descend(team, t, x), x);
  }
  /// Elements are contiguous, so the next line continues the range.
  void take_range(const live_call& call, const traced_team<scalar_team>& notes, std::uint64_t rank,
                  live_outcome& outcome) const {
    const std::uint64_t first = rank;
    for (; rank < tree().size && tree().key_at(rank) <= call.to; ++rank, ++outcome.count) {
      if (rank != first && rank % static_shape::keys_per_line == 0)
        note(notes, trace::reach(trace::leaf(static_cast<std::uint32_t>(rank / static_shape::keys_per_line))));
      if (outcome.found.size() < live_outcome::most_found) outcome.found.push_back(tree().key_at(rank));
    }
  }

  device device_;
  std::string index_;
  std::unique_ptr<detail::static_index> alone_;
  std::unique_ptr<detail::host_tree> side_;
};

}  // namespace

std::unique_ptr<live_tree> make_live_static(const device& dev, const live_request& request) {
  return std::make_unique<live_static>(dev, request);
}

}  // namespace espalier::explorer
