// write.cpp - writes traces as text (docs/trace-format.md).
#include <algorithm>
#include <ostream>
#include <unordered_map>

#include "espalier/core/error.hpp"
#include "espalier/inspect/trace.hpp"

namespace espalier {

namespace {

using detail::trace_by;

void write_text(std::ostream& out, const std::string& text) {
  static const char* digits = "0123456789abcdef";
  out << '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out << '\\' << c;
    } else if (byte < 0x20) {
      out << "\\u00" << digits[byte >> 4] << digits[byte & 15];
    } else {
      out << c;
    }
  }
  out << '"';
}
void write_limit(std::ostream& out, std::uint64_t high) {
  if (high == trace_node_state::no_limit) {
    out << "null";
  } else {
    out << '"' << high << '"';
  }
}
void write_name(std::ostream& out, trace_name n) { out << '"' << (n.inner ? 'i' : 'l') << n.id << '"'; }

void write_node(std::ostream& out, trace_name name, const trace_node_state& n) {
  out << "{\"n\":";
  write_name(out, name);
  out << ",\"level\":" << n.level << ",\"version\":" << n.version << ",\"dead\":" << (n.dead ? "true" : "false")
      << ",\"right\":";
  if (n.right == trace_node_state::none) {
    out << "null";
  } else {
    write_name(out, {n.right, name.inner});
  }
  out << ",\"high\":";
  write_limit(out, n.high);
  out << ",\"keys\":[";
  for (std::size_t i = 0; i < n.keys.size(); ++i) out << (i != 0 ? ",\"" : "\"") << n.keys[i] << '"';
  out << ']';
  if (n.is_inner()) {
    out << ",\"children\":[";
    for (std::size_t i = 0; i < n.children.size(); ++i) {
      if (i != 0) out << ',';
      write_name(out, n.children[i]);
    }
    out << ']';
  }
  if (n.kind != trace_node_kind::plain) {
    out << ",\"kind\":\"" << detail::trace_node_kind_names[static_cast<unsigned>(n.kind)] << "\",\"prefix\":";
    write_text(out, n.prefix);
  }
  out << '}';
}

/// The node that the worker of an event reached before, within its operation.
struct last_reach {
  bool any = false;
  std::uint32_t node = 0;
  std::uint8_t level = 0;
};
trace_by way_to(const last_reach& before, const trace_event& e, const trace_name root) {
  if (before.any && before.node == e.node && before.level == e.level) return trace_by::again;
  if (e.level != 0 && root.inner && e.node == root.id) return trace_by::root;
  if (!before.any) return trace_by::lane;
  return e.level < before.level ? trace_by::child : trace_by::link;
}

/// Writes the members of one event, each preceded by a comma.
class event_members {
 public:
  event_members(std::ostream& out, const trace_event& e) : out_(out), e_(e), inner_(e.level != 0) {}

  void operation() const {
    const bool range = e_.what == static_cast<unsigned>(trace_op::range);
    word("op", detail::trace_op_names[e_.what]);
    if (e_.kind == trace_kind::begin) {
      key("key", e_.key);
      if (range) key("to", e_.key2);
    } else {
      word("result", detail::trace_result_names[e_.at]);
      if (range) number("count", e_.key2);
    }
  }
  void node() const { name("n", e_.node, inner_); }
  void slot() const {
    number("at", e_.at);
    key("key", e_.key);
    if (e_.kind == trace_kind::post) name("child", e_.other, e_.level > 1 && e_.leaf_child == 0);
    if (e_.kind == trace_kind::drop) name("child", e_.other, false);
  }
  /// Members of splits and the events that follow them, and of merges.
  void structure() const {
    const bool merges = e_.kind == trace_kind::merge;
    if (e_.kind == trace_kind::grow) {
      name("left", e_.other, true);
      name("right", e_.other2, true);
    } else {
      name(merges ? "dead" : e_.kind == trace_kind::link ? "right" : "new", e_.other, inner_);
    }
    number(merges ? "count" : "keep", e_.at);
    if (e_.kind == trace_kind::grow) {
      key("key", e_.key);
      limit("high", e_.key2);
    } else if (e_.kind != trace_kind::split) {
      limit("high", e_.key);
    }
  }
  void kind_change() const {
    name("new", e_.other, inner_);
    word("from", detail::trace_node_kind_names[e_.at >> 8]);
    word("to", detail::trace_node_kind_names[e_.at & 0xff]);
    number("version", e_.other2);
    if (e_.key != 0) name("above", trace_above::id(e_.key), true);
  }
  void leaf() const { key("key", e_.key); }
  void branch() const {
    number("at", e_.at);
    name("new", e_.other, true);
    number("level", e_.key);
    name("child", e_.other2, e_.leaf_child == 0);
  }
  void join() const {
    number("at", e_.at);
    name("gone", e_.other, true);
    name("child", e_.other2, e_.leaf_child == 0);
  }
  void number(const char* member, std::uint64_t n) const { out_ << ",\"" << member << "\":" << n; }
  void word(const char* member, const char* w) const { out_ << ",\"" << member << "\":\"" << w << '"'; }

