// static_measurement_peers.cpp - the same work by the peers, compared with the index's results and timed in the same
// way.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bench/harness/timing.hpp"
#include "bench/index/static/static_measurement.hpp"

namespace espalier::bench {
namespace {

/// Up to this size peers are kept for the next operation; larger ones are freed immediately, to leave memory for
/// others.
constexpr std::uint64_t most_kept_keys = std::uint64_t{1} << 24;

std::uint64_t elements_of(operation op, const query_view& view, std::size_t queries) {
  std::uint64_t total = 0;
  if (op == operation::range) {
    for (std::size_t i = 0; i < queries; ++i) total += view.ranges->last[i] - view.ranges->first[i];
  }
  return total;
}

}  // namespace

static_measurement::prepared_peer* static_measurement::peer_named(const std::string& name, row& r) {
  if (const auto known = peers_.find(name); known != peers_.end()) return &known->second;
  const peer_entry* const entry = known_peer(name, index_kind::static_tree, device_.kind());
  if (entry == nullptr) {
    if (what_.peers_named) r.notes.push_back(fmt::format("{}: skipped, not a peer on a {}", name, r.device));
    return nullptr;
  }
  if (data_.keys.size() > entry->most_keys && !what_.force_peers) {
    r.notes.push_back(
        fmt::format("{}: skipped above {} keys (--force-peers measures it)", name, size_text(entry->most_keys)));
    return nullptr;
  }
  auto made = is_gpu() ? make_gpu_peer(name, data_, device_) : make_cpu_peer(name, data_, device_.threads());
  if (made == nullptr) {
    r.notes.push_back(fmt::format("{}: skipped, not compiled for {}/{}", name, r.key_type, r.value_type));
    return nullptr;
  }
  return &(peers_[name] = prepared_peer{std::move(made), false});
}

void static_measurement::add_peers(operation op, row& r, const inputs& in, const answers& ours) {
  for (const auto& name : what_.peers) {
    prepared_peer* p = peer_named(name, r);
    if (p == nullptr) continue;
    if (p->it->answers(op)) {
      if (!p->prepared) p->it->prepare();
      p->prepared = true;
      if (const std::string note = note_of_one_thread(op, name, device_.threads()); !note.empty())
        r.notes.push_back(note);
      op == operation::visit ? add_visitor(r, name, *p->it) : add_peer(op, r, in, ours, name, *p->it);
    } else if (what_.peers_named) {
      r.inapplicable_peers.push_back(name);
    }
    if (data_.keys.size() > most_kept_keys) peers_.erase(name);
  }
}

void static_measurement::add_visitor(row& r, const std::string& name, peer& p) const {
  const double seconds = seconds_of_visit(p, name, checksum_of(data_), what_.repeat, device_.default_stream());
  r.peers.push_back({name, seconds, r.keys, r.seconds > 0 ? seconds / r.seconds : 0});
}

void static_measurement::add_peer(operation op, row& r, const inputs& in, const answers& ours, const std::string& name,
                                  peer& p) const {
  const query_view view = in.view(op);
  const double mean =
      static_cast<double>(r.range_elements) / static_cast<double>(std::max<std::uint64_t>(r.queries, 1));
  const std::size_t queries = p.sample(op, view.size(), mean);
  const std::uint64_t elements = elements_of(op, view, queries);
  const device_answers out(make_answers(op, data_.spec, queries, elements), device_);
  request q{in.keys.data(), in.hi.data(), queries, out.pointers(), elements, {}, true, device_.default_stream()};
  if (op == operation::build) q.keys = keys_.data(), q.hi = values_.data();

  out.poison();
  if (op == operation::range) out.put(0, ours[0]);
  p.run(op, q);
  if (auto wrong = difference(op, data_.spec, view, ours, out.fetch(), name, queries)) {
    throw cli::wrong_answer(*wrong);
  }

  q.wait = !is_gpu();
  const double seconds = median_seconds(what_.repeat, [&](std::size_t k) {
    for (std::size_t i = 0; i < k; ++i) p.run(op, q);
    if (!q.wait) q.order.synchronize();
  });
  const double share = view.size() == 0 ? 1 : static_cast<double>(queries) / static_cast<double>(view.size());
  const std::uint64_t work = takes_no_queries(op) ? r.keys : queries;
  r.peers.push_back({name, seconds, work, r.seconds > 0 && share > 0 ? seconds / share / r.seconds : 0});
}

}  // namespace espalier::bench
