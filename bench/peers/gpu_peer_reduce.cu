// gpu_peer_reduce.cu - a plain reduction over an array of the same pairs, the lower bound of visiting all elements.
//
// Like reduce() over an index, it returns its result to the host, so both include one copy and one wait.
#include <cub/device/device_reduce.cuh>

#include <cstdint>
#include <memory>

#include "bench/data/generators.hpp"
#include "bench/harness/element_checksum.hpp"
#include "bench/peers/gpu_peer.cuh"
#include "bench/peers/gpu_peer_kinds.hpp"
#include "espalier/device/buffer.hpp"

namespace espalier::bench {
namespace {

template <class Word>
struct alignas(2 * sizeof(Word)) word_pair {
  Word key, value;
};

struct pair_bits {
  template <class Word>
  __host__ __device__ std::uint64_t operator()(const word_pair<Word>& p) const {
    return std::uint64_t{p.key} + p.value;
  }
};

template <class Word>
class reduce_peer final : public peer {
  using element = word_pair<Word>;

 public:
  reduce_peer(const workload& data, const device& dev) : data_(data), device_(dev) {}

  [[nodiscard]] bool answers(operation op) const override { return op == operation::visit; }
  [[nodiscard]] std::size_t sample(operation, std::size_t queries, double) const override { return queries; }
  void prepare() override {
    const std::size_t n = data_.keys.size();
    auto pairs = std::make_unique_for_overwrite<element[]>(n);
    const auto keys = data_.keys.template as<const Word>();
    const auto values = data_.values.template as<const Word>();
    parallel_indices(n, [&](std::uint64_t i) { pairs[i] = {keys[i], values[i]}; });
    pairs_ = to_device(device_, std::span<const element>(pairs.get(), n));
    result_ = buffer<std::uint64_t>(device_, 1);
    std::size_t bytes = 0;
    reduce(nullptr, bytes, nullptr);
    scratch_ = buffer<unsigned char>(device_, bytes);
    device_.default_stream().synchronize();
  }
  void run(operation, const request& r) override {
    std::size_t bytes = scratch_.size();
    reduce(scratch_.data(), bytes, stream_of(device_, r));
    const stream order = device_.resolve(r.order);
    device_.copy(r.out[0], result_.data(), sizeof(std::uint64_t), order);
    order.synchronize();
  }

 private:
  void reduce(void* scratch, std::size_t& bytes, cudaStream_t s) const {
    check_cuda(cub::DeviceReduce::TransformReduce(scratch, bytes, pairs_.data(), result_.data(), pairs_.size(),
                                                  add_bits{}, pair_bits{}, std::uint64_t{0}, s),
               "reduction");
  }

  const workload& data_;
  device device_;
  buffer<element> pairs_;
  buffer<std::uint64_t> result_;
  buffer<unsigned char> scratch_;
};

}  // namespace

std::unique_ptr<peer> make_gpu_reduce_peer(const workload& data, const device& dev) {
  if (bytes_of(data.spec.key) != bytes_of(data.spec.value)) return nullptr;
  if (bytes_of(data.spec.key) == 4) return std::make_unique<reduce_peer<std::uint32_t>>(data, dev);
  return std::make_unique<reduce_peer<std::uint64_t>>(data, dev);
}

}  // namespace espalier::bench
