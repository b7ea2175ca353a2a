// cuda.cu - GPUs as devices: enumeration, memory, streams, copies and errors. This is one file, because nvcc takes
// seconds per file and architecture, whatever the file contains.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "device/async_readback.cuh"
#include "device/cuda_device.cuh"
#include "device/cuda_factory.hpp"
#include "device/cuda_host_pool.cuh"

namespace espalier::detail {

void check_cuda(cudaError_t status, const char* call, std::size_t asked) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();
  if (status == cudaErrorMemoryAllocation) {
    std::size_t free = 0;
    std::size_t total = 0;
    (void)cudaMemGetInfo(&free, &total);
    (void)cudaGetLastError();
    throw out_of_memory(std::string("GPU (") + call + ")", asked, free);
  }
  throw device_error(
      std::string(call) + " failed: " + cudaGetErrorString(status) + " (" + cudaGetErrorName(status) + ").",
      static_cast<int>(status));
}

device_guard::device_guard(int ordinal) {
  check_cuda(cudaGetDevice(&previous_), "cudaGetDevice");
  if (previous_ == ordinal) return;
  check_cuda(cudaSetDevice(ordinal), "cudaSetDevice");
  switched_ = true;
}

device_guard::~device_guard() {
  if (switched_) (void)cudaSetDevice(previous_);
}

