// bounds_test.cpp - clients that send slowly, without an end, or do not read: what they cost is bounded, and others are
// answered.
#include <atomic>
#include <latch>

#include "explorer/explorer_fixture.hpp"
#include "explorer/http/worker_pool.hpp"
#include "explorer/raw_client.hpp"

namespace espalier::test {
namespace {

class explorer_bounds : public explorer_test {
 protected:
  [[nodiscard]] std::string head(const std::string& request_line) const {
    return request_line + " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(server_->port()) + "\r\n";
  }
  [[nodiscard]] std::vector<raw_client> connect(std::size_t n, const std::string& first_bytes) const {
    std::vector<raw_client> clients;
    for (std::size_t i = 0; i < n; ++i) {
      EXPECT_TRUE(clients.emplace_back(server_->port()).is_connected());
      clients.back().send(first_bytes);
    }
    return clients;
  }
  /// Sends that again and again until the server closes the connection or 64 MiB are sent; how much was sent.
  static std::size_t send_without_end(raw_client& client, const std::string& piece) {
    std::size_t sent = 0;
    while (sent < (std::size_t{64} << 20) && client.send(piece)) sent += piece.size();
    return sent;
  }
  void restart(const explorer::http_limits& limits) {
    stop();
    explorer::server_options options;
    options.http = limits;
    options.limits.calls_per_second = 100'000;
    start(options);
  }
  void expect_others_are_answered() const {
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(get("/").status, 200);
      EXPECT_EQ(get("/api/v1/info").status, 200);
      EXPECT_EQ(post("/api/v1/check", "", "application/x-ndjson").status, 400);
    }
  }
};

/// What a server may have taken of a request without an end: its own bound, and what both ends of a connection buffer.
constexpr std::size_t bounded = std::size_t{32} << 20;

/// Sends one byte more to the server from each client ten times a second, as long as it lives.
class trickle {
 public:
  explicit trickle(std::vector<raw_client>& clients)
      : thread_([this, &clients] {
          while (!ends_) {
            for (raw_client& c : clients) c.send("x");
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
          }
        }) {}
  ~trickle() {
    ends_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

class explorer_slow_clients : public explorer_bounds, public testing::WithParamInterface<std::size_t> {};

TEST_P(explorer_slow_clients, ThatSendHeadersByteByByteKeepNobodyWaiting) {
  std::vector<raw_client> slow = connect(GetParam(), head("GET /api/v1/info") + "X: ");
  const trickle bytes(slow);
  expect_others_are_answered();
}

TEST_P(explorer_slow_clients, ThatSendBodiesByteByByteKeepNobodyWaiting) {
  std::vector<raw_client> slow =
      connect(GetParam(),
              head("POST /api/v1/check") + "Content-Type: application/x-ndjson\r\nContent-Length: 60000000\r\n\r\n");
  const trickle bytes(slow);
  expect_others_are_answered();
}

TEST_P(explorer_slow_clients, ThatSendNothingKeepNobodyWaiting) {
  const std::vector<raw_client> slow = connect(GetParam(), "");
  expect_others_are_answered();
}

INSTANTIATE_TEST_SUITE_P(Clients, explorer_slow_clients, testing::Values(64, 200, 400));

TEST_F(explorer_bounds, ClientsThatDoNotReadTheirAnswersKeepNobodyWaiting) {
  std::string requests;
  for (int i = 0; i < 500; ++i) requests += head("GET /app.js") + "\r\n";  // more than the system buffers
  std::vector<raw_client> slow;
  for (int i = 0; i < 64; ++i) slow.emplace_back(server_->port(), 4096).send(requests);
  expect_others_are_answered();
}

TEST_F(explorer_bounds, AHeaderLineWithoutAnEndIsCut) {
  raw_client client(server_->port());
  client.send(head("GET /") + "X: ");
  EXPECT_LT(send_without_end(client, std::string(65536, 'x')), bounded);
  expect_others_are_answered();
}

TEST_F(explorer_bounds, HeaderLinesWithoutAnEndAreCut) {
  raw_client client(server_->port());
  client.send(head("GET /"));
  std::string lines;
  for (int i = 0; i < 4096; ++i) lines += "X: 1234567890\r\n";
  EXPECT_LT(send_without_end(client, lines), bounded);
  expect_others_are_answered();
}

TEST_F(explorer_bounds, ARequestLineWithoutAnEndIsCut) {
  raw_client client(server_->port());
  client.send("GET /");
  EXPECT_LT(send_without_end(client, std::string(65536, 'x')), bounded);
  expect_others_are_answered();
}

TEST_F(explorer_bounds, ABodyWithoutALengthIsCut) {
  raw_client client(server_->port());
  client.send(head("POST /api/v1/check") + "Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n");
  EXPECT_LT(send_without_end(client, "10000\r\n" + std::string(65536, ' ') + "\r\n"), bounded);
  expect_others_are_answered();
}

TEST_F(explorer_bounds, HeadsThatAreTooLargeGetASentence) {
  raw_client long_line(server_->port());
  long_line.send(head("GET /") + "X: " + std::string(20'000, 'x') + "\r\n\r\n");
  EXPECT_EQ(status_of(long_line.read_all()), 431);
  raw_client many_lines(server_->port());
  std::string lines;
  for (int i = 0; i < 200; ++i) lines += "X: 1\r\n";
  many_lines.send(head("GET /") + lines + "\r\n");
  EXPECT_EQ(status_of(many_lines.read_all()), 431);
  raw_client long_address(server_->port());
  long_address.send(head("GET /" + std::string(9'000, 'x')) + "\r\n");
  EXPECT_EQ(status_of(long_address.read_all()), 414);
}

TEST_F(explorer_bounds, ABodyWithoutALengthGetsASentence) {
  raw_client client(server_->port());
  client.send(head("POST /api/v1/check") +
              "Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n");
  const std::string received = client.read_all();
  EXPECT_EQ(status_of(received), 411) << received;
  EXPECT_NE(received.find("Content-Length"), std::string::npos) << received;
}

TEST_F(explorer_bounds, ACompressedBodyIsNotExpanded) {
  raw_client client(server_->port());
  client.send(head("POST /api/v1/check") +
              "Content-Type: application/x-ndjson\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}");
  client.send(head("DELETE /api/v1/sessions/s99") + "Connection: close\r\n\r\n");
  const std::string received = client.read_all();
  EXPECT_EQ(status_of(received), 415) << received;
  EXPECT_NE(received.find("Content-Encoding"), std::string::npos) << received;
}

TEST_F(explorer_bounds, ManyRangesDoNotMultiplyAnAnswer) {
  std::string ranges = "Range: bytes=0-";
  for (int i = 0; i < 500; ++i) ranges += ",0-";
  const std::size_t once = get("/app.js").text.size();
  raw_client client(server_->port());
  client.send(head("GET /app.js") + ranges + "\r\nConnection: close\r\n\r\n");
  EXPECT_LT(client.read_all().size(), once + 4096);
}

TEST_F(explorer_bounds, ARequestThatTakesTooLongIsEnded) {
  explorer::http_limits limits;
  limits.time = std::chrono::seconds(1);
  restart(limits);
  std::vector<raw_client> heads = connect(3, head("GET /") + "X: ");
  std::vector<raw_client> bodies =
      connect(3, head("POST /api/v1/check") + "Content-Type: application/x-ndjson\r\nContent-Length: 60000000\r\n\r\n");
  {
    const trickle head_bytes(heads), body_bytes(bodies);
    for (raw_client& c : heads) EXPECT_EQ(status_of(c.read_all()), 408);
    for (raw_client& c : bodies) EXPECT_EQ(status_of(c.read_all()), 408);
  }
  std::vector<raw_client> silent = connect(3, "");
  for (raw_client& c : silent) EXPECT_EQ(c.read_all(), "") << "no request was begun, so none is answered";
}

TEST_F(explorer_bounds, AnAnswerThatIsNotTakenIsEnded) {
  explorer::http_limits limits;
  limits.time = std::chrono::seconds(1);
  limits.bytes_per_second = std::size_t{16} << 20;  // the system's buffers take some megabytes for a client
  restart(limits);
  const std::string id = session({{"index", "blink"}, {"fill", {{"n", 300'000}, {"order", "sequential"}}}});
  // Four downloads at once are allowed: a fifth one succeeds when one of these clients, which do not read, was ended.
  std::vector<raw_client> slow = connect(4, head("GET /api/v1/sources/" + id + "/trace") + "\r\n");
  for (raw_client& c : slow) EXPECT_EQ(status_of(c.read_until("\r\n\r\n")), 200);
  answer last;
  for (int i = 0; i < 600 && last.status != 200; ++i) {
    last = get("/api/v1/sources/" + id + "/trace");
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  EXPECT_EQ(last.status, 200);
  bool one_was_ended = false;
  for (raw_client& c : slow) one_was_ended |= c.read_all().size() < last.text.size();
  EXPECT_TRUE(one_was_ended);
}

TEST_F(explorer_bounds, BeyondTheLimitTheConnectionThatWaitedLongestIsClosed) {
  explorer::http_limits limits;
  limits.connections = 8;
  restart(limits);
  std::vector<raw_client> slow = connect(50, head("GET /") + "X: ");
  expect_others_are_answered();
  EXPECT_EQ(slow.front().read_all(), "");
}

TEST_F(explorer_bounds, BuffersOfAllConnectionsAreBoundedTogether) {
  explorer::http_limits limits;
  limits.memory = std::size_t{8} << 20;
  restart(limits);
  const std::string begin =
      head("POST /api/v1/check") + "Content-Type: application/x-ndjson\r\nContent-Length: 60000000\r\n\r\n";
  std::vector<raw_client> large;
  for (int i = 0; i < 20; ++i) {
    large.emplace_back(server_->port()).send(begin);
    large.back().send(std::string(std::size_t{1} << 20, ' '));
  }
  expect_others_are_answered();
  EXPECT_EQ(large.front().read_all(), "") << "20 MiB do not stay in buffers of 8 MiB";
  large.clear();
  raw_client alone(server_->port());
  alone.send(begin);
  EXPECT_LT(send_without_end(alone, std::string(65536, ' ')), bounded);
}

TEST_F(explorer_bounds, RequestsBeyondThoseThatMayWaitGetASentence) {
  explorer::http_limits limits;
  limits.waiting = 1;
  restart(limits);
  const std::string id = session({{"index", "blink"}});
  (void)run(id, {{{"op", "insert"}, {"series", {{"n", 1000}}}}});
  std::vector<raw_client> many =
      connect(100, head("GET /api/v1/sources/" + id + "/events") + "Connection: close\r\n\r\n");
  for (raw_client& c : many) {
    const std::string received = c.read_all();
    if (status_of(received) == 200) continue;
    EXPECT_EQ(status_of(received), 429);
    EXPECT_NE(received.find("try again later"), std::string::npos) << received;
  }
}

TEST(ExplorerWorkerPool, TakesTheNewestJobAndDropsTheOldest) {
  std::vector<std::uint64_t> done;  // by the only thread
  std::latch begun(1), go_on(1), all_done(1);
  explorer::worker_pool pool(1, 3);
  EXPECT_EQ(pool.enqueue(0,
                         [&] {
                           begun.count_down();
                           go_on.wait();
                         }),
            std::nullopt);
  begun.wait();
  EXPECT_EQ(pool.enqueue(1, [&] { done.push_back(1); }), std::nullopt);
  EXPECT_EQ(pool.enqueue(2,
                         [&] {
                           done.push_back(2);
                           all_done.count_down();
                         }),
            std::nullopt);
  EXPECT_EQ(pool.enqueue(3, [&] { done.push_back(3); }), std::nullopt);
  EXPECT_EQ(pool.enqueue(4, [&] { done.push_back(4); }), 1u);
  go_on.count_down();
  all_done.wait();
  EXPECT_EQ(done, (std::vector<std::uint64_t>{4, 3, 2}));
}

}  // namespace
}  // namespace espalier::test
