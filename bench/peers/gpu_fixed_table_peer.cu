// gpu_fixed_table_peer.cu - the peer of fixed_table.hpp on a GPU: two kernels, as in the paper.
#include <memory>

#include "bench/peers/fixed_table.hpp"
#include "bench/peers/gpu_staged.cuh"
#include "espalier/device/cuda.cuh"
#include "espalier/radix_tree/descend.hpp"
#include "espalier/team/tile.cuh"

namespace espalier::bench {

std::unique_ptr<string_peer> make_gpu_fixed_table_peer(const radix_data& data, const device& dev);

namespace {

struct locate_and_raise {
  radix_view<8> tree;
  byte_batch keys;
  radix_link* links;
  fixed_table::raise_entry raise;
  template <class Team>
  __device__ void operator()(Team team, std::size_t i) const {
    links[i] = radix_searcher<Team, radix_view<8>>::find(team, tree, keys[i]);
    raise(i);
  }
};

class gpu_fixed_table_peer final : public string_peer {
 public:
  gpu_fixed_table_peer(const radix_data& data, const device& dev)
      : device_(dev),
        tree_(fixed_table::make_tree(data, dev)),
        view_(fixed_table::view_of(*tree_)),
        table_(dev, fixed_table::entries) {}

  void find(const espalier::detail::byte_keys& keys, std::uint64_t* values, std::uint8_t* found,
            const stream& order) override {
    tree_->find(keys, values, found, {order, false});
  }
  [[nodiscard]] bool last_wins() const override { return true; }
  [[nodiscard]] bool takes(std::uint64_t elements) const override { return fixed_table::has_room(*tree_, elements); }
  /// There is one table, so batches of different streams must not overlap.
  void update(const espalier::detail::byte_keys& keys, const std::uint64_t* values, std::uint8_t* done,
              const stream& order) override {
    const staged_strings in(device_, order, keys);
    const staged given(device_, order, values, keys.n * 8), mask(device_, order, done, keys.n);
    given.bring();
    const buffer<radix_link> links(device_, keys.n, order);
    const buffer<std::uint32_t> slots(device_, keys.n, order);
    device_.fill(table_.data(), fixed_table::empty_byte, table_.bytes(), order);
    const fixed_table::raise_entry raise{links.data(), table_.data(), slots.data()};
    cuda_backend(device_).for_each_team<tile<1>>(order, keys.n,
                                                 locate_and_raise{view_, in.batch(), links.data(), raise});
    cuda_backend(device_).for_each(order, keys.n,
                                   fixed_table::write_if_highest{view_, links.data(), table_.data(), slots.data(),
                                                                 static_cast<const std::uint64_t*>(given.data()),
                                                                 static_cast<std::uint8_t*>(mask.data())});
    mask.copy_back();
  }

 private:
  device device_;
  std::unique_ptr<espalier::detail::radix_index> tree_;
  radix_view<8> view_;
  buffer<std::uint64_t> table_;
};

}  // namespace

std::unique_ptr<string_peer> make_gpu_fixed_table_peer(const radix_data& data, const device& dev) {
  return std::make_unique<gpu_fixed_table_peer>(data, dev);
}

}  // namespace espalier::bench