namespace {

/// A free list of CUDA objects, by GPU and kind. They are kept until the process ends, which releases them.
template <class T>
class spare_pool {
 public:
  [[nodiscard]] std::optional<T> take(int ordinal, unsigned kind = 0) {
    const std::lock_guard lock(mutex_);
    auto& spare = spare_[{ordinal, kind}];
    if (spare.empty()) return std::nullopt;
    const T x = spare.back();
    spare.pop_back();
    return x;
  }
  /// Returns false if there is no memory to remember the object.
  [[nodiscard]] bool give_back(const T& x, int ordinal, unsigned kind = 0) noexcept {
    try {
      const std::lock_guard lock(mutex_);
      spare_[{ordinal, kind}].push_back(x);
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<int, unsigned>, std::vector<T>> spare_;
};
// Never destroyed: events may be released and readbacks may complete while the process ends.
spare_pool<cudaEvent_t>& events() {
  static auto* const all = new spare_pool<cudaEvent_t>;
  return *all;
}
spare_pool<readback_buffer>& readback_buffers() {
  static auto* const all = new spare_pool<readback_buffer>;
  return *all;
}

}  // namespace

cuda_mark::cuda_mark(int ordinal, cudaStream_t of, unsigned more_flags) : ordinal_(ordinal), flags_(more_flags) {
  const device_guard guard(ordinal);
  if (const auto spare = events().take(ordinal, flags_)) {
    native_ = *spare;
  } else {
    check_cuda(cudaEventCreateWithFlags(&native_, cudaEventDisableTiming | flags_), "cudaEventCreateWithFlags");
  }
  if (const cudaError_t status = cudaEventRecord(native_, of); status != cudaSuccess) {
    (void)cudaEventDestroy(native_);
    check_cuda(status, "cudaEventRecord");
  }
}
// Pending waits are unaffected: a wait refers to what was recorded when it was enqueued.
cuda_mark::~cuda_mark() {
  if (!events().give_back(native_, ordinal_, flags_)) (void)cudaEventDestroy(native_);
}

bool cuda_mark::is_reached() const {
  const cudaError_t status = cudaEventQuery(native_);
  if (status != cudaSuccess) (void)cudaGetLastError();
  return status != cudaErrorNotReady;
}

namespace {

std::uint64_t id_of(int ordinal, cudaStream_t native) {
  const device_guard guard(ordinal);
  unsigned long long id = 0;
  check_cuda(cudaStreamGetId(native, &id), "cudaStreamGetId");
  return id;
}

}  // namespace

cuda_stream::cuda_stream(int ordinal, cudaStream_t native, bool owned)
    : ordinal_(ordinal), native_(native), owned_(owned), id_(owned ? id_of(ordinal, native) : 0) {}

std::uint64_t cuda_stream::id() const { return owned_ ? id_ : id_of(ordinal_, native_); }

cuda_stream::~cuda_stream() {
  if (owned_) (void)cudaStreamDestroy(native_);  // returns at once; queued work still completes
}

void cuda_stream::synchronize() {
  const device_guard guard(ordinal_);
  check_cuda(cudaStreamSynchronize(native_), "cudaStreamSynchronize");
}

void cuda_stream::synchronize_blocking() {
  // cudaStreamSynchronize polls and keeps a processor busy; a blocking wait takes longer to wake up, so short work is
  // polled for first.
  constexpr std::chrono::microseconds awake(50);
  for (const auto begin = std::chrono::steady_clock::now(); std::chrono::steady_clock::now() - begin < awake;) {
    if (is_done()) return synchronize();
  }
  const cuda_mark here(ordinal_, native_, cudaEventBlockingSync);
  const device_guard guard(ordinal_);
  check_cuda(cudaEventSynchronize(here.native()), "cudaEventSynchronize");
}

bool cuda_stream::is_done() const {
  const device_guard guard(ordinal_);
  const cudaError_t status = cudaStreamQuery(native_);
  if (status != cudaSuccess) (void)cudaGetLastError();
  return status != cudaErrorNotReady;
}

std::shared_ptr<const event_impl> cuda_stream::mark() { return std::make_shared<cuda_mark>(ordinal_, native_); }

void cuda_stream::wait_for(const event_impl& mark) {
  const device_guard guard(ordinal_);
  check_cuda(cudaStreamWaitEvent(native_, static_cast<const cuda_mark&>(mark).native(), 0), "cudaStreamWaitEvent");
}

namespace {

[[nodiscard]] readback_buffer take_readback_buffer(int ordinal) {
  if (const auto spare = readback_buffers().take(ordinal)) return *spare;
  readback_buffer e;
  check_cuda(cudaHostAlloc(&e.memory, readback_buffer::bytes, cudaHostAllocPortable), "cudaHostAlloc");
  const cudaError_t status = cudaEventCreateWithFlags(&e.arrived, cudaEventDisableTiming);
  if (status != cudaSuccess) (void)cudaFreeHost(e.memory);
  check_cuda(status, "cudaEventCreateWithFlags");
  return e;
}
// If there is no memory to remember the buffer, 64 bytes and an event are leaked.
void give_back(const readback_buffer& e, int ordinal) noexcept { (void)readback_buffers().give_back(e, ordinal); }

}  // namespace

async_readback::async_readback(int ordinal, const void* from, std::size_t size, cudaStream_t order)
    : ordinal_(ordinal) {
  const device_guard guard(ordinal_);
  buffer_ = take_readback_buffer(ordinal_);
  try {
    check_cuda(cudaMemcpyAsync(buffer_.memory, from, size, cudaMemcpyDefault, order), "cudaMemcpyAsync");
    check_cuda(cudaEventRecord(buffer_.arrived, order), "cudaEventRecord");
  } catch (...) {
    give_back(buffer_, ordinal_);
    throw;
  }
}

async_readback::~async_readback() {
  (void)cudaEventSynchronize(buffer_.arrived);  // the copy must not write into it when it is reused
  give_back(buffer_, ordinal_);
}

const void* async_readback::open() {
  check_cuda(cudaEventSynchronize(buffer_.arrived), "cudaEventSynchronize");
  return buffer_.memory;
}

mapped_memory::mapped_memory(int ordinal, cudaStream_t order) : ordinal_(ordinal), order_(order) {
  const device_guard guard(ordinal_);
  buffer_ = take_readback_buffer(ordinal_);
  std::memset(buffer_.memory, 0, readback_buffer::bytes);
}

mapped_memory::mapped_memory(mapped_memory&& other) noexcept
    : ordinal_(other.ordinal_),
      order_(other.order_),
      buffer_(std::exchange(other.buffer_, {})),
      written_(other.written_) {}

mapped_memory::~mapped_memory() {
  if (buffer_.memory == nullptr) return;
  if (!written_) (void)cudaStreamSynchronize(order_);
  give_back(buffer_, ordinal_);
}

void mapped_memory::wait() {
  const device_guard guard(ordinal_);
  check_cuda(cudaStreamSynchronize(order_), "cudaStreamSynchronize");
  written_ = true;
}

cuda_pool::cuda_pool(int ordinal, std::string name) : ordinal_(ordinal), name_(std::move(name)) {
  const device_guard guard(ordinal_);
  std::size_t free = 0;
  check_cuda(cudaMemGetInfo(&free, &total_), "cudaMemGetInfo");
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = ordinal_;
  check_cuda(cudaMemPoolCreate(&pool_, &properties), "cudaMemPoolCreate");
  std::uint64_t threshold = std::numeric_limits<std::uint64_t>::max();
  const cudaError_t status = cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &threshold);
  if (status != cudaSuccess) {
    (void)cudaMemPoolDestroy(pool_);
    check_cuda(status, "cudaMemPoolSetAttribute");
  }
}

// Memory whose deallocation is still queued is released when that is done. At process exit the runtime may be shut down
// already, and the memory released with it.
cuda_pool::~cuda_pool() { (void)cudaMemPoolDestroy(pool_); }

void* cuda_pool::allocate(std::size_t bytes, const stream& s) {
  const device_guard guard(ordinal_);
  if (bytes > total_) throw out_of_memory(name_, bytes, info().free);
  const cudaStream_t native = cuda_backend::native(s);
  void* p = nullptr;
  cudaError_t status = cudaMallocFromPoolAsync(&p, bytes, pool_, native);
  if (status == cudaErrorMemoryAllocation) {
    // Memory that other streams deallocated becomes usable once they have reached the deallocation; memory that the
    // pool caches in other sizes becomes usable once it is returned to the GPU.
    (void)cudaGetLastError();
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    check_cuda(cudaMemPoolTrimTo(pool_, 0), "cudaMemPoolTrimTo");
    status = cudaMallocFromPoolAsync(&p, bytes, pool_, native);
  }
  if (status == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    throw out_of_memory(name_, bytes, info().free);
  }
  check_cuda(status, "cudaMallocFromPoolAsync", bytes);
  return p;
}

void cuda_pool::deallocate(void* p, std::size_t, const stream& s) noexcept {
  if (p == nullptr) return;
  // Fails only after an error that has ended the GPU's context; then the memory is released with it.
  try {
    const device_guard guard(ordinal_);
    if (cudaFreeAsync(p, cuda_backend::native(s)) != cudaSuccess) (void)cudaGetLastError();
  } catch (const error&) {
  }
}

memory_info cuda_pool::info() const {
  const device_guard guard(ordinal_);
  memory_info found;
  check_cuda(cudaMemGetInfo(&found.free, &found.total), "cudaMemGetInfo");
  std::uint64_t reserved = 0;
  std::uint64_t used = 0;
  check_cuda(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrReservedMemCurrent, &reserved), "cudaMemPoolGetAttribute");
  check_cuda(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrUsedMemCurrent, &used), "cudaMemPoolGetAttribute");
  found.free += reserved - std::min(reserved, used);
  return found;
}

