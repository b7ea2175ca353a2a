// read_trace.cpp - reads docs/trace-format.md. Each event is replayed as soon as it is read, so that the line of the
// first invalid one is known.
#include "explorer/read_trace.hpp"

#include <fstream>
#include <istream>
#include <nlohmann/json.hpp>
#include <optional>

#include "espalier/inspect/replay.hpp"

namespace espalier::explorer {

namespace {

using nlohmann::json;

/// One JSON object of a line: members by type, with an error message if they are missing or of another type.
class record {
 public:
  record(const json& object, std::uint64_t line, std::string about)
      : object_(object), line_(line), about_(std::move(about)) {}

  [[noreturn]] void refuse(const std::string& what) const { throw bad_trace(line_, about_ + ' ' + what + '.'); }
  [[nodiscard]] bool has(const char* member) const { return object_.contains(member); }
  [[nodiscard]] const json& at(const char* member) const {
    const auto found = object_.find(member);
    if (found == object_.end()) refuse(std::string("has no '") + member + '\'');
    return *found;
  }
  [[nodiscard]] std::string text(const char* member) const {
    if (!at(member).is_string()) refuse(std::string("needs a text as '") + member + '\'');
    return at(member).get<std::string>();
  }
  [[nodiscard]] std::uint64_t number(const char* member, std::uint64_t most) const {
    const json& n = at(member);
    if (!n.is_number_unsigned() || n.get<std::uint64_t>() > most)
      refuse(std::string("needs a number from 0 to ") + std::to_string(most) + " as '" + member + '\'');
    return n.get<std::uint64_t>();
  }
  [[nodiscard]] std::uint32_t number32(const char* member) const {
    return static_cast<std::uint32_t>(number(member, 0xfffffffeu));
  }
  [[nodiscard]] bool flag(const char* member) const {
    if (!at(member).is_boolean()) refuse(std::string("needs true or false as '") + member + '\'');
    return at(member).get<bool>();
  }
  [[nodiscard]] const json& list(const char* member) const {
    if (!at(member).is_array()) refuse(std::string("needs a list as '") + member + '\'');
    return at(member);
  }
  [[nodiscard]] std::uint64_t key(const char* member) const { return key_of(at(member), member); }
  [[nodiscard]] std::uint64_t key_of(const json& text, const char* member) const {
    const std::optional<std::uint64_t> k = text.is_string() ? parse_key(text.get<std::string>()) : std::nullopt;
    if (!k) refuse(std::string("needs a text of decimal digits below 2^64 in '") + member + '\'');
    return *k;
  }
  /// Returns a key, or no limit for null.
  [[nodiscard]] std::uint64_t limit(const char* member) const {
    return at(member).is_null() ? trace_node_state::no_limit : key(member);
  }
  [[nodiscard]] trace_name name(const char* member) const { return name_of(at(member), member); }
  [[nodiscard]] trace_name name_of(const json& text, const char* member) const {
    const std::optional<trace_name> n = text.is_string() ? trace_name::of(text.get<std::string>()) : std::nullopt;
    if (!n) refuse(std::string("needs the name of a node, such as l5 or i0, in '") + member + '\'');
    return *n;
  }
  /// Returns the position of a word in a list of words.
  template <std::size_t N>
  [[nodiscard]] std::uint8_t choice(const char* member, const char* const (&words)[N]) const {
    const std::string word = text(member);
    for (std::size_t i = 0; i < N; ++i) {
      if (word == words[i]) return static_cast<std::uint8_t>(i);
    }
    refuse(std::string("has '") + member + "' = '" + word.substr(0, 40) + "', which is not known");
  }

 private:
  [[nodiscard]] static std::optional<std::uint64_t> parse_key(const std::string& text) {
    if (text.empty() || text.size() > 20) return std::nullopt;
    std::uint64_t k = 0;
    for (const char c : text) {
      const auto digit = static_cast<std::uint64_t>(c - '0');
      if (c < '0' || c > '9' || k > (~std::uint64_t{0} - digit) / 10) return std::nullopt;
      k = k * 10 + digit;
    }
    return k;
  }

