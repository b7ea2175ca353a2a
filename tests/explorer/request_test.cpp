// request_test.cpp - how requests are read: in any pieces, several in one connection, and strictly.
#include "explorer/explorer_fixture.hpp"
#include "explorer/http/request_head.hpp"
#include "explorer/raw_client.hpp"
#include "explorer/refused.hpp"

namespace espalier::test {
namespace {

/// 0: it is understood.
int refusal_of(const std::string& head) {
  try {
    (void)explorer::parse_head(head, {});
  } catch (const explorer::refused& e) {
    return e.status;
  }
  return 0;
}
int refusal_of_line(const std::string& line) {
  return refusal_of("POST / HTTP/1.1\r\nHost: a\r\n" + line + "\r\n\r\n");
}

TEST(ExplorerRequestHead, IsReadIntoItsParts) {
  const explorer::request r = explorer::parse_head(
      "GET /a%2Fb%20c+d?x=1%262&y=+&x=3&z&=&w= HTTP/1.1\r\nHost:  h:1 \r\nX-One: 1\r\nx-one: 2\r\nEmpty:\r\n\r\n", {});
  EXPECT_EQ(r.method, "GET");
  EXPECT_EQ(r.path, "/a/b c+d");
  EXPECT_EQ(r.parameters,
            (std::map<std::string, std::string>{{"", ""}, {"w", ""}, {"x", "1&2"}, {"y", " "}, {"z", ""}}));
  EXPECT_EQ(r.header("host"), "h:1");
  EXPECT_EQ(r.header("x-one"), "1, 2");
  EXPECT_EQ(r.header("empty"), "");
  EXPECT_TRUE(r.keeps_connection);
  EXPECT_EQ(explorer::parse_head("POST / HTTP/1.1\r\nContent-Length: 12\r\n\r\n", {}).body_size, 12u);
  EXPECT_FALSE(explorer::parse_head("GET / HTTP/1.1\r\nConnection: Close\r\n\r\n", {}).keeps_connection);
  EXPECT_FALSE(explorer::parse_head("GET / HTTP/1.0\r\n\r\n", {}).keeps_connection);
}

TEST(ExplorerRequestHead, EndsAtTheFirstEmptyLine) {
  const explorer::http_limits limits;
  const std::string text = "GET / HTTP/1.1\r\nA: b\r\n\r\nGET / HTTP/1.1\r\n\r\n";
  for (std::size_t n = 0; n < 24; ++n) {
    for (std::size_t searched = 0; searched <= n; ++searched)
      EXPECT_EQ(explorer::head_size(text.substr(0, n), searched, limits), std::nullopt) << n;
  }
  for (std::size_t searched = 0; searched < 24; ++searched) EXPECT_EQ(explorer::head_size(text, searched, limits), 24u);
}

TEST(ExplorerRequestHead, WhatTwoReadersCouldUnderstandDifferentlyIsRefused) {
  for (const char* line :
       {"GET /", "GET", "GET / HTTP/1.1 ", " GET / HTTP/1.1", "G@T / HTTP/1.1", "GET x HTTP/1.1", "GET  HTTP/1.1",
        "GET /a b HTTP/1.1", "GET / http/1.1", "GET /\t HTTP/1.1", "GET /\n HTTP/1.1", "GET /% HTTP/1.1",
        "GET /%4 HTTP/1.1", "GET /%zz HTTP/1.1", "GET /?a=%g0 HTTP/1.1", "GET http://a/ HTTP/1.1", ""})
    EXPECT_EQ(refusal_of(std::string(line) + "\r\n\r\n"), 400) << line;
  EXPECT_EQ(refusal_of("GET / HTTP/2.0\r\n\r\n"), 505);
  for (const char* line :
       {"no colon", ": value", "a b: c", "a : b", " a: b", "\ta: b", "a: b\r\n folded", "a: b\nc: d", "a: b\rc: d",
        "a: \x01", "Host: b", "Content-Length: 1\r\nContent-Length: 1", "Content-Length: +1", "Content-Length: -1",
        "Content-Length: 0x1", "Content-Length: 1, 1", "Content-Length:", "Content-Length: 1 1"})
    EXPECT_EQ(refusal_of_line(line), 400) << line;
  EXPECT_EQ(refusal_of_line(std::string("a: b\0c", 6)), 400);
  EXPECT_EQ(refusal_of_line("Content-Length: 99999999999999999999999"), 413);
}

TEST(ExplorerRequestHead, OnlyBodiesOfKnownSizeAreTaken) {
  for (const char* line : {"Transfer-Encoding: chunked", "transfer-encoding:", "Transfer-Encoding: identity",
                           "Content-Length: 1\r\nTransfer-Encoding: chunked"})
    EXPECT_EQ(refusal_of_line(line), 411) << line;
  EXPECT_EQ(refusal_of_line("Content-Encoding: gzip"), 415);
  EXPECT_EQ(refusal_of_line("Content-Encoding: br"), 415);
  EXPECT_EQ(refusal_of_line("Content-Encoding: identity"), 0);
}

class explorer_requests : public explorer_test {
 protected:
  [[nodiscard]] std::string whole(const std::string& request_line, const std::string& more = "") const {
    return request_line + "\r\nHost: 127.0.0.1:" + std::to_string(server_->port()) + "\r\n" + more + "\r\n";
  }
};

TEST_F(explorer_requests, MayArriveByteByByte) {
  const std::string check = whole("POST /api/v1/check HTTP/1.1",
                                  "Connection: close\r\nContent-Type: application/x-ndjson\r\nContent-Length: 2\r\n") +
                            "{}";
  raw_client client(server_->port());
  for (const char c : check) ASSERT_TRUE(client.send(std::string_view(&c, 1)));
  const std::string received = client.read_all();
  EXPECT_EQ(status_of(received), 400) << received;
  EXPECT_NE(received.find("\"line\":1"), std::string::npos) << received;
}

TEST_F(explorer_requests, OfOneConnectionAreAnsweredInOrder) {
  raw_client client(server_->port());
  std::string all;
  for (int i = 0; i < 200; ++i) {
    all += whole("GET /app.js HTTP/1.1") + whole("GET /api/v1/nothing HTTP/1.1");
    all += whole("POST /api/v1/check HTTP/1.1", "Content-Type: text/plain\r\nContent-Length: 3\r\n") + "abc";
  }
  std::thread sending([&] { client.send(all + whole("GET / HTTP/1.1", "Connection: close\r\n")); });
  const std::string received = client.read_all();
  sending.join();
  std::vector<int> statuses;
  for (std::size_t at = received.find("HTTP/1.1 "); at != std::string::npos; at = received.find("HTTP/1.1 ", at + 1))
    statuses.push_back(status_of(received.substr(at, 12)));
  ASSERT_EQ(statuses.size(), 601u);
  for (std::size_t i = 0; i < 600; ++i) EXPECT_EQ(statuses[i], i % 3 == 0 ? 200 : i % 3 == 1 ? 404 : 415);
  EXPECT_EQ(statuses.back(), 200);
}

TEST_F(explorer_requests, AHeadIsAnsweredWithoutTheBody) {
  const std::size_t size = get("/app.js").text.size();
  raw_client client(server_->port());
  client.send(whole("HEAD /app.js HTTP/1.1") + whole("HEAD /app.js HTTP/1.1", "Connection: close\r\n"));
  const std::string length = "Content-Length: " + std::to_string(size) + "\r\n";
  const std::string first = client.read_until("\r\n\r\n"), second = client.read_until("\r\n\r\n");
  EXPECT_NE(first.find(length), std::string::npos) << first;
  EXPECT_NE(second.find(length), std::string::npos) << second;
  EXPECT_EQ(client.read_all(), "");
}

TEST_F(explorer_requests, ABodyMayWaitUntilItIsAskedFor) {
  raw_client client(server_->port());
  client.send(whole("POST /api/v1/check HTTP/1.1",
                    "Expect: 100-continue\r\nConnection: close\r\nContent-Type: application/x-ndjson\r\n"
                    "Content-Length: 2\r\n"));
  EXPECT_EQ(status_of(client.read_until("\r\n\r\n")), 100);
  client.send("{}");
  EXPECT_EQ(status_of(client.read_all()), 400);
  raw_client too_large(server_->port());
  too_large.send(whole("POST /api/v1/sessions HTTP/1.1", "Expect: 100-continue\r\nContent-Length: 2000000\r\n"));
  EXPECT_EQ(status_of(too_large.read_all()), 413);
}

TEST_F(explorer_requests, AClientOfHttp10GetsATraceUpToTheEndOfTheConnection) {
  const std::string id = session({{"index", "blink"}});
  (void)run(id, {{{"op", "insert"}, {"series", {{"n", 100}}}}});
  const std::string trace = get("/api/v1/sources/" + id + "/trace").text;
  raw_client client(server_->port());
  client.send(whole("GET /api/v1/sources/" + id + "/trace HTTP/1.0"));
  const std::string head = client.read_until("\r\n\r\n");
  EXPECT_EQ(head.find("Transfer-Encoding"), std::string::npos) << head;
  EXPECT_EQ(client.read_all(), trace);
}

}  // namespace
}  // namespace espalier::test
