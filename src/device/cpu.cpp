// cpu.cpp - the CPU as a device, and the access of cpu_backend to its threads.
#include "espalier/device/cpu.hpp"

#include <cstring>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "device/cpu_device.hpp"
#include "device/cpu_pool.hpp"
#include "device/system.hpp"
#include "espalier/device/interruption.hpp"

namespace espalier::detail {

cpu_processor::cpu_processor(unsigned threads) : threads_(threads), name_(processor_name()), loop_(threads) {}

namespace {

/// Default streams of one thread, one for each number of threads of a device.
struct default_streams {
  std::vector<std::pair<unsigned, std::shared_ptr<cpu_stream>>> own;
  ~default_streams();
};
// Objects of static storage duration, and older thread-local ones, are destroyed after the streams.
thread_local bool default_streams_ended = false;
default_streams::~default_streams() { default_streams_ended = true; }

}  // namespace

std::shared_ptr<stream_impl> cpu_device::default_stream() const {
  if (default_streams_ended) return std::make_shared<cpu_stream>();
  thread_local default_streams streams;
  for (const auto& [threads, order] : streams.own) {
    if (threads == processor_->threads()) return order;
  }
  streams.own.emplace_back(processor_->threads(), std::make_shared<cpu_stream>());
  return streams.own.back().second;
}

std::shared_ptr<device_impl> cpu_device::with_pool(std::shared_ptr<memory_resource> pool) const {
  return std::make_shared<cpu_device>(processor_, std::move(pool));
}

std::shared_ptr<stream_impl> cpu_device::wrap_stream(void*) const {
  throw error("wrap_stream() takes a cudaStream_t and needs a GPU device; use make_stream() on a CPU.");
}

namespace {

constexpr std::size_t copy_grain = std::size_t{1} << 20;  // below this, one core copies in the time of a fork

struct copy_job {
  unsigned char* to;
  const unsigned char* from;
};

struct fill_job {
  unsigned char* to;
  unsigned char byte;
};

cpu_stream& as_cpu(stream_impl& s) { return static_cast<cpu_stream&>(s); }

void run_bytes(cpu_processor& processor, std::size_t n, range_function piece, void* context) {
  if (n <= copy_grain || processor.threads() == 1) {
    piece(context, 0, n);
  } else {
    processor.loop().run(n, copy_grain, piece, context);
  }
}

}  // namespace

void cpu_device::copy(void* to, const void* from, std::size_t bytes, stream_impl& s) const {
  copy_job job{static_cast<unsigned char*>(to), static_cast<const unsigned char*>(from)};
  constexpr auto piece = [](void* context, std::size_t first, std::size_t last) {
    const auto& j = *static_cast<copy_job*>(context);
    std::memcpy(j.to + first, j.from + first, last - first);
  };
  as_cpu(s).invoke_in_order([&] { run_bytes(*processor_, bytes, piece, &job); });
}

void cpu_device::fill(void* to, unsigned char byte, std::size_t bytes, stream_impl& s) const {
  fill_job job{static_cast<unsigned char*>(to), byte};
  constexpr auto piece = [](void* context, std::size_t first, std::size_t last) {
    const auto& j = *static_cast<fill_job*>(context);
    std::memset(j.to + first, j.byte, last - first);
  };
  as_cpu(s).invoke_in_order([&] { run_bytes(*processor_, bytes, piece, &job); });
}

void cpu_device::enqueue(stream_impl& s, std::function<void()> work) const { as_cpu(s).enqueue(std::move(work)); }
void cpu_device::invoke_in_order(stream_impl& s, const std::function<void()>& work) const {
  as_cpu(s).invoke_in_order(work);
}

std::shared_ptr<device_impl> make_cpu_device(unsigned threads) {
  constexpr unsigned most = 4096;  // a larger number is a mistake in the argument
  if (threads == 0) threads = usable_processors();
  if (threads > most) throw error("A CPU device has at most 4096 threads; pass 0 for all cores.");
  static std::mutex mutex;
  static std::map<unsigned, std::weak_ptr<cpu_processor>> processors;
  static std::weak_ptr<memory_resource> shared_pool;

  const std::lock_guard lock(mutex);
  std::shared_ptr<cpu_processor> processor = processors[threads].lock();
  if (processor == nullptr) {
    processor = std::make_shared<cpu_processor>(threads);
    processors[threads] = processor;
  }
  std::shared_ptr<memory_resource> pool = shared_pool.lock();
  if (pool == nullptr) {
    pool = std::make_shared<cpu_pool>(processor->name());
    shared_pool = pool;
  }
  return std::make_shared<cpu_device>(std::move(processor), std::move(pool));
}

}  // namespace espalier::detail

namespace espalier {

// A loop of one thread is one piece, which the inline part of for_each_chunk() calls, so nothing could interrupt it. A
// backend that is made in an interruption scope therefore divides its loops as for two threads: they reach run(), whose
// pieces are checked, and are still executed by the one thread of the device.
cpu_backend::cpu_backend(const device& dev) : device_(dev), threads_(dev.threads()) {
  if (dev.kind() != device_kind::cpu) throw error("cpu_backend needs a CPU device; use cuda_backend on a GPU.");
  if (threads_ == 1 && interruption_scope::current() != nullptr) threads_ = 2;
}

void cpu_backend::run(std::size_t n, std::size_t grain, void (*piece)(void*, std::size_t, std::size_t),
                      void* context) const {
  static_cast<detail::cpu_device&>(*device_.state()).processor().loop().run(n, grain, piece, context);
}

}  // namespace espalier
