// soak_gpu.cu - the soak on a GPU: refs in a kernel, one tile of 2 to 32 lanes for each key, and the owner's path for
// single keys, in turn. Returns 77 where there is no GPU.
#include <algorithm>
#include <iterator>

#include "blink_soak/soak.hpp"
#include "espalier/blink_tree/blink_tree.hpp"
#include "espalier/device/cuda.cuh"
#include "espalier/team/tile.cuh"

namespace espalier::test {
namespace {

using link_tree = blink_tree<std::uint32_t, std::uint32_t>;
using couple_tree =
    blink_tree<std::uint32_t, std::uint32_t, blink_policy<protocol::latch_coupling, inner_index::inner_nodes>>;

template <class Ref>
struct insert_one {
  Ref ref;
  const std::uint32_t* keys;
  unsigned long long* counts;  ///< by outcome

  template <class Team>
  __device__ void operator()(Team team, std::size_t i) const {
    const write_result o = ref.insert(team, keys[i], keys[i]);
    team.once([&] { atomicAdd(counts + static_cast<unsigned>(o), 1ull); });
  }
};

/// In one kernel, or in kernels of which each doubles the tree, with new upper levels between them.
template <class Tree, unsigned Lanes>
std::string by_refs(const soak_batch& batch, const device& dev) {
  const stream order = dev.default_stream();
  Tree tree(dev);
  const auto keys = to_device(dev, std::span<const std::uint32_t>(batch.keys));
  const buffer<unsigned long long> counts(dev, static_cast<std::size_t>(write_result::out_of_nodes) + 1, order);
  dev.fill(counts.data(), 0, counts.bytes(), order);
  const std::size_t all = batch.keys.size();
  for (std::size_t first = 0, last = batch.at_once ? all : std::min<std::size_t>(all, 1024); first < all;
       first = last, last = std::min(all, 2 * last)) {
    if (first != 0) tree.maintain();
    const auto ref = tree.ref(last - first);
    cuda_backend(dev).for_each_team<tile<Lanes>>(
        order, last - first, insert_one<typename Tree::ref_type>{ref, keys.data() + first, counts.data()});
  }
  const auto got = counts.to_vector();
  return soak_problem(
      tree, batch,
      {got[static_cast<unsigned>(write_result::inserted)], got[static_cast<unsigned>(write_result::out_of_nodes)]});
}

std::string by_owner(const soak_batch& batch, const device& dev) {
  link_tree tree(dev);
  std::vector<std::uint8_t> done(batch.keys.size());
  tree.insert(batch.keys, batch.keys, done, {batch_semantics::concurrent, write_path::per_key});
  soak_outcome outcome;
  for (const std::uint8_t d : done) outcome.inserted += d;
  return soak_problem(tree, batch, outcome);
}

struct way {
  const char* name;
  std::string (*insert)(const soak_batch&, const device&);
};
constexpr way ways[] = {{"link, 2 lanes", by_refs<link_tree, 2>},     {"link, 32 lanes", by_refs<link_tree, 32>},
                        {"link, 4 lanes", by_refs<link_tree, 4>},     {"link, 8 lanes", by_refs<link_tree, 8>},
                        {"link, 16 lanes", by_refs<link_tree, 16>},   {"link, owner", by_owner},
                        {"couple, 2 lanes", by_refs<couple_tree, 2>}, {"couple, 32 lanes", by_refs<couple_tree, 32>}};

}  // namespace
}  // namespace espalier::test

int main(int argc, char** argv) {
  using namespace espalier;
  using namespace espalier::test;
  const soak_options options = parse_soak(argc, argv);
  for (const device& dev : device::all()) {
    if (dev.kind() != device_kind::cuda) continue;
    return soak(options, [&](std::uint64_t round, const soak_batch& batch, const auto& begin) {
      const way& w = ways[round % std::size(ways)];
      begin(w.name);
      return w.insert(batch, dev);
    });
  }
  std::puts("no GPU");
  return 77;
}
