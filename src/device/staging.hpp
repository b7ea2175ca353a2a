// staging.hpp - staging of caller memory that the device cannot access through memory that it can. Context is described
// in static_tree/build.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>

#include "espalier/device/buffer.hpp"

namespace espalier::detail {

template <class Context>
class staged_input {
 public:
  staged_input(Context& context, const void* p, std::size_t bytes) : data_(p) {
    if (p == nullptr || bytes == 0 || context.get_device().is_local(p)) return;
    hold_ = raw_buffer(context.get_device(), bytes, context.order());
    context.copy(hold_.data(), p, bytes);
    data_ = hold_.data();
  }
  [[nodiscard]] const void* data() const { return data_; }

 private:
  raw_buffer hold_;
  const void* data_;
};

template <class Context>
class staged_output {
 public:
  staged_output(Context& context, void* p, std::size_t bytes) : target_(p), bytes_(bytes), data_(p) {
    if (p == nullptr || bytes == 0 || context.get_device().is_local(p)) return;
    hold_ = raw_buffer(context.get_device(), bytes, context.order());
    data_ = hold_.data();
  }
  [[nodiscard]] void* data() const { return data_; }
  /// Copies the first `bytes` of the output, at most all of it, to the caller's memory.
  void copy_back(Context& context, std::size_t bytes = ~std::size_t{0}) {
    if (data_ != target_) context.copy(target_, data_, std::min(bytes, bytes_));
  }

 private:
  raw_buffer hold_;
  void* target_;
  std::size_t bytes_;
  void* data_;
};

/// Executes the work of one call: immediately, waiting if requested, or enqueued on its stream. On a GPU the work
/// itself enqueues kernels.
template <class Context, class Execution, class Work>
void execute(const device& dev, const Execution& ex, const Work& work) {
  if constexpr (Context::on_gpu) {
    work();
    if (ex.wait) ex.order.synchronize();
  } else if (ex.wait) {
    dev.invoke_in_order(ex.order, std::ref(work));  // by reference, because a copy would be on the heap
  } else {
    dev.enqueue(ex.order, work);
  }
}

}  // namespace espalier::detail
