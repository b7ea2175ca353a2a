// answers.cpp - see answers.hpp. The library writes events and states; the JSON around them is assembled as text.
#include "explorer/answers.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "explorer/questions.hpp"
#include "explorer/read_trace.hpp"

namespace espalier::explorer {

namespace {

using nlohmann::json;
using guard = std::lock_guard<std::mutex>;

std::uint64_t position_of(const source& s, std::optional<std::uint64_t> at) {
  const std::uint64_t last = s.trace().events.size();
  if (at && *at > last)
    throw bad_request("There is no position " + std::to_string(*at) + ": the last one is " + std::to_string(last) +
                      '.');
  return at.value_or(last);
}
std::string text_of(const trace_state& state) {
  std::ostringstream out;
  write_state(out, state);
  return out.str();
}
/// Returns the members of an object without the braces.
std::string members(const json& object) {
  const std::string text = object.dump();
  return text.substr(1, text.size() - 2);
}
void write_events(std::ostream& out, const recorded_trace& trace, std::uint64_t from, std::uint64_t to) {
  for (std::uint64_t i = from; i < to; ++i) {
    if (i != from) out << ',';
    write_event(out, trace, i);
  }
}
std::string about(const source& s) {
  std::ostringstream out;
  const recorded_trace& trace = s.trace();
  json object{{"id", s.id}, {"title", s.title}, {"events", trace.events.size()}, {"lost", trace.lost}};
  object["nodes"] = trace.start.nodes.size();
  if (!trace.left_out.empty()) object["left_out"] = trace.left_out;
  out << '{' << members(object) << ",\"header\":";
  write_header(out, trace.header, nullptr);
  out << '}';
  return out.str();
}
json names_of(const std::vector<trace_name>& names) {
  json list = json::array();
  for (const trace_name n : names) list.push_back(n.text());
  return list;
}

json result_of(const live_step& step, const live_outcome& outcome) {
  json result{{"op", detail::trace_op_names[static_cast<unsigned>(step.op)]}, {"n", step.keys.size()}};
  if (step.op == trace_op::range) {
    result["count"] = outcome.count;
    result["keys"] = json::array();
    for (const std::uint64_t k : outcome.found) result["keys"].push_back(std::to_string(k));
    return result;
  }
  result["done"] = outcome.done;
  result["unchanged"] = outcome.unchanged;
  result["no_room"] = outcome.out_of_nodes;
  return result;
}

}  // namespace

std::string info_answer(registry& all, const std::string& index) {
  const live_limits& l = all.limits();
  json info{{"name", "espalier"}, {"version", ESPALIER_VERSION}, {"index", index}, {"format", trace_header::format}};
  info["device"] = all.get_device().kind() == device_kind::cpu ? "cpu" : "gpu";
  info["limits"] = {{"sessions", l.sessions},
                    {"keys_per_call", l.keys_per_call},
                    {"threads", l.threads},
                    {"events_per_session", l.events_per_session},
                    {"keys_per_session", l.keys_per_session},
                    {"state_nodes", l.state_nodes},
                    {"events_per_page", l.events_per_page},
                    {"calls_per_second", l.calls_per_second}};
  info["live"] = json::array();
  for (const live_choice& c : live_choices(all.get_device().kind())) {
    json line{{"index", c.index}, {"protocol", c.protocol}, {"slots", c.slots}};
    if (!c.upper.empty()) line["upper"] = c.upper;
    info["live"].push_back(std::move(line));
  }
  std::string sources;
  for (const auto& s : all.all()) {
    const guard lock(s->mutex);
    if (!sources.empty()) sources += ',';
    sources += about(*s);
  }
  return '{' + members(info) + ",\"sources\":[" + sources + "]}";
}

std::string source_answer(source& s) {
  const guard lock(s.mutex);
  return about(s);
}

std::string events_answer(source& s, std::uint64_t from, std::uint64_t count) {
  const guard lock(s.mutex);
  const std::uint64_t total = s.trace().events.size();
  if (from > total)
    throw bad_request("There is no event " + std::to_string(from) + ": the trace has " + std::to_string(total) + '.');
  std::ostringstream out;
  out << "{\"from\":" << from << ",\"total\":" << total << ",\"events\":[";
  write_events(out, s.trace(), from, std::min(total, from + count));
  out << "]}";
  return out.str();
}

std::string state_answer(source& s, std::optional<std::uint64_t> at, const live_limits& limits) {
  const guard lock(s.mutex);
  const std::uint64_t position = position_of(s, at);
  const trace_state& state = s.state_at(position);
  if (state.nodes.size() > limits.state_nodes)
    throw refused(413, "The tree has " + std::to_string(state.nodes.size()) + " nodes, more than the " +
                           std::to_string(limits.state_nodes) +
                           " that are sent at once: ask for its summary and for the surroundings of a node.");
  return "{\"at\":" + std::to_string(position) + ",\"state\":" + text_of(state) + '}';
}

std::string summary_answer(source& s, std::optional<std::uint64_t> at, std::uint64_t cells) {
  const guard lock(s.mutex);
  const std::uint64_t position = position_of(s, at);
  const tree_summary summary = summarise(s.state_at(position), s.levels_at(position), s.trace().header, cells);
  json answer{{"at", position}, {"keys", summary.keys}, {"nodes", summary.nodes}, {"levels", json::array()}};
  for (const level_summary& level : summary.levels) {
    json list = json::array();
    for (const fill_cell& c : level.cells) {
      list.push_back({{"first", c.first.text()},
                      {"nodes", c.nodes},
                      {"low", std::to_string(c.low)},
                      {"fill", c.fill},
                      {"dead", c.dead},
                      {"latched", c.latched},
                      {"unposted", c.unposted}});
    }
    answer["levels"].push_back({{"level", level.level}, {"nodes", level.nodes}, {"cells", std::move(list)}});
  }
  return answer.dump();
}

std::string around_answer(source& s, std::optional<std::uint64_t> at, const std::string& name, std::uint64_t reach) {
  const std::optional<trace_name> n = trace_name::of(name);
  if (!n) throw bad_request("'n' is the name of a node, such as l5 or i0.");
  const guard lock(s.mutex);
  const std::uint64_t position = position_of(s, at);
  const trace_state& state = s.state_at(position);
  if (state.find(*n) == nullptr) throw refused(404, "There is no node " + name + " at this moment.");
  const surroundings found = around(state, s.levels_at(position), *n, reach);
  const json rest{{"at", position},
                  {"n", name},
                  {"left", names_of(found.left)},
                  {"right", names_of(found.right)},
                  {"more_left", found.more_left},
                  {"more_right", found.more_right}};
  return '{' + members(rest) + ",\"state\":" + text_of(found.part) + '}';
}

std::string path_answer(source& s, std::optional<std::uint64_t> at, std::uint64_t key) {
  const guard lock(s.mutex);
  const std::uint64_t position = position_of(s, at);
  const trace_state& state = s.state_at(position);
  const key_path path = path_to(state, key);
  json steps = json::array();
  trace_state part;
  part.root = state.root;
  for (const path_step& step : path.steps) {
    steps.push_back({{"n", step.node.text()}, {"by", step.by}});
    part.nodes.emplace(step.node, *state.find(step.node));
  }
  const json rest{{"at", position}, {"key", std::to_string(key)}, {"found", path.found}, {"path", std::move(steps)}};
  return '{' + members(rest) + ",\"state\":" + text_of(part) + '}';
}

std::string run_answer(source& s, const live_run& run, const live_limits& limits) {
  if (!s.is_live()) throw refused(404, "'" + s.id + "' is a trace from a file, not a live session.");
  const std::unique_lock lock(s.mutex, std::try_to_lock);
  if (!lock) throw refused(409, "The session is at work: wait until it has answered.");
  const auto is_full = [&] { return s.trace().lost != 0 || s.trace().events.size() >= limits.events_per_session; };
  if (is_full())
    throw refused(409, "The session has reached its limit of events: download its trace, or create a new session.");
  const std::uint64_t from = s.trace().events.size();
  json results = json::array();
  for (const live_step& step : run.steps) {
    if (is_full()) break;
    if (step.maintain) {
      s.maintain();
      results.push_back({{"op", "maintain"}, {"n", 0}});
    } else {
      results.push_back(result_of(step, s.run({step.op, step.keys, step.to, run.threads}, limits)));
    }
  }
  const std::uint64_t total = s.trace().events.size();
  std::ostringstream out;
  out << "{\"from\":" << from << ",\"total\":" << total << ",\"lost\":" << s.trace().lost << ",\"events\":[";
  write_events(out, s.trace(), from, std::min(total, from + limits.events_per_page));
  out << "],\"results\":" << results.dump() << '}';
  return out.str();
}

std::string check_answer(const std::string& text) {
  std::istringstream in(text);
  const recorded_trace trace = read_trace(in);
  std::ostringstream out;
  out << "{\"ok\":true,\"events\":" << trace.events.size() << ",\"lost\":" << trace.lost << ",\"header\":";
  write_header(out, trace.header, nullptr);
  out << '}';
  return out.str();
}

trace_download::trace_download(std::shared_ptr<source> from) : source_(std::move(from)) {
  const guard lock(source_->mutex);
  const recorded_trace& trace = source_->trace();
  events_ = trace.events.size();
  std::ostringstream begin, end;
  write_header(begin, trace.header, &trace.start);
  begin << '\n';
  begin_ = begin.str();
  // A trace from a file keeps its final tree, even if events were lost before it.
  write_end(end, events_, trace.lost, trace.left_out, source_->is_live() ? source_->state_at(events_) : trace.final);
  end_ = end.str();
}

std::string trace_download::next() {
  if (!begin_.empty()) return std::exchange(begin_, {});
  if (sent_ == events_) return std::exchange(end_, {});
  const guard lock(source_->mutex);
  const std::uint64_t last = std::min(events_, sent_ + 5000);
  std::ostringstream out;
  for (; sent_ < last; ++sent_) {
    write_event(out, source_->trace(), sent_);
    out << '\n';
  }
  return out.str();
}

}  // namespace espalier::explorer
