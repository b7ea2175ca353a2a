// soak.cpp - the soak on a CPU: by the owner's path for single keys, and by threads with a ref each, in turn.
#include <atomic>
#include <iterator>

#include "blink_soak/soak.hpp"
#include "espalier/blink_tree/blink_tree.hpp"
#include "espalier/team/scalar_team.hpp"

namespace espalier::test {
namespace {

template <class Policy>
using tree_of = blink_tree<std::uint32_t, std::uint32_t, Policy>;

constexpr unsigned threads = 4;  // more than small machines have cores: preempted in the middle of a write

template <class Policy>
std::string by_owner(const soak_batch& batch) {
  tree_of<Policy> tree(device::cpu(threads));
  std::vector<std::uint8_t> done(batch.keys.size());
  tree.insert(batch.keys, batch.keys, done, {batch_semantics::concurrent, write_path::per_key});
  soak_outcome outcome;
  for (const std::uint8_t d : done) outcome.inserted += d;
  return soak_problem(tree, batch, outcome);
}

/// Neighbours in the batch go to different threads: those that arrive in order meet at the same leaf all the time.
template <class Policy>
std::string by_refs(const soak_batch& batch) {
  tree_of<Policy> tree(device::cpu(1));
  const auto ref = tree.ref(batch.keys.size());
  std::atomic<std::uint64_t> inserted{0}, refused{0};
  std::vector<std::thread> teams;
  for (unsigned t = 0; t < threads; ++t) {
    teams.emplace_back([&, t] {
      std::uint64_t mine = 0;
      for (std::size_t i = t; i < batch.keys.size(); i += threads) {
        const write_result o = ref.insert(scalar_team{}, batch.keys[i], batch.keys[i]);
        if (o == write_result::inserted) ++mine;
        if (o == write_result::out_of_nodes) ++refused;
      }
      inserted += mine;
    });
  }
  for (std::thread& team : teams) team.join();
  return soak_problem(tree, batch, {inserted, refused});
}

struct way {
  const char* name;
  std::string (*insert)(const soak_batch&);
};
using link_express = blink_policy<>;
using link_narrow = blink_policy<protocol::blink, inner_index::express_lane, 8>;
using link_classic = blink_policy<protocol::blink, inner_index::inner_nodes>;
using couple_classic = blink_policy<protocol::latch_coupling, inner_index::inner_nodes>;
constexpr way ways[] = {
    {"link, owner", by_owner<link_express>},         {"link, refs", by_refs<link_express>},
    {"couple, refs", by_refs<couple_classic>},       {"link without lane, refs", by_refs<link_classic>},
    {"link of 8 slots, refs", by_refs<link_narrow>}, {"couple, owner", by_owner<couple_classic>}};

}  // namespace
}  // namespace espalier::test

int main(int argc, char** argv) {
  using namespace espalier::test;
  return soak(parse_soak(argc, argv), [](std::uint64_t round, const soak_batch& batch, const auto& begin) {
    const way& w = ways[round % std::size(ways)];
    begin(w.name);
    return w.insert(batch);
  });
}
