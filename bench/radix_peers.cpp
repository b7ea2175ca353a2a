// radix_peers.cpp - see radix_peers.hpp.
#include "bench/radix_peers.hpp"

#include <absl/container/btree_map.h>
#include <absl/strings/string_view.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "bench/cpu_peer.hpp"
#include "bench/peer.hpp"
#include "bench/timing.hpp"

namespace espalier::bench {
namespace {

using string_map = std::map<std::string, std::uint64_t, std::less<>>;
/// Its own order of strings compares once where std::less<> compares twice, and takes views too.
using string_btree = absl::btree_map<std::string, std::uint64_t>;

template <class Map>
Map filled(const radix_data& data) {
  Map map;
  const auto values = data.values().as<const std::uint64_t>();
  for (std::size_t i = 0; i < values.size(); ++i) map.emplace(std::string(data.keys()[i]), values[i]);
  return map;
}

/// Seconds of finding the keys of the first questions, after a check of the answers.
template <class Map, class View>
peer_result measure_map(const std::string& name, const options& what, const radix_data& data,
                        const radix_questions& questions, const answers& expected, unsigned thread_count) {
  const Map map = filled<Map>(data);
  const std::size_t n = std::min(questions.size(), most_peer_queries);
  const answers out = make_radix_answers(operation::find, n);
  for (const auto& c : out) c.poison();
  const auto values = out[0].as<std::uint64_t>();
  const auto found = out[1].as<std::uint8_t>();
  worker_threads threads(thread_count);
  const auto find_all = [&] {
    threads.for_pieces(n, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) {
        const std::string_view key = questions.keys[i];
        const auto at = map.find(View(key.data(), key.size()));
        const bool hit = at != map.end();
        values[i] = hit ? at->second : 0;
        found[i] = hit ? 1 : 0;
      }
    });
  };
  find_all();
  if (auto wrong = difference(operation::find, questions, expected, out, name, n)) throw wrong_answer(*wrong);
  const double seconds = median_seconds(what.repeat, [&](std::size_t k) {
    for (std::size_t i = 0; i < k; ++i) find_all();
  });
  return {name, seconds, n};
}

}  // namespace

void add_radix_peers(operation op, const options& what, const radix_data& data, const radix_questions& questions,
                     const answers& expected, const device& where, row& r) {
  for (const auto& name : what.peers) {
    const map_choice choice = choose_map(what, name, "radix", where.kind(), r.keys);
    if (!choice.note.empty()) r.notes.push_back(choice.note);
    if (!choice.measured) continue;
    if (op != operation::find) {
      if (what.peers_named) r.inapplicable_peers.push_back(name);
      continue;
    }
    const auto measure =
        name == "std-map" ? measure_map<string_map, std::string_view> : measure_map<string_btree, absl::string_view>;
    peer_result result = measure(name, what, data, questions, expected, where.threads());
    if (r.seconds > 0 && result.queries > 0) {
      result.ratio =
          result.seconds / static_cast<double>(result.queries) / (r.seconds / static_cast<double>(r.queries));
    }
    r.peers.push_back(std::move(result));
  }
}

}  // namespace espalier::bench
