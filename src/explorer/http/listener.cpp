// listener.cpp - see listener.hpp.
#include "explorer/http/listener.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "espalier/core/error.hpp"

namespace espalier::explorer {

namespace {

/// All `readers` may be blocked by one busy session; the sending threads compute the pieces of responses.
constexpr unsigned reading_threads = 8, writing_threads = 16, sending_threads = 2;
/// Connections with more memory than this are candidates for closing.
constexpr std::size_t much = std::size_t{64} << 10;

/// The work of a request being processed would be lost.
bool can_be_closed(const connection& c) { return c.now_in() != phase::working && c.now_in() != phase::closed; }

/// Out of memory closes the affected connection only.
template <class Work>
void contain(connection& c, Work work) {
  try {
    work();
  } catch (const std::bad_alloc&) {
    c.enter(phase::closed);
  }
}

}  // namespace

listener::listener(const std::string& host, int port, const http_limits& limits, service& served)
    : limits_(limits),
      service_(served),
      socket_(host, port),
      readers_(reading_threads, limits.waiting),
      writers_(writing_threads, limits.waiting),
      senders_(sending_threads, limits.connections) {
  int ends[2];
  if (::pipe(ends) != 0) throw error("the system has no file descriptors left.");
  wake_read_ = ends[0];
  wake_write_ = ends[1];
  for (const int end : ends) {
    ::fcntl(end, F_SETFD, FD_CLOEXEC);
    ::fcntl(end, F_SETFL, O_NONBLOCK);
  }
}

listener::~listener() {
  ::close(wake_read_);
  ::close(wake_write_);
}

void listener::serve() {
  serving_ = true;
  while (!stopping_) {
    wait();
    take_finished();
    end_overdue();
    bound_memory();
    std::erase_if(connections_, [](const auto& c) { return c.second->now_in() == phase::closed; });
  }
  connections_.clear();
  serving_ = false;
}

void listener::stop() {
  stopping_ = true;
  wake();
}

void listener::wake() {
  const char any = 0;
  // A full pipe wakes the loop, too.
  [[maybe_unused]] const ssize_t n = ::write(wake_write_, &any, 1);
}

/// Waits for a socket, a worker or a deadline, and serves the sockets.
void listener::wait() {
  // A connection whose request is being processed is not polled: it could only report that its client is gone.
  std::vector<pollfd> watched{{wake_read_, POLLIN, 0}, {out_of_sockets_ ? -1 : socket_.descriptor(), POLLIN, 0}};
  std::vector<std::pair<name, connection*>> whose;
  clock::time_point next = clock::now() + (out_of_sockets_ ? std::chrono::milliseconds(100) : std::chrono::hours(1));
  for (const auto& [id, c] : connections_) {
    next = std::min(next, c->deadline());
    if (c->now_in() == phase::working) continue;
    watched.push_back({c->socket(), static_cast<short>(c->is_receiving() ? POLLIN : POLLOUT), 0});
    whose.emplace_back(id, c.get());
  }
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(next - clock::now()).count() + 1;
  out_of_sockets_ = false;
  if (::poll(watched.data(), static_cast<nfds_t>(watched.size()), static_cast<int>(std::max<long>(left, 0))) <= 0)
    return;
  char any[256];
  while (watched[0].revents != 0 && ::read(wake_read_, any, sizeof any) > 0) {
  }
  for (std::size_t i = 0; i < whose.size(); ++i) {
    if (watched[i + 2].revents == 0) continue;
    auto [id, c] = whose[i];
    advance(id, *c);
  }
  if (watched[1].revents != 0) accept_clients();
}

void listener::accept_clients() {
  for (int i = 0; i < 64; ++i) {
    const int client = socket_.accept();
    if (client < 0) {
      // The client stays in the backlog. If no connection can be closed for it, the loop retries later.
      if (errno == EMFILE || errno == ENFILE) out_of_sockets_ = !close_longest_waiting();
      return;
    }
    if (connections_.size() >= limits_.connections && !close_longest_waiting()) {
      ::close(client);
      continue;
    }
    connections_.emplace(++connections_made_, std::make_unique<connection>(client, limits_));
  }
}

bool listener::close_longest_waiting() {
  auto oldest = connections_.end();
  for (auto c = connections_.begin(); c != connections_.end(); ++c) {
    if (c->second->now_in() == phase::closed) {
      oldest = c;
      break;
    }
    if (!can_be_closed(*c->second)) continue;
    if (oldest == connections_.end() || c->second->since() < oldest->second->since()) oldest = c;
  }
  if (oldest == connections_.end()) return false;
  connections_.erase(oldest);
  return true;
}

/// Performs all steps of a connection that do not block.
void listener::advance(name id, connection& c) {
  contain(c, [&] {
    if (c.is_receiving()) c.receive();
    while (take_step(id, c)) {
    }
  });
}

/// Returns true if there may be more to do.
bool listener::take_step(name id, connection& c) {
  switch (c.now_in()) {
    case phase::idle:
    case phase::head:
    case phase::body:
      return take_request(id, c);
    case phase::sending:
      if (!c.send()) return false;
      if (c.next_piece()) {
        make_next_piece(id, c);
        return false;
      }
      c.end_answer();
      return true;
    case phase::working:
    case phase::closing:
    case phase::closed:
      return false;
  }
  return false;
}

bool listener::take_request(name id, connection& c) {
  try {
    if (c.now_in() != phase::body) {
      if (!c.has_head()) return false;
      c.keeps_open = c.asked.keeps_connection;
      service_.admit(c.asked);
      c.send_continue();
    }
    if (c.now_in() != phase::body || !c.has_body()) return false;
    answer(id, c);
  } catch (const refused& why) {
    refuse(c, why);
  }
  return true;
}

void listener::answer(name id, connection& c) {
  const answered_by by = service_.thread_for(c.asked);
  if (by == answered_by::event_loop) return begin_answer(c, service_.answer(c.asked));
  c.enter(phase::working);
  std::string body = std::move(c.asked.body);
  const auto whole = std::make_shared<request>(c.asked);
  whole->body = std::move(body);
  give_to(by == answered_by::readers ? readers_ : writers_, id, [this, id, whole] {
    finish({id, service_.answer(*whole)});
  });
}

void listener::give_to(worker_pool& pool, name id, std::function<void()> work) {
  const auto dropped = pool.enqueue(id, std::move(work));
  if (dropped) finish({*dropped, service_.explain(refused(429, "Too many requests are waiting: try again later."))});
}

void listener::begin_answer(connection& c, response what) {
  const bool ends_with_connection = what.next_piece && c.asked.is_http_1_0;
  if (ends_with_connection) c.keeps_open = false;
  std::string head = head_of(what, c.asked, c.keeps_open, service_.header_lines());
  c.begin_answer(std::move(head), std::move(what), c.asked.method != "HEAD");
}

/// The following bytes of this connection may be the rest of the request, so the connection is closed.
void listener::refuse(connection& c, const refused& why) {
  c.keeps_open = false;
  begin_answer(c, service_.explain(why));
}

void listener::make_next_piece(name id, connection& c) {
  c.enter(phase::working);
  give_to(senders_, id, [this, id, next = c.next_piece()] {
    try {
      finish({id, next()});
    } catch (const std::exception&) {
      // The response has started, so the error can only be signalled by closing the connection.
      finish({id, std::monostate()});
    }
  });
}

/// Called by workers.
void listener::finish(finished_work work) {
  {
    const std::lock_guard lock(mutex_);
    finished_.push_back(std::move(work));
  }
  wake();
}

void listener::take_finished() {
  std::vector<finished_work> done;
  {
    const std::lock_guard lock(mutex_);
    done.swap(finished_);
  }
  for (finished_work& work : done) {
    const auto found = connections_.find(work.whose);
    if (found == connections_.end()) continue;
    connection& c = *found->second;
    contain(c, [&] {
      if (auto* whole = std::get_if<response>(&work.what)) {
        begin_answer(c, std::move(*whole));
      } else if (auto* piece = std::get_if<std::string>(&work.what)) {
        c.add_piece(std::move(*piece));
      } else {
        c.enter(phase::closed);
      }
    });
    advance(work.whose, c);
  }
}

void listener::end_overdue() {
  const auto now = clock::now();
  for (const auto& [id, c] : connections_) {
    if (now < c->deadline()) continue;
    if (c->now_in() == phase::head || c->now_in() == phase::body) {
      contain(*c, [&] { refuse(*c, refused(408, "The request took too long to arrive: send it again.")); });
      advance(id, *c);
    } else {
      c->enter(phase::closed);
    }
  }
}

/// Clients without progress are closed first. The most recent response is kept, even if it alone exceeds the limit: the
/// first piece of a trace may, and the service limits their number. Requests have no such exception, since while some
/// are being processed, others could grow one after another.
void listener::bound_memory() {
  std::size_t sum = 0;
  std::vector<connection*> large;
  for (const auto& [id, c] : connections_) {
    sum += c->memory();
    if (can_be_closed(*c) && c->memory() > much) large.push_back(c.get());
  }
  std::sort(large.begin(), large.end(),
            [](const connection* a, const connection* b) { return a->last_progress() < b->last_progress(); });
  const auto is_answer = [](const connection* c) { return c->now_in() == phase::sending; };
  const auto last_answer = std::find_if(large.rbegin(), large.rend(), is_answer);
  for (auto c = large.begin(); c != large.end() && sum > limits_.memory; ++c) {
    if (last_answer != large.rend() && *c == *last_answer) continue;
    sum -= (*c)->memory();
    (*c)->enter(phase::closed);
  }
}

}  // namespace espalier::explorer
