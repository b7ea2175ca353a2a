// gpu_peer_search.cu - thrust::lower_bound over the sorted keys, then a gather: the usual ordered lookup on a GPU.
#include <thrust/binary_search.h>
#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>

#include <cstdint>
#include <memory>

#include "bench/peers/gpu_peer.cuh"
#include "bench/peers/gpu_peer_kinds.hpp"
#include "espalier/device/buffer.hpp"

namespace espalier::bench {
namespace {

template <class Key, class Raw>
__global__ void gather_hits(const Key* sorted, const Raw* values, std::uint64_t size, const Key* queries,
                            const std::uint32_t* ranks, Raw* out, std::uint8_t* found, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const std::uint32_t rank = ranks[i];
  const bool hit = rank < size && sorted[rank] == queries[i];
  found[i] = hit;
  if (out != nullptr) out[i] = hit ? values[rank] : Raw{};
}

__global__ void subtract(const std::uint32_t* first, const std::uint32_t* last, std::uint64_t* counts, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) counts[i] = last[i] - first[i];
}

/// Ranks between the two steps have 32 bits for the least traffic, so there are fewer than 2^32 keys.
template <class Key>
class search_peer final : public peer {
 public:
  search_peer(const workload& data, const device& dev) : data_(data), device_(dev) {}

  [[nodiscard]] bool answers(operation op) const override {
    return op == operation::find || op == operation::find_sorted || op == operation::contains ||
           op == operation::lower_bound || op == operation::count;
  }
  [[nodiscard]] std::size_t sample(operation, std::size_t queries, double) const override { return queries; }
  void prepare() override {
    sorted_ = to_device(device_, data_.sorted_keys.template as<const Key>());
    values_ = raw_buffer(device_, data_.sorted_values.byte_count(), {});
    if (values_.bytes() != 0)
      device_.copy(values_.data(), data_.sorted_values.data(), values_.bytes(), values_.order());
    device_.default_stream().synchronize();
  }

  void run(operation op, const request& r) override {
    if (r.queries == 0) return;
    const cudaStream_t s = stream_of(device_, r);
    if (op == operation::lower_bound) {
      search<false>(r.keys, r.queries, static_cast<std::uint64_t*>(r.out[0]), s);
    } else if (op == operation::count) {
      search<false>(r.keys, r.queries, scratch(first_, r.queries), s);
      search<true>(r.hi, r.queries, scratch(last_, r.queries), s);
      subtract<<<blocks_for(r.queries), 256, 0, s>>>(first_.data(), last_.data(), static_cast<std::uint64_t*>(r.out[0]),
                                                     r.queries);
    } else {
      search<false>(r.keys, r.queries, scratch(first_, r.queries), s);
      if (bytes_of(data_.spec.value) == 8) {
        gather<std::uint64_t>(op, r, s);
      } else {
        gather<std::uint32_t>(op, r, s);
      }
    }
    check_cuda(cudaGetLastError(), "search");
    finish(device_, r);
  }

 private:
  template <bool Upper, class Rank>
  void search(const void* queries, std::size_t n, Rank* ranks, cudaStream_t s) const {
    const auto policy = thrust::cuda::par_nosync.on(s);
    const thrust::device_ptr<const Key> keys(sorted_.data());
    const thrust::device_ptr<const Key> q(static_cast<const Key*>(queries));
    const thrust::device_ptr<Rank> out(ranks);
    if constexpr (Upper) {
      thrust::upper_bound(policy, keys, keys + sorted_.size(), q, q + n, out);
    } else {
      thrust::lower_bound(policy, keys, keys + sorted_.size(), q, q + n, out);
    }
  }
  template <class Raw>
  void gather(operation op, const request& r, cudaStream_t s) const {
    const bool mask_only = op == operation::contains;
    gather_hits<Key, Raw><<<blocks_for(r.queries), 256, 0, s>>>(
        sorted_.data(), static_cast<const Raw*>(values_.data()), sorted_.size(), static_cast<const Key*>(r.keys),
        first_.data(), mask_only ? nullptr : static_cast<Raw*>(r.out[0]),
        static_cast<std::uint8_t*>(r.out[mask_only ? 0 : 1]), r.queries);
  }
  std::uint32_t* scratch(buffer<std::uint32_t>& ranks, std::size_t n) const {
    if (ranks.size() < n) ranks = buffer<std::uint32_t>(device_, n);
    return ranks.data();
  }

  const workload& data_;
  device device_;
  buffer<Key> sorted_;
  raw_buffer values_;
  buffer<std::uint32_t> first_, last_;
};

}  // namespace

std::unique_ptr<peer> make_gpu_search_peer(const workload& data, const device& dev) {
  if (data.keys.size() >= (std::uint64_t{1} << 32)) return nullptr;
  return with_built_type(data.spec.key, [&]<class Key>() -> std::unique_ptr<peer> {
    return std::make_unique<search_peer<Key>>(data, dev);
  });
}

}  // namespace espalier::bench
