// radix_peers.cpp - see radix_peers.hpp.
#include "bench/peers/radix_peers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "bench/data/string_batches.hpp"
#include "bench/harness/timing.hpp"
#include "bench/peers/cpu_string_peer.hpp"
#include "bench/peers/fixed_table.hpp"
#include "bench/peers/grt_image.hpp"
#include "bench/peers/peer.hpp"

namespace espalier::bench {

#ifdef ESPALIER_HAS_CUDA
// Defined in gpu_grt_peer.cu and gpu_fixed_table_peer.cu.
std::unique_ptr<string_peer> make_gpu_grt_peer(const radix_data& data, const device& dev);
std::unique_ptr<string_peer> make_gpu_fixed_table_peer(const radix_data& data, const device& dev);
#endif

namespace {

std::unique_ptr<string_peer> make_string_peer(const std::string& name, const radix_data& data, const string_maps& maps,
                                              const device& dev) {
#ifdef ESPALIER_HAS_CUDA
  if (dev.kind() == device_kind::cuda) {
    return name == "grt-like" ? make_gpu_grt_peer(data, dev) : make_gpu_fixed_table_peer(data, dev);
  }
#endif
  if (string_maps::knows(name)) return maps.peer(name, dev.threads());
  if (name == "fixed-table") return make_cpu_fixed_table_peer(data, dev);
  return std::make_unique<cpu_string_peer<grt_image>>(std::make_shared<grt_image>(data), dev.threads());
}

bool has_peers(operation op) { return op == operation::find || op == operation::update; }

/// Peers on a GPU execute all queries; those on a CPU, which may be slow, as many as determine their rate.
std::size_t asked_of(const device& dev, std::size_t queries) {
  return dev.kind() == device_kind::cuda ? queries : std::min(queries, most_peer_queries);
}

/// Returns the expected results of finding the elements of a batch after it has updated them.
answers updated_elements(const radix_batch& batch, const answers& after) {
  answers out = make_radix_answers(operation::find, batch.elements.size());
  for (std::size_t i = 0; i < batch.elements.size(); ++i) {
    const std::uint64_t number = batch.elements.numbers[i];
    const bool there = number < after[0].size();
    out[0].as<std::uint64_t>()[i] = there ? after[0].as<std::uint64_t>()[number] : 0;
    out[1].as<std::uint8_t>()[i] = there ? 1 : 0;
  }
  return out;
}

template <class T>
T* from(void* p, std::size_t first) {
  return p == nullptr ? nullptr : static_cast<T*>(p) + first;
}

}  // namespace

std::vector<std::string> radix_peers::maps_wanted(const options& what, device_kind dev, std::uint64_t keys) {
  std::vector<std::string> names;
  const auto& ops = what.operations;
  if (std::none_of(ops.begin(), ops.end(), [](operation op) { return has_peers(op); })) return names;
  for (const auto& name : what.peers) {
    const bool measured = choose_peer(what, name, index_kind::radix, dev, keys).measured;
    if (measured && dev == device_kind::cpu && string_maps::knows(name)) names.push_back(name);
  }
  return names;
}

string_peer& radix_peers::peer_of(const std::string& name) {
  auto& at = filled_[name];
  if (!at) at = make_string_peer(name, data_, maps_, device_);
  return *at;
}

template <class Measure>
void radix_peers::for_each_peer(row& r, const Measure& measure) {
  for (const auto& name : what_.peers) {
    const peer_choice choice = choose_peer(what_, name, index_kind::radix, device_.kind(), r.keys);
    if (!choice.note.empty()) r.notes.push_back(choice.note);
    if (!choice.measured) continue;
    std::optional<peer_result> result = measure(name, peer_of(name));
    if (!result) continue;
    if (r.seconds > 0 && result->queries > 0) {
      result->ratio =
          result->seconds / static_cast<double>(result->queries) / (r.seconds / static_cast<double>(r.queries));
    }
    r.peers.push_back(std::move(*result));
  }
}

void radix_peers::add_points(operation op, const radix_questions& questions, const answers& expected,
                             const point_asking& how, row& r) {
  if (!has_peers(op)) return add_none(r);
  for_each_peer(r, [&](const std::string& name, string_peer& peer) -> std::optional<peer_result> {
    const std::size_t n = asked_of(device_, questions.size());
    const std::size_t batch = std::min<std::size_t>(how.batch, std::max<std::size_t>(n, 1));
    const string_batches batches(questions.keys, questions.one_length, batch, device_, how.place);
    const device_answers out(make_radix_answers(op, questions.size()), device_, how.place);
    const askers who(device_, how.streams);
    const std::size_t asked = std::min((n + batch - 1) / std::max<std::size_t>(batch, 1), batches.size());
    const std::size_t answered = asked == batches.size() ? questions.size() : batches.first(asked);
    const auto ask = [&](std::size_t b, const stream& order) {
      const auto to = out.pointers();
      peer.find(batches[b].raw(), from<std::uint64_t>(to[0], batches.first(b)),
                from<std::uint8_t>(to[1], batches.first(b)), order);
    };
    out.poison();
    const stopwatch watch;
    who.run(1, asked, ask);
    const double first = watch.seconds();
    if (auto wrong = difference(op, questions.keys, expected, out.fetch(), name, answered))
      throw cli::wrong_answer(*wrong);
    const double seconds = median_seconds_after(first, what_.repeat, [&](std::size_t k) { who.run(k, asked, ask); });
    return peer_result{name, seconds, answered};
  });
}

void radix_peers::add_update(const radix_batch& batch, const answers& after, location place, row& r) {
  const radix_questions& elements = batch.elements;
  for_each_peer(r, [&](const std::string& name, string_peer& peer) -> std::optional<peer_result> {
    if (!peer.takes(elements.size())) {
      r.notes.push_back(fmt::format("{}: skipped, it has no room for {} updates", name, size_text(elements.size())));
      return {};
    }
    const string_batches on_device(elements.keys, elements.one_length, elements.size(), device_, place);
    const byte_string_batch keys = on_device.all();
    const device_column values(batch.values, device_, place), values_before(batch.before, device_, place);
    answers mask;
    mask.emplace_back(scalar_kind::u8, elements.size());
    const device_answers done(std::move(mask), device_, place);
    const stream order = device_.default_stream();
    const auto update = [&](const device_column& to) {
      peer.update(keys.raw(), static_cast<const std::uint64_t*>(to.data()),
                  static_cast<std::uint8_t*>(done.pointers()[0]), order);
      order.synchronize();
    };
    const auto require = [&](operation op, const answers& expected, const answers& theirs) {
      if (auto wrong = difference(op, elements.keys, expected, theirs, name, elements.size())) {
        throw cli::wrong_answer(*wrong);
      }
    };
    done.poison();
    update(values);
    require(operation::contains, batch.done, done.fetch());
    if (peer.last_wins()) {
      const device_answers found(make_radix_answers(operation::find, elements.size()), device_, place);
      found.poison();
      peer.find(keys.raw(), static_cast<std::uint64_t*>(found.pointers()[0]),
                static_cast<std::uint8_t*>(found.pointers()[1]), order);
      order.synchronize();
      require(operation::find, updated_elements(batch, after), found.fetch());
    }
    const double seconds = median_seconds(what_.repeat, [&](std::size_t k) {
      for (std::size_t i = 0; i < k; ++i) update(values);
    });
    update(values_before);
    return peer_result{name, seconds, elements.size()};
  });
}

void radix_peers::add_none(row& r) {
  for (const auto& name : what_.peers) {
    const peer_choice choice = choose_peer(what_, name, index_kind::radix, device_.kind(), r.keys);
    if (!choice.note.empty()) r.notes.push_back(choice.note);
    if (choice.measured && what_.peers_named) r.inapplicable_peers.push_back(name);
  }
}

}  // namespace espalier::bench
