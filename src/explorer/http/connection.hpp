// connection.hpp - one client of the event loop: what it has sent, what it has yet to take, and until when.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "explorer/http/limits.hpp"
#include "explorer/http/message.hpp"

namespace espalier::explorer {

/// A connection goes from `idle` to `head` to `body` to `working` to `sending`, and back to `idle` or on to `closing`.
enum class phase {
  idle,     ///< no byte of a request has arrived
  head,     ///< some of the head has
  body,     ///< the head has
  working,  ///< the request is being answered, or the next piece of the answer is being made
  sending,
  closing,  ///< the answer is sent; what arrives is dropped until the client closes the connection
  closed
};

/// Used by the event loop alone.
class connection {
 public:
  using clock = std::chrono::steady_clock;

  /// Owns the socket, which does not block.
  connection(int socket, const http_limits& limits) : socket_(socket), limits_(limits) {}
  ~connection();
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  [[nodiscard]] int socket() const { return socket_; }
  [[nodiscard]] phase now_in() const { return phase_; }
  void enter(phase next);
  [[nodiscard]] bool is_receiving() const {
    return phase_ == phase::idle || phase_ == phase::head || phase_ == phase::body || phase_ == phase::closing;
  }
  /// When this phase has to be over; `time_point::max()` while the request is being answered.
  [[nodiscard]] clock::time_point deadline() const;
  [[nodiscard]] clock::time_point since() const { return since_; }
  [[nodiscard]] clock::time_point last_progress() const { return last_progress_; }
  /// Bytes in buffers, and of the request that is being answered.
  [[nodiscard]] std::size_t memory() const;

  /// Reads what is there, up to 64 KiB. The connection is closed if the client has closed it.
  void receive();
  /// True once the request has arrived as a whole, which is then in `asked`. Throws refused.
  [[nodiscard]] bool has_head();
  [[nodiscard]] bool has_body();
  void send_continue();

  /// Begins an answer; its header lines are `head`.
  void begin_answer(std::string head, response answer, bool with_body);
  /// The next piece of an answer that comes in pieces; an empty one is the last.
  void add_piece(std::string piece);
  /// Sends what the socket takes. True: all of it is sent.
  [[nodiscard]] bool send();
  [[nodiscard]] const std::function<std::string()>& next_piece() const { return next_piece_; }
  void end_answer();

  request asked;
  bool keeps_open = true;  ///< after the answer

 private:
  int socket_;
  const http_limits& limits_;
  phase phase_ = phase::idle;
  clock::time_point since_ = clock::now(), last_progress_ = since_;
  std::size_t transferred_ = 0;  ///< in this phase
  std::string received_;
  std::size_t searched_ = 0;  ///< bytes of it in which the head does not end
  std::string head_, body_;   ///< to be sent, in this order
  std::string_view rest_;     ///< of the body
  std::size_t head_sent_ = 0;
  std::size_t body_charged_ = 0;
  std::function<std::string()> next_piece_;
  bool has_piece_ = false;  ///< one was begun, and its end has yet to be sent
};

}  // namespace espalier::explorer
