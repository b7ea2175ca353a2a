// connection.hpp - one client of the event loop: received bytes, bytes to send, and deadlines.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "explorer/http/limits.hpp"
#include "explorer/http/message.hpp"

namespace espalier::explorer {

/// The phases of a connection are `idle`, `head`, `body`, `working` and `sending`, in this order, followed by `idle` or
/// `closing`.
enum class phase {
  idle,     ///< no byte of a request was received
  head,     ///< a part of the head was received
  body,     ///< the head was received
  working,  ///< a worker computes the response or its next piece
  sending,
  closing,  ///< the response was sent; input is discarded until the client closes the connection
  closed
};

/// Used by the event loop only.
class connection {
 public:
  using clock = std::chrono::steady_clock;

  /// Owns the socket, which is non-blocking.
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
  /// Returns the deadline of this phase; `time_point::max()` while the request is being processed.
  [[nodiscard]] clock::time_point deadline() const;
  [[nodiscard]] clock::time_point since() const { return since_; }
  [[nodiscard]] clock::time_point last_progress() const { return last_progress_; }
  /// Returns the bytes in buffers and of the request being processed.
  [[nodiscard]] std::size_t memory() const;

  /// Reads the available bytes, up to 64 KiB. The connection is closed if the client has closed it.
  void receive();
  /// Returns true once the head has been received; it is then in `asked`. Throws refused.
  [[nodiscard]] bool has_head();
  [[nodiscard]] bool has_body();
  void send_continue();

  /// Starts a response with the header lines `head`.
  void begin_answer(std::string head, response answer, bool with_body);
  /// Adds the next piece of a chunked response; an empty one is the last.
  void add_piece(std::string piece);
  /// Sends as much as the socket accepts. Returns true if everything was sent.
  [[nodiscard]] bool send();
  [[nodiscard]] const std::function<std::string()>& next_piece() const { return next_piece_; }
  void end_answer();

  request asked;
  bool keeps_open = true;  ///< keep the connection open after the response

 private:
  int socket_;
  const http_limits& limits_;
  phase phase_ = phase::idle;
  clock::time_point since_ = clock::now(), last_progress_ = since_;
  std::size_t transferred_ = 0;  ///< in this phase
  std::string received_;
  std::size_t searched_ = 0;  ///< prefix of it that does not contain the end of the head
  std::string head_, body_;   ///< to be sent, in this order
  std::string_view rest_;     ///< unsent rest of the body
  std::size_t head_sent_ = 0;
  std::size_t body_charged_ = 0;
  std::function<std::string()> next_piece_;
  bool has_piece_ = false;  ///< a chunk was started and its end was not sent yet
};

}  // namespace espalier::explorer
