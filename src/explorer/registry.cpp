// registry.cpp - see registry.hpp.
#include "explorer/registry.hpp"

#include <algorithm>

namespace espalier::explorer {

namespace {

using clock = std::chrono::steady_clock;
constexpr auto idle = std::chrono::minutes(30);

std::string title_of(const trace_header& header) {
  std::string title = "live " + header.index;
  if (header.protocol != "none") title += ", " + header.protocol;
  if (!header.upper.empty()) title += ", " + header.upper;
  return title + ", " + std::to_string(header.slots) + " slots";
}

/// Leaves are filled as by a build. In a radix tree each key is a leaf and may need a node above it.
std::uint64_t keys_in_two_leaves(const live_request& request) {
  if (request.index == "radix") return 1;
  if (request.protocol.empty() ? request.index != "blink" : request.protocol == "none") return 8;
  const std::uint64_t slots = request.slots != 0 ? request.slots : request.index == "hybrid" ? 12 : 8;
  return slots * 3 / 2;
}

}  // namespace

void registry::add_trace(const std::string& title, recorded_trace trace) {
  const std::lock_guard lock(mutex_);
  const std::string id = "t" + std::to_string(++traces_);
  sources_[id] = std::make_shared<source>(id, title, std::move(trace));
}

void registry::make_place(std::uint64_t keys) {
  const auto sessions = [&] {
    return being_made_ + static_cast<std::uint64_t>(std::count_if(sources_.begin(), sources_.end(),
                                                                  [](const auto& s) { return s.second->is_live(); }));
  };
  const auto filled = [&] {
    std::uint64_t sum = keys_being_made_ + keys;
    for (const auto& [id, s] : sources_) sum += s->filled;
    return sum;
  };
  for (auto s = sources_.begin(); s != sources_.end();) {
    const bool full = sessions() >= limits_.sessions || filled() > limits_.keys_in_all;
    const bool rests = s->second->is_live() && clock::now() - s->second->last_used.load() > idle;
    s = full && rests ? sources_.erase(s) : std::next(s);
  }
  if (sessions() >= limits_.sessions)
    throw refused(429, "There are " + std::to_string(limits_.sessions) + " live sessions already: delete one first.");
  if (filled() > limits_.keys_in_all)
    throw refused(429, "The live sessions hold too many keys together: delete one, or fill in fewer.");
}

std::shared_ptr<source> registry::create(live_request request) {
  const std::uint64_t keys = request.keys.size();
  const std::uint64_t most =
      std::min(limits_.keys_per_session, limits_.nodes_per_session * keys_in_two_leaves(request) / 2);
  if (keys > most)
    throw refused(400, "A " + request.index + " tree begins with " + std::to_string(most) + " keys at most.");
  {
    const std::lock_guard lock(mutex_);
    make_place(keys);
    ++being_made_;
    keys_being_made_ += keys;
  }
  struct made {
    registry& all;
    std::uint64_t keys;
    ~made() {
      const std::lock_guard lock(all.mutex_);
      --all.being_made_;
      all.keys_being_made_ -= keys;
    }
  };
  const made done{*this, keys};
  std::unique_ptr<live_tree> tree = make_live_tree(device_, std::move(request));
  const std::string title = title_of(tree->header());
  std::string id;
  {
    const std::lock_guard lock(mutex_);
    id = "s" + std::to_string(++sessions_made_);
  }
  auto session = std::make_shared<source>(id, title, std::move(tree), keys);
  const std::lock_guard lock(mutex_);
  return sources_[id] = std::move(session);
}

std::shared_ptr<source> registry::at(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = sources_.find(id);
  if (found == sources_.end()) {
    throw refused(404, "There is no source '" + id + "': it was deleted, or the explorer was restarted.");
  }
  found->second->last_used = clock::now();
  return found->second;
}

std::vector<std::shared_ptr<source>> registry::all() {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<source>> list;
  for (const auto& [id, s] : sources_) list.push_back(s);
  return list;
}

void registry::remove_session(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = sources_.find(id);
  if (found == sources_.end() || !found->second->is_live()) throw refused(404, "There is no session '" + id + "'.");
  sources_.erase(found);
}

void registry::take_turn() {
  const std::lock_guard lock(mutex_);
  const auto now = clock::now();
  while (!calls_.empty() && now - calls_.front() > std::chrono::seconds(1)) calls_.pop_front();
  if (calls_.size() >= limits_.calls_per_second)
    throw refused(429, "That is more than " + std::to_string(limits_.calls_per_second) +
                           " calls in a second: wait a moment and try again.");
  calls_.push_back(now);
}

}  // namespace espalier::explorer
