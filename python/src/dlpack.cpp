// dlpack.cpp - the structures of DLPack 1.0 (https://dmlc.github.io/dlpack/latest/c_api.html) and their capsules.
#include "dlpack.hpp"

#include <array>

namespace espalier::python {
namespace {

struct tensor {
  void* data;
  std::int32_t device_type, device_id;
  std::int32_t dimensions;
  std::uint8_t code, bits;
  std::uint16_t lanes;
  std::int64_t *shape, *strides;
  std::uint64_t byte_offset;
};
struct managed_tensor {
  tensor array;
  void* context;
  void (*deleter)(managed_tensor*);
};
struct versioned_tensor {
  std::uint32_t major, minor;
  void* context;
  void (*deleter)(versioned_tensor*);
  std::uint64_t flags;
  tensor array;
};

constexpr const char *old_name = "dltensor", *new_name = "dltensor_versioned";

const tensor& array_of(const void* managed, bool is_versioned) {
  return is_versioned ? static_cast<const versioned_tensor*>(managed)->array
                      : static_cast<const managed_tensor*>(managed)->array;
}

nb::tuple numbers(const std::int64_t* from, std::int32_t n) {
  nb::list list;
  for (std::int32_t i = 0; i < n; ++i) list.append(from[i]);
  return nb::tuple(list);
}

/// Our own tensor: both forms begin with different fields, so they are two types.
template <class Managed>
struct own_tensor {
  Managed managed{};
  std::array<std::int64_t, 1> shape{}, strides{1};
  PyObject* owner = nullptr;

  static void release(Managed* m) {
    auto* const self = static_cast<own_tensor*>(m->context);
    if (nb::is_alive()) {
      const nb::gil_scoped_acquire locked;
      Py_DECREF(self->owner);
    }
    delete self;
  }
  static void release_capsule(PyObject* capsule, const char* name) {
    if (PyCapsule_IsValid(capsule, name) == 0) return;  // taken: its consumer frees it
    auto* const m = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
    m->deleter(m);
  }
};

template <class Managed>
nb::object make(nb::object owner, const tensor& array, const char* name, PyCapsule_Destructor destroy) {
  auto made = std::make_unique<own_tensor<Managed>>();
  made->managed.array = array;
  made->shape[0] = *array.shape;
  made->managed.array.shape = made->shape.data();
  made->managed.array.strides = made->strides.data();
  made->managed.context = made.get();
  made->managed.deleter = &own_tensor<Managed>::release;
  if constexpr (std::is_same_v<Managed, versioned_tensor>) made->managed.major = 1;
  PyObject* const capsule = PyCapsule_New(&made->managed, name, destroy);
  if (capsule == nullptr) throw nb::python_error();
  made->owner = owner.release().ptr();
  made.release();
  return nb::steal(capsule);
}

}  // namespace

dlpack_tensor::dlpack_tensor(nb::object capsule) : capsule_(std::move(capsule)) {
  is_versioned_ = PyCapsule_IsValid(capsule_.ptr(), new_name) != 0;
  const char* const name = is_versioned_ ? new_name : old_name;
  void* const managed = PyCapsule_GetPointer(capsule_.ptr(), name);
  if (managed == nullptr) throw nb::python_error();
  if (is_versioned_ && static_cast<const versioned_tensor*>(managed)->major > 1) {
    throw nb::type_error("the array has a version of DLPack above 1, which this espalier does not read.");
  }
  if (PyCapsule_SetName(capsule_.ptr(), is_versioned_ ? "used_dltensor_versioned" : "used_dltensor") != 0)
    throw nb::python_error();
  managed_ = managed;
}

dlpack_tensor::~dlpack_tensor() {
  if (managed_ == nullptr) return;
  if (is_versioned_) {
    auto* const m = static_cast<versioned_tensor*>(managed_);
    if (m->deleter != nullptr) m->deleter(m);
  } else {
    auto* const m = static_cast<managed_tensor*>(managed_);
    if (m->deleter != nullptr) m->deleter(m);
  }
}

std::uintptr_t dlpack_tensor::pointer() const {
  const tensor& a = array_of(managed_, is_versioned_);
  return reinterpret_cast<std::uintptr_t>(a.data) + a.byte_offset;
}
nb::tuple dlpack_tensor::device() const {
  const tensor& a = array_of(managed_, is_versioned_);
  return nb::make_tuple(a.device_type, a.device_id);
}
nb::tuple dlpack_tensor::type() const {
  const tensor& a = array_of(managed_, is_versioned_);
  return nb::make_tuple(a.code, a.bits, a.lanes);
}
nb::tuple dlpack_tensor::shape() const {
  const tensor& a = array_of(managed_, is_versioned_);
  return numbers(a.shape, a.dimensions);
}
nb::tuple dlpack_tensor::strides() const {
  const tensor& a = array_of(managed_, is_versioned_);
  return numbers(a.strides, a.strides == nullptr ? 0 : a.dimensions);
}

nb::object dlpack_capsule(nb::object owner, std::uintptr_t pointer, std::int64_t n, int code, int bits, int device_type,
                          int device, bool versioned) {
  tensor array{};
  array.data = reinterpret_cast<void*>(pointer);
  array.device_type = device_type;
  array.device_id = device;
  array.dimensions = 1;
  array.code = static_cast<std::uint8_t>(code);
  array.bits = static_cast<std::uint8_t>(bits);
  array.lanes = 1;
  array.shape = &n;
  if (versioned) {
    return make<versioned_tensor>(std::move(owner), array, new_name, [](PyObject* capsule) {
      own_tensor<versioned_tensor>::release_capsule(capsule, new_name);
    });
  }
  return make<managed_tensor>(std::move(owner), array, old_name, [](PyObject* capsule) {
    own_tensor<managed_tensor>::release_capsule(capsule, old_name);
  });
}

}  // namespace espalier::python
