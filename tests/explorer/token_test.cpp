// token_test.cpp - a server that other machines can reach answers clients that know its token; ports that are taken.
#include "espalier/core/error.hpp"
#include "explorer/explorer_fixture.hpp"
#include "explorer/http/guard.hpp"

namespace espalier::test {
namespace {

class explorer_token : public explorer_test {
 protected:
  void SetUp() override {
    explorer::server_options options;
    options.host = "0.0.0.0";
    start(options);
  }
};

TEST_F(explorer_token, IsInTheAddressThatIsPrinted) {
  EXPECT_EQ(server_->token().size(), 32u);
  EXPECT_EQ(server_->url(), "http://0.0.0.0:" + std::to_string(server_->port()) + "/?token=" + server_->token());
}

TEST_F(explorer_token, IsNeededForEverything) {
  for (const char* path :
       {"/", "/app.js", "/api/v1/info", "/?token=", "/?token=0123456789abcdef0123456789abcdef", "/api/v1/info?token=x"})
    expect_refused(get(path), 401, "token");
  expect_refused(get("/api/v1/info?token=" + server_->token()), 401, "token");
  expect_refused(post_json("/api/v1/sessions", json::object()), 401, "token");
  expect_refused(get("/", {{"Cookie", "espalier-1=" + server_->token()}}), 401, "token");
  expect_refused(get("/", {{"Authorization", "Bearer " + server_->token() + "0"}}), 401, "token");
}

TEST_F(explorer_token, BecomesACookieOfThePage) {
  const answer opened = get("/?token=" + server_->token());
  EXPECT_EQ(opened.status, 303);
  EXPECT_EQ(opened.headers.find("Location")->second, "/");
  const std::string cookie = opened.headers.find("Set-Cookie")->second;
  EXPECT_NE(cookie.find("HttpOnly"), std::string::npos);
  EXPECT_NE(cookie.find("SameSite"), std::string::npos);
  const std::string pair = cookie.substr(0, cookie.find(';'));
  EXPECT_EQ(get("/", {{"Cookie", pair}}).status, 200);
  EXPECT_EQ(get("/api/v1/info", {{"Cookie", "other=1; " + pair + "; another=2"}}).status, 200);
}

TEST_F(explorer_token, IsTakenFromAuthorization) {
  EXPECT_EQ(get("/api/v1/info", {{"Authorization", "Bearer " + server_->token()}}).status, 200);
}

TEST_F(explorer_token, DiffersFromServerToServer) { EXPECT_NE(explorer::make_token(), explorer::make_token()); }

TEST(ExplorerLoopback, NeedsNoToken) {
  for (const char* host : {"127.0.0.1", "127.0.0.2", "localhost"}) {
    explorer::server_options options;
    options.host = host;
    const explorer::server server(device::cpu(1), options);
    EXPECT_EQ(server.token(), "") << host;
    EXPECT_EQ(server.url(), std::string("http://") + host + ':' + std::to_string(server.port()) + '/');
  }
}

TEST(ExplorerGuard, FindsACookieByItsWholeName) {
  using explorer::cookie_in;
  EXPECT_EQ(cookie_in("a=1; b=2;c=3", "a"), "1");
  EXPECT_EQ(cookie_in("a=1; b=2;c=3", "b"), "2");
  EXPECT_EQ(cookie_in("a=1; b=2;c=3", "c"), "3");
  EXPECT_EQ(cookie_in("ab=1; ;=; b", "b"), "");
  EXPECT_EQ(cookie_in("", "b"), "");
}

TEST(ExplorerPort, ThatIsTakenIsRefused) {
  explorer::server_options options;
  const explorer::server first(device::cpu(1), options);
  options.port = first.port();
  EXPECT_THROW(const explorer::server second(device::cpu(1), options), error);
  options.host = "no.such.host.invalid";
  EXPECT_THROW(const explorer::server third(device::cpu(1), options), error);
}

}  // namespace
}  // namespace espalier::test