 private:
  void key(const char* member, std::uint64_t k) const { out_ << ",\"" << member << "\":\"" << k << '"'; }
  void limit(const char* member, std::uint64_t k) const {
    out_ << ",\"" << member << "\":";
    write_limit(out_, k);
  }
  void name(const char* member, std::uint32_t id, bool is_inner) const {
    out_ << ",\"" << member << "\":";
    write_name(out_, {id, is_inner});
  }

  std::ostream& out_;
  const trace_event& e_;
  bool inner_;
};

}  // namespace

std::optional<trace_name> trace_name::of(const std::string& text) {
  if (text.size() < 2 || text.size() > 11 || (text[0] != 'i' && text[0] != 'l')) return std::nullopt;
  std::uint64_t id = 0;
  for (const char c : text.substr(1)) {
    if (c < '0' || c > '9') return std::nullopt;
    id = id * 10 + static_cast<std::uint64_t>(c - '0');
  }
  if (id >= trace_node_state::none || (text.size() > 2 && text[1] == '0')) return std::nullopt;
  return trace_name{static_cast<std::uint32_t>(id), text[0] == 'i'};
}

std::vector<trace_name> trace_state::names() const {
  std::vector<trace_name> all;
  all.reserve(nodes.size());
  for (const auto& [name, node] : nodes) all.push_back(name);
  std::sort(all.begin(), all.end(),
            [](trace_name a, trace_name b) { return a.inner != b.inner ? a.inner : a.id < b.id; });
  return all;
}

void append(recorded_trace& trace, const std::vector<trace_event>& raw) {
  std::unordered_map<std::uint32_t, last_reach> last;
  std::uint64_t time = trace.events.empty() ? 0 : trace.events.back().time;
  if (trace.events.empty() && !raw.empty()) trace.clock_began = raw.front().time;
  trace.events.reserve(trace.events.size() + raw.size());
  for (trace_event e : raw) {
    // Clocks of two processors may differ slightly: the order is that of the ring.
    const std::uint64_t since = e.time > trace.clock_began ? e.time - trace.clock_began : 0;
    e.time = time = std::max(time, since);
    last_reach& before = last[e.team];
    if (e.kind == trace_kind::begin) before = {};
    if (e.kind == trace_kind::reach) {
      e.what = static_cast<std::uint8_t>(way_to(before, e, trace.start.root));
      before = {true, e.node, e.level};
    }
    trace.events.push_back(e);
  }
}

void append_state(recorded_trace& trace, trace_state now, trace_state_why why) {
  trace_event e;
  e.kind = trace_kind::state;
  e.what = static_cast<std::uint8_t>(why);
  e.time = trace.events.empty() ? 0 : trace.events.back().time;
  e.other = static_cast<std::uint32_t>(trace.states.size());
  trace.states.push_back(std::move(now));
  trace.events.push_back(e);
}

