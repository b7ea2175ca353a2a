// gpu_grt_peer.cu - the packed radix tree of grt_image.hpp on a GPU: one thread per query, as GRT does.
#include <memory>

#include "bench/grt_image.hpp"
#include "bench/string_peer.hpp"
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

/// Memory of a caller, copied to the GPU and back in stream order if it is the host's: as the library does.
class staged {
 public:
  staged(const device& where, const stream& order, const void* p, std::size_t bytes)
      : where_(where), order_(order), own_(const_cast<void*>(p)), bytes_(bytes) {
    if (p != nullptr && bytes != 0 && !where.is_local(p)) copy_ = raw_buffer(where, bytes, order);
  }
  [[nodiscard]] bool is_copy() const { return copy_.data() != nullptr; }
  [[nodiscard]] void* data() const { return is_copy() ? copy_.data() : own_; }
  void bring() const {
    if (is_copy()) where_.copy(copy_.data(), own_, bytes_, order_);
  }
  void deliver() const {
    if (is_copy()) where_.copy(own_, copy_.data(), bytes_, order_);
  }

 private:
  const device& where_;
  const stream& order_;
  void* own_;
  std::size_t bytes_;
  raw_buffer copy_;
};

class staged_strings {
 public:
  staged_strings(const device& where, const stream& order, const espalier::detail::byte_keys& keys)
      : bytes_(where, order, keys.batch.bytes, keys.bytes),
        offsets_(where, order, keys.batch.offsets, keys.batch.offsets == nullptr ? 0 : (keys.n + 1) * 8),
        stride_(keys.batch.stride) {
    bytes_.bring();
    offsets_.bring();
  }
  [[nodiscard]] byte_batch batch() const {
    return {static_cast<const std::uint8_t*>(bytes_.data()), static_cast<const std::uint64_t*>(offsets_.data()),
            stride_};
  }

 private:
  staged bytes_, offsets_;
  std::uint64_t stride_;
};

class gpu_grt_peer final : public string_peer {
 public:
  gpu_grt_peer(const radix_data& data, const device& where) : where_(where) {
    const grt_image image(data);
    image_ = to_device(where, std::span<const std::uint64_t>(image.words()));
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
