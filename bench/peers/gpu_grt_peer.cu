// gpu_grt_peer.cu - the packed radix tree of grt_image.hpp on a GPU: one thread per query, as in GRT.
#include <memory>

#include "bench/peers/gpu_staged.cuh"
#include "bench/peers/grt_image.hpp"
#include "bench/peers/string_peer.hpp"
#include "espalier/device/buffer.hpp"
#include "espalier/device/cuda.cuh"

namespace espalier::bench {

std::unique_ptr<string_peer> make_gpu_grt_peer(const radix_data& data, const device& dev);

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
    // An aligned 8-byte store is atomic, so for equal keys one of the values remains intact.
    if (hit) *reinterpret_cast<volatile std::uint64_t*>(image + leaf + 8) = values[i];
    done[i] = hit ? 1 : 0;
  }
};

class gpu_grt_peer final : public string_peer {
 public:
  gpu_grt_peer(const radix_data& data, const device& dev) : device_(dev) {
    const grt_image image(data);
    image_ = to_device(dev, image.words());
    dev.default_stream().synchronize();
  }

  void find(const espalier::detail::byte_keys& keys, std::uint64_t* values, std::uint8_t* found,
            const stream& order) override {
    const staged_strings in(device_, order, keys);
    const staged out(device_, order, values, keys.n * 8), mask(device_, order, found, keys.n);
    cuda_backend(device_).for_each(order, keys.n,
                                   find_one{image(), in.batch(), static_cast<std::uint64_t*>(out.data()),
                                            static_cast<std::uint8_t*>(mask.data())});
    out.copy_back();
    mask.copy_back();
  }
  void update(const espalier::detail::byte_keys& keys, const std::uint64_t* values, std::uint8_t* done,
              const stream& order) override {
    const staged_strings in(device_, order, keys);
    const staged given(device_, order, values, keys.n * 8), mask(device_, order, done, keys.n);
    given.bring();
    cuda_backend(device_).for_each(order, keys.n,
                                   update_one{image(), in.batch(), static_cast<const std::uint64_t*>(given.data()),
                                              static_cast<std::uint8_t*>(mask.data())});
    mask.copy_back();
  }

 private:
  [[nodiscard]] std::uint8_t* image() const { return reinterpret_cast<std::uint8_t*>(image_.data()); }

  device device_;
  buffer<std::uint64_t> image_;
};

}  // namespace

std::unique_ptr<string_peer> make_gpu_grt_peer(const radix_data& data, const device& dev) {
  return std::make_unique<gpu_grt_peer>(data, dev);
}

}  // namespace espalier::bench
