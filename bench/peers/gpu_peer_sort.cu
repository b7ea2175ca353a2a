// gpu_peer_sort.cu - cub::DeviceRadixSort::SortPairs on the same pairs, the lower bound of every build from unsorted
// data.
//
// Keys are sorted as the unsigned words of their bits, which costs CUB the same as their own type. It is compiled for
// pairs of one width, since each instantiation takes nvcc most of a minute.
#include <cub/device/device_radix_sort.cuh>

#include <cstdint>
#include <memory>

#include "bench/peers/gpu_peer.cuh"
#include "bench/peers/gpu_peer_kinds.hpp"
#include "espalier/device/buffer.hpp"

namespace espalier::bench {
namespace {

/// Output and scratch memory are allocated once, outside the measured time, in the peer's favour.
template <class Word>
class sort_peer final : public peer {
 public:
  sort_peer(const workload& data, const device& dev) : device_(dev), size_(data.keys.size()) {}

  [[nodiscard]] bool answers(operation op) const override { return op == operation::build; }
  [[nodiscard]] std::size_t sample(operation, std::size_t queries, double) const override { return queries; }
  void prepare() override {
    keys_ = buffer<Word>(device_, size_);
    values_ = buffer<Word>(device_, size_);
    std::size_t bytes = 0;
    sort(nullptr, bytes, nullptr, nullptr, nullptr);
    scratch_ = buffer<unsigned char>(device_, bytes);
    device_.default_stream().synchronize();
  }
  void run(operation, const request& r) override {
    std::size_t bytes = scratch_.size();
    sort(scratch_.data(), bytes, static_cast<const Word*>(r.keys), static_cast<const Word*>(r.hi),
         stream_of(device_, r));
    finish(device_, r);
  }

 private:
  void sort(void* scratch, std::size_t& bytes, const Word* keys, const Word* values, cudaStream_t s) const {
    check_cuda(cub::DeviceRadixSort::SortPairs(scratch, bytes, keys, keys_.data(), values, values_.data(), size_, 0,
                                               static_cast<int>(8 * sizeof(Word)), s),
               "sort");
  }

  device device_;
  std::size_t size_;
  buffer<Word> keys_, values_;
  buffer<unsigned char> scratch_;
};

}  // namespace

std::unique_ptr<peer> make_gpu_sort_peer(const workload& data, const device& dev) {
  if (bytes_of(data.spec.key) != bytes_of(data.spec.value)) return nullptr;
  if (bytes_of(data.spec.key) == 4) return std::make_unique<sort_peer<std::uint32_t>>(data, dev);
  return std::make_unique<sort_peer<std::uint64_t>>(data, dev);
}

}  // namespace espalier::bench
