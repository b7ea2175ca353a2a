// listener.hpp - HTTP/1.1 for a service: one thread polls all sockets, so that a client that sends or reads slowly
// costs a buffer and no thread; other threads process complete requests.
//
// Invariants: a connection has at most one request being processed. Only the event loop accesses connections; responses
// reach it through `finished_`. Every phase of a connection has a deadline, except the one in which a request is being
// processed.
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
  /// Binds the port, 0 for any free one; throws `error` on failure.
  listener(const std::string& host, int port, const http_limits& limits, service& served);
  ~listener();
  listener(const listener&) = delete;
  listener& operator=(const listener&) = delete;

  [[nodiscard]] int port() const { return socket_.port(); }
  /// Returns true if other machines cannot reach it.
  [[nodiscard]] bool is_loopback() const { return socket_.is_loopback(); }
  /// Serves until stop(), which may be called from any thread.
  void serve();
  [[nodiscard]] bool is_serving() const { return serving_; }
  void stop();

 private:
  using clock = connection::clock;
  using name = std::uint64_t;
  /// The result of a worker: a response, its next piece, or nothing if that failed.
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
  worker_pool readers_, writers_, senders_;  // destroyed first, since their jobs use the other members
};

}  // namespace espalier::explorer
