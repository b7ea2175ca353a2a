#include "engine/stop.hpp"

namespace espalier::engine {
namespace {

thread_local const stop_question* question_of_this_thread = nullptr;

}  // namespace

stop_scope::stop_scope(const stop_question* question) noexcept : before_(question_of_this_thread) {
  question_of_this_thread = question;
}

stop_scope::~stop_scope() { question_of_this_thread = before_; }

const stop_question* stop_scope::current() noexcept { return question_of_this_thread; }

void check_stop() {
  if (question_of_this_thread && *question_of_this_thread && (*question_of_this_thread)()) throw statement_stopped();
}

}  // namespace espalier::engine