  const json& object_;
  std::uint64_t line_;
  std::string about_;
};

// ---- states ------------------------------------------------------------------------------------------------

void read_children(const record& r, const trace_header& header, trace_node_state& n) {
  for (const json& c : r.list("children")) {
    const trace_name child = r.name_of(c, "children");
    if (header.is_linked() && child.inner != (n.level > 1)) r.refuse("has children of another level");
    n.children.push_back(child);
  }
  if (n.children.size() != n.keys.size()) r.refuse("has not as many children as keys");
}
void read_node(const json& object, std::uint64_t line, const trace_header& header, trace_state& state) {
  if (!object.is_object()) throw bad_trace(line, "a node is not a JSON object.");
  const trace_name name = record(object, line, "a node").name("n");
  const record r(object, line, "node " + name.text());
  trace_node_state n;
  n.level = static_cast<std::uint32_t>(r.number("level", 255));
  if (n.is_inner() != name.inner) r.refuse("has a level that does not fit its name");
  n.version = r.number32("version");
  n.dead = r.flag("dead");
  if (!r.at("right").is_null()) {
    const trace_name right = r.name("right");
    if (right.inner != name.inner) r.refuse("has a right neighbour of another kind");
    n.right = right.id;
  }
  n.high = r.limit("high");
  for (const json& k : r.list("keys")) n.keys.push_back(r.key_of(k, "keys"));
  if (header.is_linked() && n.keys.size() > header.slots) r.refuse("has more keys than slots");
  for (std::size_t i = 1; i < n.keys.size(); ++i) {
    if (n.keys[i] <= n.keys[i - 1]) r.refuse("has keys that do not ascend");
  }
  if (n.is_inner()) read_children(r, header, n);
  if (r.has("kind")) n.kind = static_cast<trace_node_kind>(r.choice("kind", detail::trace_node_kind_names));
  if (r.has("prefix")) n.prefix = r.text("prefix").substr(0, 100);
  if (!state.nodes.emplace(name, std::move(n)).second) r.refuse("is there twice");
}

/// Every name in a state refers to a node in it, of the same level or, for children, of a lower one, so that there are
/// no cycles.
void require_closed(const trace_state& state, std::uint64_t line, const trace_header& header) {
  if (state.find(state.root) == nullptr) throw bad_trace(line, "the state has no root.");
  const auto level_of = [&](trace_name from, trace_name to) {
    const trace_node_state* node = state.find(to);
    if (node == nullptr) throw bad_trace(line, "node " + from.text() + " names " + to.text() + ", which is not there.");
    return node->level;
  };
  for (const auto& [name, n] : state.nodes) {
    if (n.right != trace_node_state::none && level_of(name, {n.right, name.inner}) != n.level)
      throw bad_trace(line, "node " + name.text() + " has a right neighbour of another level.");
    for (const trace_name child : n.children) {
      const std::uint32_t below = level_of(name, child);
      if (below >= n.level || (header.is_linked() && below + 1 != n.level))
        throw bad_trace(line, "node " + name.text() + " has a child that is not of the next level.");
    }
  }
}

trace_state read_state(const json& object, std::uint64_t line, const trace_header& header) {
  if (!object.is_object()) throw bad_trace(line, "the state is not a JSON object.");
  const record r(object, line, "the state");
  trace_state state;
  state.root = r.name("root");
  for (const json& n : r.list("nodes")) read_node(n, line, header, state);
  for (const json& entry : r.list("lane")) {
    const record e(entry, line, "an entry of the lane");
    state.lane.push_back({e.limit("high"), e.name("leaf").id});
  }
  require_closed(state, line, header);
  return state;
}

// ---- lines -------------------------------------------------------------------------------------------------

trace_header read_header(const json& object, std::uint64_t line) {
  const record r(object, line, "the header");
  if (!r.has("trace") || r.at("trace") != "espalier")
    throw bad_trace(line, "this is no trace of espalier: its first line has no \"trace\":\"espalier\".");
  if (r.number("format", 1'000'000) != trace_header::format)
    r.refuse("has a format of another version: this espalier reads format " + std::to_string(trace_header::format));
  trace_header h;
  static const char* const indexes[] = {"blink", "radix", "static", "hybrid"};
  static const char* const protocols[] = {"link", "couple", "none"};
  static const char* const uppers[] = {"classic", "express"};
  static const char* const devices[] = {"cpu", "gpu"};
  static const char* const clocks[] = {"ns", "step"};
  h.index = indexes[r.choice("index", indexes)];
  h.protocol = protocols[r.choice("protocol", protocols)];
  if (r.has("upper")) h.upper = uppers[r.choice("upper", uppers)];
  h.slots = static_cast<unsigned>(r.number("slots", 4096));
  if (r.text("key") != "u64") r.refuse("has keys of another type than u64");
  h.key = "u64";
  h.device = devices[r.choice("device", devices)];
  h.team = r.text("team").substr(0, 100);
  h.clock = clocks[r.choice("clock", clocks)];
  if (r.has("title")) h.title = r.text("title").substr(0, 200);
  return h;
}

class event_reader {
 public:
  event_reader(recorded_trace& trace, const trace_replay& replay) : trace_(trace), replay_(replay) {}

