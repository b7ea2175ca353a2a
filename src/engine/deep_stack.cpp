#include "engine/deep_stack.hpp"

#include <pthread.h>

#include <cstdint>
#include <exception>

#include "espalier/engine/engine_error.hpp"

namespace espalier::engine {
namespace {

// Statements up to this length cannot be nested so deeply that they need more than `enough`.
constexpr std::size_t short_statement = 8192;
constexpr std::size_t enough = std::size_t{4} << 20;
// libpg_query's parser takes up to 70 bytes of stack per byte of 1+1+1...; untouched pages take no memory.
constexpr std::size_t stack_per_byte = 512;
constexpr std::size_t least_stack = std::size_t{256} << 20;

// Returns the lowest address of this thread's stack, or 0 if it is unknown.
std::uintptr_t lowest_address() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
  void* lowest = nullptr;
  std::size_t size = 0;
  const bool known = pthread_attr_getstack(&attributes, &lowest, &size) == 0;
  pthread_attr_destroy(&attributes);
  return known ? reinterpret_cast<std::uintptr_t>(lowest) : 0;
}

bool has_enough_stack() {
  // It is read from /proc for the main thread, so it is cached per thread.
  thread_local const std::uintptr_t lowest = lowest_address();
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  return lowest != 0 && here > lowest && here - lowest >= enough;
}

struct call {
  const std::function<void()>& body;
  std::exception_ptr thrown;
};

void* run(void* it) {
  auto& what = *static_cast<call*>(it);
  try {
    what.body();
  } catch (...) {
    what.thrown = std::current_exception();
  }
  return nullptr;
}

}  // namespace

void with_deep_stack(std::size_t statement_bytes, const std::function<void()>& body) {
  if (statement_bytes <= short_statement && has_enough_stack()) return body();
  call what{body, nullptr};
  pthread_attr_t attributes;
  pthread_t thread;
  const std::size_t bytes = (statement_bytes * stack_per_byte + least_stack) & ~std::size_t{0xFFFF};
  bool started = pthread_attr_init(&attributes) == 0;
  if (started) {
    started =
        pthread_attr_setstacksize(&attributes, bytes) == 0 && pthread_create(&thread, &attributes, run, &what) == 0;
    pthread_attr_destroy(&attributes);
  }
  if (!started) {
    throw engine_error("There is not enough memory to run a statement of this length; split it.", codes::out_of_memory);
  }
  pthread_join(thread, nullptr);
  if (what.thrown) std::rethrow_exception(what.thrown);
}

}  // namespace espalier::engine
