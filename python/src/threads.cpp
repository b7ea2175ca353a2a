// threads.cpp - the CPU device of all indexes and joins of the process, and how many threads it has.
#include <nanobind/nanobind.h>

#include <atomic>

#include "columns.hpp"

namespace espalier::python {
namespace {

std::atomic<unsigned> wanted_threads{0};  // 0: as many as the process may use
std::atomic<bool> has_device{false};

device make_device() {
  has_device = true;
  if (const unsigned wanted = wanted_threads; wanted != 0) return device::cpu(wanted);
  // With one thread a loop is one piece, which Ctrl-C would not interrupt.
  return device::cpu().threads() == 1 ? device::cpu(2) : device::cpu();
}

/// Owners of shards that share a machine have a part of its cores each. Returns false, and changes nothing, if an index
/// or a join has started the threads.
bool limit_threads(unsigned threads) {
  if (threads == 0) throw nb::value_error("threads is 0; a process has one or more.");
  if (has_device) return false;
  wanted_threads = threads;
  return true;
}

}  // namespace

const device& cpu() {
  // Not destroyed: threads of the interpreter may still use it when static objects are.
  static const device* const made = new device(make_device());
  return *made;
}

void bind_threads(nb::module_& m) { m.def("limit_threads", &limit_threads, nb::arg("threads")); }

}  // namespace espalier::python
