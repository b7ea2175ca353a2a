// device_call.cpp - devices, streams, and what calls of an index and of a map have in common.
#include "device_call.hpp"

#include <cstring>
#include <functional>
#include <thread>

#include "device_pointer.hpp"
#include "kinds.hpp"

namespace espalier::python {

const device& device_at(int ordinal) {
  // Kept for ever: objects of the interpreter may use them when static objects are gone.
  static std::mutex mutex;
  static auto* const all = new std::map<int, const device*>;
  if (ordinal < 0) return cpu();
  if (!has_cuda()) {
    throw nb::value_error(
        "this build of espalier has no GPU code: build the package with "
        "--config-settings=cmake.define.ESPALIER_PYTHON_CUDA=ON, or "
        "copy the arrays to the host.");
  }
  const std::lock_guard lock(mutex);
  const device*& found = (*all)[ordinal];
  if (found == nullptr) found = new device(device::cuda(ordinal));
  return *found;
}

stream stream_at(const device& on, address handle) {
  if (on.kind() == device_kind::cpu || handle <= 1) return on.default_stream();
  return on.wrap_stream(reinterpret_cast<void*>(handle));
}

void stream_uses::note(const stream& order, address handle) {
  if (handle <= 1) return;           // the default stream frees the memory in its own order
  constexpr address per_thread = 2;  // a stream of each thread
  const address key = handle == per_thread ? std::hash<std::thread::id>{}(std::this_thread::get_id()) : handle;
  const std::lock_guard lock(mutex_);
  stream_event& last = last_[key];
  // Does nothing, unless the caller's stream was destroyed and this is a new one with its handle.
  order.wait_for(last);
  last = order.mark();
}

void stream_uses::join(const device& on) noexcept {
  const std::lock_guard lock(mutex_);
  for (const auto& [handle, mark] : last_) {
    try {
      on.default_stream().wait_for(mark);
    } catch (const error&) {  // only after an error that ended the GPU's context, and its memory
    }
  }
}

device_memory::device_memory(int ordinal, std::size_t bytes, address handle) {
  const device& on = device_at(ordinal);
  const unlocked_write released;
  memory_ = raw_buffer(on, bytes, on.default_stream());
  if (handle > 1) stream_at(on, handle).wait_for(on.default_stream().mark());
}

data_type type_of_example(nb::handle example) {
  return example.is_none() ? data_type{} : detail::import_numpy(example, "dtype").type;
}

std::uint64_t bits_of(nb::handle fallback, const data_type& type) {
  const column one = detail::import_numpy(fallback, "default");
  if (one.size != 1 || !(one.type == type))
    throw nb::type_error("default must be one value of the type of the answer.");
  std::uint64_t bits = 0;
  std::memcpy(&bits, one.data, type.width());
  return bits;
}

void throw_missing(PyObject* error, const char* sentence, std::uint64_t query) {
  PyErr_SetString(
      error,
      (std::string(sentence) + " (query " + std::to_string(query) + "); give a default to get it instead.").c_str());
  throw nb::python_error();
}

std::uint64_t settle_missing(const device_call& c, const data_type& type, const std::uint8_t* found, std::size_t n,
                             bool has_fallback, std::uint64_t bits, void* values) {
  if (has_fallback) {
    device_kernels::fill_missing(c.place(), type.width(), found, bits, n, values);
    return none_missing;
  }
  const std::uint64_t first = device_kernels::first_missing(c.place(), found, n);
  return first == n ? none_missing : first;
}

}  // namespace espalier::python
