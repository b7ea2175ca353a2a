// connection.cpp - see connection.hpp.
#include "explorer/http/connection.hpp"

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "explorer/http/request_head.hpp"

namespace espalier::explorer {

namespace {

/// Frees the memory, which an assignment would keep.
void empty(std::string& text) { std::string().swap(text); }

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

connection::~connection() { ::close(socket_); }

void connection::enter(phase next) {
  phase_ = next;
  since_ = last_progress_ = clock::now();
  transferred_ = 0;
}

connection::clock::time_point connection::deadline() const {
  switch (phase_) {
    case phase::working:
    case phase::closed:
      return clock::time_point::max();
    case phase::idle:
    case phase::head:
    case phase::closing:
      return since_ + limits_.time;
    case phase::body:
    case phase::sending:
      break;
  }
  return since_ + limits_.time + std::chrono::milliseconds(transferred_ * 1000 / limits_.bytes_per_second);
}

std::size_t connection::memory() const {
  return received_.capacity() + body_charged_ + head_.capacity() + body_.capacity();
}

void connection::receive() {
  char buffer[65536];
  const ssize_t n = ::recv(socket_, buffer, sizeof buffer, 0);
  if (n < 0 && would_block()) return;
  if (n <= 0) return enter(phase::closed);
  if (phase_ == phase::idle) enter(phase::head);
  last_progress_ = clock::now();
  transferred_ += static_cast<std::size_t>(n);
  if (phase_ != phase::closing) {
    received_.append(buffer, static_cast<std::size_t>(n));
  } else if (transferred_ > limits_.dropped) {
    enter(phase::closed);
  }
}

bool connection::has_head() {
  if (received_.empty()) return false;
  if (phase_ == phase::idle) enter(phase::head);  // received together with the preceding request
  const auto size = head_size(received_, searched_, limits_);
  searched_ = received_.size();
  if (!size) return false;
  asked = parse_head(std::string_view(received_).substr(0, *size), limits_);
  received_.erase(0, *size);
  enter(phase::body);
  return true;
}

bool connection::has_body() {
  if (received_.size() < asked.body_size) return false;
  if (received_.size() == asked.body_size) {
    asked.body = std::exchange(received_, {});
  } else {
    asked.body = received_.substr(0, asked.body_size);
    received_.erase(0, asked.body_size);
  }
  searched_ = 0;
  body_charged_ = asked.body.capacity();
  return true;
}

void connection::send_continue() {
  if (asked.is_http_1_0 || asked.header("expect").empty() || received_.size() >= asked.body_size) return;
  constexpr std::string_view line = "HTTP/1.1 100 Continue\r\n\r\n";
  // Nothing else is queued for this client, so the socket buffer has space for 25 bytes.
  if (::send(socket_, line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size()))
    enter(phase::closed);
}

void connection::begin_answer(std::string head, response answer, bool with_body) {
  enter(phase::sending);
  body_charged_ = 0;
  head_ = std::move(head);
  head_sent_ = 0;
  body_ = with_body ? std::move(answer.body) : std::string();
  rest_ = !with_body ? std::string_view() : answer.constant.empty() ? std::string_view(body_) : answer.constant;
  next_piece_ = with_body ? std::move(answer.next_piece) : nullptr;
  has_piece_ = false;
}

void connection::add_piece(std::string piece) {
  enter(phase::sending);
  if (piece.empty()) next_piece_ = nullptr;
  head_.clear();
  head_sent_ = 0;
  if (!asked.is_http_1_0) {
    char size[32];
    std::snprintf(size, sizeof size, "%zx\r\n", piece.size());
    if (has_piece_) head_ = "\r\n";  // terminates the preceding chunk
    head_ += size;
    if (piece.empty()) head_ += "\r\n";
  }
  has_piece_ = true;
  body_ = std::move(piece);
  rest_ = body_;
}

bool connection::send() {
  while (head_sent_ < head_.size() || !rest_.empty()) {
    iovec parts[2] = {{head_.data() + head_sent_, head_.size() - head_sent_},
                      {const_cast<char*>(rest_.data()), rest_.size()}};  // iovec has no constant pointers
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    const ssize_t n = ::sendmsg(socket_, &message, MSG_NOSIGNAL);
    if (n < 0 && would_block()) return false;
    if (n <= 0) {
      enter(phase::closed);
      return false;
    }
    const std::size_t of_head = std::min(static_cast<std::size_t>(n), head_.size() - head_sent_);
    head_sent_ += of_head;
    rest_.remove_prefix(static_cast<std::size_t>(n) - of_head);
    transferred_ += static_cast<std::size_t>(n);
    last_progress_ = clock::now();
  }
  return true;
}

void connection::end_answer() {
  empty(head_);
  empty(body_);
  asked = {};
  if (keeps_open) return enter(phase::idle);
  empty(received_);
  ::shutdown(socket_, SHUT_WR);
  enter(phase::closing);
}

}  // namespace espalier::explorer