std::shared_ptr<device_impl> cuda_device::with_pool(std::shared_ptr<memory_resource> pool) const {
  return std::make_shared<cuda_device>(processor_, std::move(pool));
}

std::shared_ptr<stream_impl> cuda_device::make_stream() const {
  const device_guard guard(ordinal());
  cudaStream_t native = nullptr;
  check_cuda(cudaStreamCreateWithFlags(&native, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  try {
    return std::make_shared<cuda_stream>(ordinal(), native, true);
  } catch (...) {
    (void)cudaStreamDestroy(native);
    throw;
  }
}

std::shared_ptr<stream_impl> cuda_device::wrap_stream(void* native) const {
  return std::make_shared<cuda_stream>(ordinal(), static_cast<cudaStream_t>(native), false);
}

std::shared_ptr<const void> cuda_device::register_host(const void* p, std::size_t bytes) const {
  const int gpu = ordinal();
  const device_guard guard(gpu);
  int same_address = 0;
  check_cuda(cudaDeviceGetAttribute(&same_address, cudaDevAttrCanUseHostPointerForRegisteredMem, gpu),
             "cudaDeviceGetAttribute");
  if (same_address == 0) throw error(name() + " cannot read host memory at the host's addresses.");
  check_cuda(cudaHostRegister(const_cast<void*>(p), bytes, cudaHostRegisterPortable | cudaHostRegisterMapped),
             "cudaHostRegister", bytes);
  const auto unmap = [gpu](const void* mapped) {  // as for device memory, this fails only if the GPU is lost
    try {
      const device_guard there(gpu);
      if (cudaHostUnregister(const_cast<void*>(mapped)) != cudaSuccess) (void)cudaGetLastError();
    } catch (const error&) {
    }
  };
  return {p, unmap};
}

bool cuda_device::is_local(const void* p) const {
  cudaPointerAttributes attributes{};
  check_cuda(cudaPointerGetAttributes(&attributes, p), "cudaPointerGetAttributes");
  const bool on_gpu = attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged;
  return on_gpu && attributes.device == ordinal();
}

bool cuda_device::is_pinned(const void* p) const {
  cudaPointerAttributes attributes{};
  check_cuda(cudaPointerGetAttributes(&attributes, p), "cudaPointerGetAttributes");
  return attributes.type == cudaMemoryTypeHost;
}

void cuda_device::copy(void* to, const void* from, std::size_t bytes, stream_impl& s) const {
  const device_guard guard(ordinal());
  const auto native = static_cast<cudaStream_t>(s.native());
  check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, native), "cudaMemcpyAsync");
}