void write_state(std::ostream& out, const trace_state& state) {
  out << "{\"root\":";
  write_name(out, state.root);
  out << ",\"nodes\":[";
  const char* comma = "";
  for (const trace_name name : state.names()) {
    out << comma;
    comma = ",";
    write_node(out, name, state.nodes.at(name));
  }
  out << "],\"lane\":[";
  for (std::size_t i = 0; i < state.lane.size(); ++i) {
    out << (i != 0 ? ",{\"high\":" : "{\"high\":");
    write_limit(out, state.lane[i].high);
    out << ",\"leaf\":";
    write_name(out, {state.lane[i].leaf, false});
    out << '}';
  }
  out << "]}";
}

void write_header(std::ostream& out, const trace_header& header, const trace_state* start) {
  out << "{\"trace\":\"espalier\",\"format\":" << trace_header::format << ",\"index\":";
  write_text(out, header.index);
  out << ",\"protocol\":";
  write_text(out, header.protocol);
  if (!header.upper.empty()) {
    out << ",\"upper\":";
    write_text(out, header.upper);
  }
  out << ",\"slots\":" << header.slots << ",\"key\":";
  write_text(out, header.key);
  out << ",\"device\":";
  write_text(out, header.device);
  out << ",\"team\":";
  write_text(out, header.team);
  out << ",\"clock\":";
  write_text(out, header.clock);
  if (!header.title.empty()) {
    out << ",\"title\":";
    write_text(out, header.title);
  }
  if (start != nullptr) {
    out << ",\"start\":";
    write_state(out, *start);
  }
  out << '}';
}

void write_event(std::ostream& out, const recorded_trace& trace, std::uint64_t i) {
  const trace_event& e = trace.events[i];
  const event_members members(out, e);
  out << "{\"i\":" << i << ",\"t\":" << e.time << ",\"w\":" << e.team << ",\"e\":\""
      << detail::trace_kind_names[static_cast<unsigned>(e.kind)] << '"';
  if (e.kind != trace_kind::begin && e.kind != trace_kind::end && e.kind != trace_kind::state) members.node();
  switch (e.kind) {
    case trace_kind::begin:
    case trace_kind::end:
      members.operation();
      break;
    case trace_kind::reach:
      members.word("by", detail::trace_by_names[e.what]);
      break;
    case trace_kind::retry:
      members.word("why", detail::trace_why_names[e.what]);
      break;
    case trace_kind::latch:
    case trace_kind::unlatch:
      members.number("version", e.other);
      break;
    case trace_kind::insert:
    case trace_kind::erase:
    case trace_kind::assign:
    case trace_kind::post:
    case trace_kind::drop:
      members.slot();
      break;
    case trace_kind::split:
    case trace_kind::link:
    case trace_kind::grow:
    case trace_kind::merge:
      members.structure();
      break;
    case trace_kind::kind:
      members.kind_change();
      break;
    case trace_kind::leaf:
      members.leaf();
      break;
    case trace_kind::branch:
      members.branch();
      break;
    case trace_kind::join:
      members.join();
      break;
    case trace_kind::state:
      members.word("why", detail::trace_state_why_names[e.what]);
      out << ",\"state\":";
      write_state(out, trace.states[e.other]);
      break;
  }
  out << '}';
}

void write_end(std::ostream& out, std::uint64_t events, std::uint64_t lost, const std::string& left_out,
               const trace_state& final) {
  out << "{\"end\":true,\"events\":" << events << ",\"lost\":" << lost;
  if (!left_out.empty()) {
    out << ",\"left_out\":";
    write_text(out, left_out);
  }
  out << ",\"final\":";
  write_state(out, final);
  out << "}\n";
}

void write_trace(std::ostream& out, const recorded_trace& trace) {
  write_header(out, trace.header, &trace.start);
  out << '\n';
  for (std::uint64_t i = 0; i < trace.events.size(); ++i) {
    write_event(out, trace, i);
    out << '\n';
  }
  write_end(out, trace.events.size(), trace.lost, trace.left_out, trace.final);
  out.flush();
  if (!out) throw error("the trace could not be written: is there room where it goes?");
}

}  // namespace espalier
