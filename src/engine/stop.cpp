#include "engine/stop.hpp"

namespace espalier::engine {
namespace {

thread_local const cancellation_token* question_of_this_thread = nullptr;

}  // namespace

cancellation_scope::cancellation_scope(const cancellation_token* question) noexcept : before_(question_of_this_thread) {
  question_of_this_thread = question;
}

cancellation_scope::~cancellation_scope() { question_of_this_thread = before_; }

const cancellation_token* cancellation_scope::current() noexcept { return question_of_this_thread; }

void check_cancelled() {
  if (question_of_this_thread && *question_of_this_thread && (*question_of_this_thread)()) throw query_cancelled();
}

}  // namespace espalier::engine
