// staging.hpp - memory of a caller that the device cannot read or write, copied through memory that it can. Context:
// see static_tree/build.hpp.
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
  /// Copies what was written, at most all of it, to where the caller wants it.
  void copy_back(Context& context, std::size_t bytes = ~std::size_t{0}) {
    if (data_ != target_) context.copy(target_, data_, std::min(bytes, bytes_));
  }

 private:
  raw_buffer hold_;
  void* target_;
  std::size_t bytes_;
  void* data_;
};

/// The work of one call: at once, and waited for if that was asked for, or behind what its stream has to do. On a GPU
/// work enqueues kernels by itself.
template <class Context, class Execution, class Work>
void execute(const device& dev, const Execution& ex, const Work& work) {
  if constexpr (Context::on_gpu) {
    work();
    if (ex.wait) ex.order.synchronize();
  } else if (ex.wait) {
    dev.invoke_in_order(ex.order, std::ref(work));  // by reference: a copy would be on the heap
  } else {
    dev.enqueue(ex.order, work);
  }
}

}  // namespace espalier::detail
