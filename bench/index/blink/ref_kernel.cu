// ref_kernel.cu - see ref_kernel.hpp.
#include "bench/index/blink/ref_kernel.hpp"

#include "espalier/blink_tree/blink_tree.hpp"
#include "espalier/device/cuda.cuh"
#include "espalier/team/tile.cuh"

namespace espalier::bench {
namespace {

template <class Key>
struct insert_one {
  typename blink_tree<Key, Key>::ref_type ref;
  const Key* keys;
  const Key* values;
  std::uint8_t* done;

  template <class Team>
  __device__ void operator()(Team team, std::size_t i) const {
    done[i] = ref.insert(team, keys[i], values[i]) == write_result::inserted ? 1 : 0;
  }
};

template <class Key>
class typed_ref_kernel final : public ref_kernel {
  using ref_type = typename blink_tree<Key, Key>::ref_type;

 public:
  typed_ref_kernel(espalier::detail::blink_index& tree, std::size_t inserts)
      : runner_(tree.get_device()), ref_(ref_of(tree, inserts)) {}

  void insert(const void* keys, const void* values, std::size_t n, std::uint8_t* done,
              const stream& order) const override {
    runner_.template for_each_team<tile<1>>(
        order, n, insert_one<Key>{ref_, static_cast<const Key*>(keys), static_cast<const Key*>(values), done});
  }

 private:
  static ref_type ref_of(espalier::detail::blink_index& tree, std::size_t inserts) {
    typename ref_type::view_type view;
    tree.view(inserts, &view);
    return ref_type(&view);
  }

  cuda_backend runner_;
  ref_type ref_;
};

}  // namespace

std::unique_ptr<ref_kernel> make_ref_kernel(scalar_kind key, espalier::detail::blink_index& tree, std::size_t inserts) {
  if (key == scalar_kind::u32) return std::make_unique<typed_ref_kernel<std::uint32_t>>(tree, inserts);
  return std::make_unique<typed_ref_kernel<std::uint64_t>>(tree, inserts);
}

}  // namespace espalier::bench
