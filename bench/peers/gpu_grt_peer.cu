// gpu_grt_peer.cu - the packed radix tree of grt_image.hpp on a GPU: one thread per query, as GRT does.
#include <memory>

#include "bench/peers/gpu_staged.cuh"
#include "bench/peers/grt_image.hpp"
#include "bench/peers/string_peer.hpp"
#include "espalier/device/buffer.hpp"
#include "espalier/device/cuda.cuh"

namespace espalier::bench {

std::unique_ptr<string_peer> make_gpu_grt_peer(const radix_data& data, const device& where);

namespace {

struct find_one {
  const std::uint8_t* image;
  byte_batch keys;
  std::uint64_t* values;
  std::uint8_t* found;
  ESPALIER_HD void operator()(std::size_t i) const {
    const std::uint64_t leaf = image == nullptr ? grt::nowhere : grt::find_leaf(image, keys[i]);
    const bool hit = leaf != grt::nowhere;
    if (values != nullptr) values[i] = hit ? grt::at<std::uint64_t>(image + leaf + 8) : 0;
    found[i] = hit ? 1 : 0;
  }
};
struct update_one {
  std::uint8_t* image;
  byte_batch keys;
  const std::uint64_t* values;
  std::uint8_t* done;
  ESPALIER_HD void operator()(std::size_t i) const {
    const std::uint64_t leaf = image == nullptr ? grt::nowhere : grt::find_leaf(image, keys[i]);
    const bool hit = leaf != grt::nowhere;
    // A store of eight aligned bytes is one: of equal keys some value stays whole.
    if (hit) *reinterpret_cast<volatile std::uint64_t*>(image + leaf + 8) = values[i];
    done[i] = hit ? 1 : 0;
  }
};

class gpu_grt_peer final : public string_peer {
 public:
  gpu_grt_peer(const radix_data& data, const device& where) : where_(where) {
    const grt_image image(data);
    image_ = to_device(where, image.words());
    where.default_stream().synchronize();
  }

  void find(const espalier::detail::byte_keys& keys, std::uint64_t* values, std::uint8_t* found,
            const stream& order) override {
    const staged_strings in(where_, order, keys);
    const staged out(where_, order, values, keys.n * 8), mask(where_, order, found, keys.n);
    cuda_backend(where_).for_each(order, keys.n,
                                  find_one{image(), in.batch(), static_cast<std::uint64_t*>(out.data()),
                                           static_cast<std::uint8_t*>(mask.data())});
    out.deliver();
    mask.deliver();
  }
  void update(const espalier::detail::byte_keys& keys, const std::uint64_t* values, std::uint8_t* done,
              const stream& order) override {
    const staged_strings in(where_, order, keys);
    const staged given(where_, order, values, keys.n * 8), mask(where_, order, done, keys.n);
    given.bring();
    cuda_backend(where_).for_each(order, keys.n,
                                  update_one{image(), in.batch(), static_cast<const std::uint64_t*>(given.data()),
                                             static_cast<std::uint8_t*>(mask.data())});
    mask.deliver();
  }

 private:
  [[nodiscard]] std::uint8_t* image() const { return reinterpret_cast<std::uint8_t*>(image_.data()); }

  device where_;
  buffer<std::uint64_t> image_;
};

}  // namespace

std::unique_ptr<string_peer> make_gpu_grt_peer(const radix_data& data, const device& where) {
  return std::make_unique<gpu_grt_peer>(data, where);
}

}  // namespace espalier::bench
