// listener.hpp - HTTP/1.1 for a service: one thread waits for all sockets, so that a client that sends or reads slowly
// costs a buffer and no thread; other threads answer whole requests.
//
// Invariants: a connection has at most one request that is being answered. Only the event loop touches connections;
// answers reach it through `finished_`. Every phase of a connection has a deadline, except that in which a request is
// being answered.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "explorer/http/connection.hpp"
#include "explorer/http/listening_socket.hpp"
#include "explorer/http/service.hpp"
#include "explorer/http/worker_pool.hpp"

namespace espalier::explorer {

class listener {
 public:
  /// Takes the port, 0 for any that is free; throws `error` if it cannot.
  listener(const std::string& host, int port, const http_limits& limits, service& served);
  ~listener();
  listener(const listener&) = delete;
  listener& operator=(const listener&) = delete;

  [[nodiscard]] int port() const { return socket_.port(); }
  /// No other machine can reach it.
  [[nodiscard]] bool is_loopback() const { return socket_.is_loopback(); }
  /// Answers until stop(), which may come from any thread.
  void serve();
  [[nodiscard]] bool is_serving() const { return serving_; }
  void stop();

 private:
  using clock = connection::clock;
  using name = std::uint64_t;
  /// What a worker has made: an answer, or the next piece of one; nothing if that failed half way.
  struct finished_work {
    name whose;
    std::variant<std::monostate, response, std::string> what;
  };

  void wait();
  void accept_clients();
  void advance(name id, connection& c);
  [[nodiscard]] bool take_step(name id, connection& c);
  [[nodiscard]] bool take_request(name id, connection& c);
  void answer(name id, connection& c);
  void give_to(worker_pool& pool, name id, std::function<void()> work);
  void begin_answer(connection& c, response what);
  void refuse(connection& c, const refused& why);
  void make_next_piece(name id, connection& c);
  void take_finished();
  void finish(finished_work work);
  void end_overdue();
  void bound_memory();
  bool close_longest_waiting();
  void wake();

  const http_limits limits_;
  service& service_;
  listening_socket socket_;
  int wake_read_ = -1, wake_write_ = -1;
  std::atomic<bool> serving_ = false, stopping_ = false;
  std::map<name, std::unique_ptr<connection>> connections_;
  name connections_made_ = 0;
  bool out_of_sockets_ = false;
  std::mutex mutex_;
  std::vector<finished_work> finished_;
  worker_pool readers_, writers_, senders_;  // destroyed first: their jobs use the rest
};

}  // namespace espalier::explorer