void cuda_device::fill(void* to, unsigned char byte, std::size_t bytes, stream_impl& s) const {
  const device_guard guard(ordinal());
  check_cuda(cudaMemsetAsync(to, byte, bytes, static_cast<cudaStream_t>(s.native())), "cudaMemsetAsync");
}

void cuda_device::enqueue(stream_impl&, std::function<void()> work) const {
  const device_guard guard(ordinal());
  work();
}

void cuda_device::invoke_in_order(stream_impl&, const std::function<void()>& work) const {
  const device_guard guard(ordinal());
  work();
}

namespace {

__global__ void probe_kernel() {}

// Throws if this build contains no code for the GPU, or if the GPU does not support stream-ordered allocation.
void check_usable(int ordinal) {
  const device_guard guard(ordinal);
  cudaFuncAttributes attributes{};
  check_cuda(cudaFuncGetAttributes(&attributes, probe_kernel), "Loading code for this GPU");
  int pools = 0;
  check_cuda(cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, ordinal), "cudaDeviceGetAttribute");
  if (pools == 0) throw error("This GPU has no memory pools; use device::cpu().");
}

std::shared_ptr<cuda_device::processor> make_processor(int ordinal) {
  check_usable(ordinal);
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, ordinal), "cudaGetDeviceProperties");
  const std::string name = properties.name;
  return std::make_shared<cuda_device::processor>(
      cuda_device::processor{ordinal, name, std::make_shared<cuda_stream>(ordinal, cudaStreamLegacy, false),
                             std::make_shared<cuda_pool>(ordinal, name), std::make_shared<cuda_host_pool>(ordinal)});
}

}  // namespace

cuda_device_count count_cuda_devices() {
  int devices = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);
  if (status != cudaSuccess) {
    (void)cudaGetLastError();
    return {0, cudaGetErrorString(status)};
  }
  return {devices, devices == 0 ? "the driver shows no GPU" : ""};
}

std::shared_ptr<device_impl> make_cuda_device(int ordinal) {
  const cuda_device_count page_usage = count_cuda_devices();
  if (page_usage.devices == 0) throw error("No GPU can be used: " + page_usage.reason + "; use device::cpu().");
  if (ordinal < 0 || ordinal >= page_usage.devices) {
    throw error("There is no GPU " + std::to_string(ordinal) + "; the first is 0 and there are " +
                std::to_string(page_usage.devices) + ".");
  }
  static std::mutex mutex;
  static std::map<int, std::weak_ptr<cuda_device::processor>> processors;
  const std::lock_guard lock(mutex);
  std::shared_ptr<cuda_device::processor> processor = processors[ordinal].lock();
  if (processor == nullptr) {
    processor = make_processor(ordinal);
    processors[ordinal] = processor;
  }
  return std::make_shared<cuda_device>(processor, processor->pool);
}

std::shared_ptr<stream_impl> make_cuda_stream(void* native) {
  int ordinal = 0;
  check_cuda(cudaStreamGetDevice(static_cast<cudaStream_t>(native), &ordinal), "cudaStreamGetDevice");
  return std::make_shared<cuda_stream>(ordinal, static_cast<cudaStream_t>(native), false);
}

}  // namespace espalier::detail

namespace espalier {

namespace {

int attribute(cudaDeviceAttr which, int ordinal) {
  int value = 0;
  detail::check_cuda(cudaDeviceGetAttribute(&value, which, ordinal), "cudaDeviceGetAttribute");
  return value;
}

}  // namespace

cuda_backend::cuda_backend(const device& dev) : device_(dev), ordinal_(dev.ordinal()) {
  if (dev.kind() != device_kind::cuda) throw error("cuda_backend needs a GPU device; use cpu_backend on a CPU.");
  sm_count_ = attribute(cudaDevAttrMultiProcessorCount, ordinal_);
  l2_bytes_ = static_cast<std::size_t>(attribute(cudaDevAttrL2CacheSize, ordinal_));
  shared_bytes_ = static_cast<std::size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, ordinal_));
}

}  // namespace espalier