  trace_event operator()(const json& object, std::uint64_t line) {
    const std::uint64_t i = trace_.events.size();
    const record r(object, line, "event " + std::to_string(i));
    if (r.number("i", std::uint64_t{1} << 53) != i)
      r.refuse("has another number as 'i': events are counted from 0 without gaps");
    trace_event e;
    e.time = r.number("t", std::uint64_t{1} << 53);
    if (i != 0 && e.time < trace_.events.back().time) r.refuse("is earlier than the one before");
    e.team = r.number32("w");
    e.kind = static_cast<trace_kind>(r.choice("e", detail::trace_kind_names));
    if (e.kind == trace_kind::begin || e.kind == trace_kind::end) {
      operation(e, r);
    } else if (e.kind == trace_kind::state) {
      e.what = r.choice("why", detail::trace_state_why_names);
      e.other = static_cast<std::uint32_t>(trace_.states.size());
      trace_.states.push_back(read_state(r.at("state"), line, trace_.header));
    } else {
      at_node(e, r);
    }
    return e;
  }

 private:
  static void operation(trace_event& e, const record& r) {
    e.what = r.choice("op", detail::trace_op_names);
    const bool range = e.what == static_cast<unsigned>(trace_op::range);
    if (e.kind == trace_kind::begin) {
      e.key = r.key("key");
      if (range) e.key2 = r.limit("to");
    } else {
      e.at = r.choice("result", detail::trace_result_names);
      if (range) e.key2 = r.number("count", std::uint64_t{1} << 53);
    }
  }
  void at_node(trace_event& e, const record& r) {
    const trace_name name = r.name("n");
    const trace_node_state* node = replay_.state().find(name);
    if (node == nullptr && !may_be_absent(e.kind))
      r.refuse("is about " + name.text() + ", which does not exist at this moment");
    e.node = name.id;
    e.level = node != nullptr ? static_cast<std::uint8_t>(node->level) : std::uint8_t{name.inner};
    switch (e.kind) {
      case trace_kind::reach:
        e.what = r.choice("by", detail::trace_by_names);
        break;
      case trace_kind::retry:
        e.what = r.choice("why", detail::trace_why_names);
        break;
      case trace_kind::latch:
      case trace_kind::unlatch:
        e.other = r.number32("version");
        break;
      case trace_kind::insert:
      case trace_kind::erase:
      case trace_kind::assign:
      case trace_kind::post:
      case trace_kind::drop:
        at_slot(e, r);
        break;
      case trace_kind::kind:
        e.other = same_kind(e, r, "new");
        e.at = static_cast<std::uint32_t>(r.choice("from", detail::trace_node_kind_names) << 8 |
                                          r.choice("to", detail::trace_node_kind_names));
        e.other2 = r.has("version") ? r.number32("version") : node->version;
        if (r.has("above")) e.key = trace_above::of(inner(r, "above"));
        break;
      case trace_kind::leaf:
        e.key = r.key("key");
        break;
      case trace_kind::branch:
      case trace_kind::join:
        between(e, r);
        break;
      default:
        structure(e, r);
    }
  }
  /// New leaves may be absent from the state, and so may nodes of a radix tree that were replaced during a team's
  /// descent.
  [[nodiscard]] bool may_be_absent(trace_kind kind) const {
    return trace_.header.index == "radix" &&
           (kind == trace_kind::leaf || kind == trace_kind::reach || kind == trace_kind::retry);
  }
  void at_slot(trace_event& e, const record& r) const {
    e.at = r.number32("at");
    e.key = r.key("key");
    if (e.kind != trace_kind::post && e.kind != trace_kind::drop) return;
    const trace_name child = r.name("child");
    if (e.kind == trace_kind::drop && child.inner) r.refuse("drops a node that is no leaf");
    if (trace_.header.index != "radix" && child.inner != (e.level > 1)) r.refuse("posts a child of another level");
    e.other = child.id;
    e.leaf_child = trace_.header.index == "radix" && e.kind == trace_kind::post && !child.inner ? 1 : 0;
  }
  /// A node of a radix tree is inserted between two others, or removed.
  static void between(trace_event& e, const record& r) {
    e.at = r.number32("at");
    e.other = inner(r, e.kind == trace_kind::branch ? "new" : "gone");
    if (e.kind == trace_kind::branch) e.key = r.number("level", 255);
    const trace_name child = r.name("child");
    e.other2 = child.id;
    e.leaf_child = child.inner ? 0 : 1;
  }
  static std::uint32_t inner(const record& r, const char* member) {
    const trace_name n = r.name(member);
    if (!n.inner) r.refuse(std::string("names a leaf as '") + member + '\'');
    return n.id;
  }
  /// Splits, the steps that follow them, and merges.
  static void structure(trace_event& e, const record& r) {
    const bool merges = e.kind == trace_kind::merge, grows = e.kind == trace_kind::grow;
    e.at = r.number32(merges ? "count" : "keep");
    if (grows) {
      e.other = same_kind(e, r, "left");
      e.other2 = same_kind(e, r, "right");
      e.key = r.key("key");
      e.key2 = r.limit("high");
      return;
    }
    e.other = same_kind(e, r, merges ? "dead" : e.kind == trace_kind::link ? "right" : "new");
    if (e.kind != trace_kind::split) e.key = r.limit("high");
  }
  /// Reads the name of a node of the same kind (leaf or inner) as that of the event.
  static std::uint32_t same_kind(const trace_event& e, const record& r, const char* member) {
    const trace_name other = r.name(member);
    if (other.inner != (e.level != 0)) r.refuse(std::string("names a node of another level as '") + member + '\'');
    return other.id;
  }

