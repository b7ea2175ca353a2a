// interruption.cpp - see interruption.hpp.
#include "espalier/device/interruption.hpp"

namespace espalier {
namespace {

thread_local const std::function<void()>* check_of_this_thread = nullptr;

}  // namespace

interruption_scope::interruption_scope(const std::function<void()>& check) noexcept : outer_(check_of_this_thread) {
  check_of_this_thread = &check;
}

interruption_scope::~interruption_scope() { check_of_this_thread = outer_; }

const std::function<void()>* interruption_scope::current() noexcept { return check_of_this_thread; }

}  // namespace espalier
