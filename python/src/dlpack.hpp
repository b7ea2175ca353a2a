// dlpack.hpp - arrays of other libraries by DLPack: what a capsule refers to, and capsules of our own memory.
#pragma once

#include "columns.hpp"

namespace espalier::python {

/// A tensor that a capsule gave away: freed by its producer when this object is destroyed.
class dlpack_tensor {
 public:
  /// Takes the tensor out of a capsule "dltensor" or "dltensor_versioned".
  explicit dlpack_tensor(nb::object capsule);
  ~dlpack_tensor();
  dlpack_tensor(const dlpack_tensor&) = delete;
  dlpack_tensor& operator=(const dlpack_tensor&) = delete;

  [[nodiscard]] std::uintptr_t pointer() const;
  /// (device type, device number)
  [[nodiscard]] nb::tuple device() const;
  /// (code, bits, lanes)
  [[nodiscard]] nb::tuple type() const;
  [[nodiscard]] nb::tuple shape() const;
  /// In elements; empty if the array is contiguous.
  [[nodiscard]] nb::tuple strides() const;

 private:
  nb::object capsule_;
  void* managed_ = nullptr;
  bool is_versioned_ = false;
};

/// A capsule "dltensor_versioned" (or "dltensor") of one dimension over memory that `owner` keeps alive.
[[nodiscard]] nb::object dlpack_capsule(nb::object owner, std::uintptr_t pointer, std::int64_t n, int code, int bits,
                                        int device_type, int device, bool versioned);

}  // namespace espalier::python