  recorded_trace& trace_;
  const trace_replay& replay_;
};

/// The lines with their numbers, within the limits.
class line_source {
 public:
  line_source(std::istream& in, const trace_limits& limits) : in_(in), limits_(limits) {}
  [[nodiscard]] std::uint64_t line() const { return line_; }
  /// Returns false at the end.
  bool next(json& object) {
    std::string text;
    ++line_;
    if (!std::getline(in_, text)) return false;
    bytes_ += text.size() + 1;
    if (bytes_ > limits_.bytes)
      throw bad_trace(line_,
                      "the trace has more than " + std::to_string(limits_.bytes >> 20) + " MiB: record fewer events.");
    object = json::parse(text, nullptr, false);
    if (object.is_discarded()) throw bad_trace(line_, "this is no JSON.");
    if (!object.is_object()) throw bad_trace(line_, "this is not a JSON object.");
    return true;
  }

 private:
  std::istream& in_;
  const trace_limits& limits_;
  std::uint64_t line_ = 0, bytes_ = 0;
};

void read_end(const json& object, std::uint64_t line, recorded_trace& trace, const trace_replay& replay) {
  const record r(object, line, "the end line");
  if (r.number("events", std::uint64_t{1} << 53) != trace.events.size())
    r.refuse("counts other events than the " + std::to_string(trace.events.size()) + " above it");
  trace.lost = r.number("lost", std::uint64_t{1} << 53);
  if (r.has("left_out")) trace.left_out = r.text("left_out").substr(0, 1000);
  trace.final = read_state(r.at("final"), line, trace.header);
  if (trace.lost == 0 && !(trace.final == replay.state()))
    r.refuse("has a final tree that is not the one that the events lead to");
}

}  // namespace

recorded_trace read_trace(std::istream& in, const trace_limits& limits) {
  line_source lines(in, limits);
  json object;
  if (!lines.next(object)) throw bad_trace(1, "the trace is empty.");
  recorded_trace trace;
  trace.header = read_header(object, 1);
  trace.start = read_state(record(object, 1, "the header").at("start"), 1, trace.header);
  trace_replay replay(trace);
  event_reader read_event(trace, replay);
  while (lines.next(object)) {
    if (object.contains("end")) {
      read_end(object, lines.line(), trace, replay);
      if (lines.next(object)) throw bad_trace(lines.line(), "there is something behind the end line.");
      return trace;
    }
    if (trace.events.size() == limits.events)
      throw bad_trace(lines.line(),
                      "the trace has more than " + std::to_string(limits.events) + " events: record fewer.");
    trace.events.push_back(read_event(object, lines.line()));
    try {
      replay.step();
    } catch (const bad_trace&) {
      throw;
    } catch (const error& e) {
      throw bad_trace(lines.line(), "event " + std::to_string(trace.events.size() - 1) + ": " + e.what());
    }
  }
  throw bad_trace(lines.line(), "the trace stops before its end line: it was not written to the end.");
}

recorded_trace read_trace_file(const std::string& path, const trace_limits& limits) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw error("the trace '" + path + "' cannot be opened.");
  try {
    return read_trace(in, limits);
  } catch (const bad_trace& e) {
    throw error("the trace '" + path + "', " + e.what());
  }
}

}  // namespace espalier::explorer
