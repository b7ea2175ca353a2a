// device.cpp - the handles `device` and `stream`, which check arguments and forward to their implementations.
#include "espalier/device/device.hpp"

#include "device/cpu_device.hpp"
#include "device/cuda_factory.hpp"
#include "device/device_impl.hpp"

namespace espalier {

namespace {

const char* kind_name(device_kind kind) { return kind == device_kind::cpu ? "CPU" : "GPU"; }

// A cudaStream_t of the caller that no device has resolved. A device that resolves it knows the GPU; the calls below
// ask CUDA.
class caller_cuda_stream final : public detail::stream_impl {
 public:
  explicit caller_cuda_stream(CUstream_st* native) : native_(native) {}
  [[nodiscard]] device_kind kind() const noexcept override { return device_kind::cuda; }
  [[nodiscard]] bool has_device() const noexcept override { return false; }
  [[nodiscard]] std::uint64_t id() const override { return on_its_gpu()->id(); }
  void synchronize() override { on_its_gpu()->synchronize(); }
  void synchronize_blocking() override { on_its_gpu()->synchronize_blocking(); }
  [[nodiscard]] bool is_done() const override {
    try {
      return on_its_gpu()->is_done();
    } catch (const error&) {  // a stream that cannot be used has failed
      return true;
    }
  }
  [[nodiscard]] std::shared_ptr<const detail::event_impl> mark() override { return on_its_gpu()->mark(); }
  void wait_for(const detail::event_impl& mark) override { on_its_gpu()->wait_for(mark); }
  [[nodiscard]] void* native() const noexcept override { return native_; }

 private:
  [[nodiscard]] std::shared_ptr<detail::stream_impl> on_its_gpu() const { return detail::make_cuda_stream(native_); }

  CUstream_st* native_;
};

// Returns the implementation of a stream: the default stream for an empty handle. Throws for a stream of another kind
// of device.
std::shared_ptr<detail::stream_impl> stream_for(const detail::device_impl& dev, const stream& s) {
  if (!s) return dev.default_stream();
  if (s.state()->kind() != dev.kind()) {
    throw error(std::string("A ") + kind_name(s.state()->kind()) + " stream was given to a " + kind_name(dev.kind()) +
                " device; make the stream with that device's make_stream().");
  }
  return s.state()->has_device() ? s.state() : dev.wrap_stream(s.native());
}

}  // namespace

std::shared_ptr<detail::stream_impl> stream::of_cuda(CUstream_st* native) {
  return std::make_shared<caller_cuda_stream>(native);
}

void stream::synchronize() const {
  if (state_ == nullptr) {
    throw error("An empty stream belongs to no device; use device.default_stream().synchronize().");
  }
  state_->synchronize();
}

bool stream::is_done() const { return state_ == nullptr || state_->is_done(); }

stream_event stream::mark() const { return state_ == nullptr ? stream_event() : stream_event(state_->mark()); }

void stream::wait_for(const stream_event& mark) const {
  if (mark.state() == nullptr) return;
  if (state_ == nullptr) throw error("wait_for: say which stream is to wait; this one is empty.");
  if (mark.state()->kind() != state_->kind())
    throw error("wait_for: the mark is of a stream of another kind of device.");
  state_->wait_for(*mark.state());
}

void* stream::native() const { return state_ == nullptr ? nullptr : state_->native(); }

device device::cpu(unsigned threads) { return device(detail::make_cpu_device(threads)); }

device device::cuda(int ordinal) { return device(detail::make_cuda_device(ordinal)); }

device device::default_device() {
  for (int ordinal = 0; ordinal < detail::count_cuda_devices().devices; ++ordinal) {
    try {
      return cuda(ordinal);
    } catch (const error&) {  // this GPU cannot be used: try the next one, or the CPU
    }
  }
  return cpu();
}

std::vector<device> device::all() {
  std::vector<device> found{cpu()};
  for (int ordinal = 0; ordinal < detail::count_cuda_devices().devices; ++ordinal) {
    try {
      found.push_back(cuda(ordinal));
    } catch (const error&) {  // unusable GPUs are not listed
    }
  }
  return found;
}

device_kind device::kind() const noexcept { return state_->kind(); }
std::string device::name() const { return state_->name(); }
unsigned device::threads() const noexcept { return state_->threads(); }
int device::ordinal() const noexcept { return state_->ordinal(); }
memory_info device::memory() const { return state_->pool()->info(); }

device device::with_pool(std::shared_ptr<memory_resource> pool) const {
  if (pool == nullptr) throw error("with_pool() was given no pool; pass device.pool() to keep the present one.");
  return device(state_->with_pool(std::move(pool)));
}

const std::shared_ptr<memory_resource>& device::pool() const noexcept { return state_->pool(); }
const std::shared_ptr<memory_resource>& device::host_pool() const noexcept { return state_->host_pool(); }

stream device::default_stream() const { return stream(state_->default_stream()); }
stream device::make_stream() const { return stream(state_->make_stream()); }
stream device::resolve(const stream& s) const { return stream(stream_for(*state_, s)); }
stream device::wrap_stream(void* native) const { return stream(state_->wrap_stream(native)); }

bool device::is_local(const void* p) const { return state_->is_local(p); }
bool device::is_pinned(const void* p) const { return state_->is_pinned(p); }
std::shared_ptr<const void> device::register_host(const void* p, std::size_t bytes) const {
  return state_->register_host(p, bytes);
}

void device::copy(void* to, const void* from, std::size_t bytes, const stream& s) const {
  const auto order = stream_for(*state_, s);
  if (bytes != 0) state_->copy(to, from, bytes, *order);
}

void device::fill(void* to, unsigned char byte, std::size_t bytes, const stream& s) const {
  const auto order = stream_for(*state_, s);
  if (bytes != 0) state_->fill(to, byte, bytes, *order);
}

void device::enqueue(const stream& s, std::function<void()> work) const {
  state_->enqueue(*stream_for(*state_, s), std::move(work));
}

void device::invoke_in_order(const stream& s, const std::function<void()>& work) const {
  state_->invoke_in_order(*stream_for(*state_, s), work);
}

}  // namespace espalier
