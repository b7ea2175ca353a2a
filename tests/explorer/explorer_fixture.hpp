// explorer_fixture.hpp - a real server on a free port of this machine, asked over HTTP.
#pragma once

#include <gtest/gtest.h>
#include <httplib.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "explorer/http/server.hpp"

namespace espalier::test {

using nlohmann::json;

class explorer_test : public testing::Test {
 protected:
  struct answer {
    int status = 0;
    std::string text;
    httplib::Headers headers;
    [[nodiscard]] json body() const { return json::parse(text); }
  };

  void start(const explorer::live_limits& limits = {}) {
    explorer::server_options options;
    options.limits = limits;
    start(options);
  }
  void start(const explorer::server_options& options) {
    server_ = std::make_unique<explorer::server>(device::cpu(1), options);
    serving_ = std::thread([this] { server_->serve(); });
    while (!server_->is_serving()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  void SetUp() override {
    explorer::live_limits plenty;
    plenty.calls_per_second = 100'000;
    start(plenty);
  }
  void stop() {
    if (!serving_.joinable()) return;
    server_->stop();
    serving_.join();
  }
  void TearDown() override { stop(); }

  [[nodiscard]] httplib::Client client() const {
    httplib::Client c("127.0.0.1", server_->port());
    c.set_read_timeout(60);
    return c;
  }
  static answer answer_of(const httplib::Result& result) {
    if (!result) return {};
    return {result->status, result->body, result->headers};
  }
  [[nodiscard]] answer get(const std::string& path, const httplib::Headers& headers = {}) const {
    return answer_of(client().Get(path, headers));
  }
  [[nodiscard]] answer post(const std::string& path, const std::string& body,
                            const char* type = "application/json") const {
    return answer_of(client().Post(path, body, type));
  }
  [[nodiscard]] answer post_json(const std::string& path, const json& body) const { return post(path, body.dump()); }

  /// A new session; its id.
  [[nodiscard]] std::string session(const json& wishes) const {
    const answer made = post_json("/api/v1/sessions", wishes);
    EXPECT_EQ(made.status, 201) << made.text;
    return made.status == 201 ? made.body()["id"].get<std::string>() : "";
  }
  [[nodiscard]] json run(const std::string& id, const json& steps, unsigned threads = 1) const {
    const answer done = post_json("/api/v1/sessions/" + id + "/run", json{{"do", steps}, {"threads", threads}});
    EXPECT_EQ(done.status, 200) << done.text;
    return done.status == 200 ? done.body() : json{};
  }
  void expect_refused(const answer& a, int status, const std::string& part) const {
    EXPECT_EQ(a.status, status) << a.text;
    ASSERT_FALSE(a.text.empty());
    const json body = json::parse(a.text, nullptr, false);
    ASSERT_TRUE(body.is_object() && body.contains("error")) << a.text;
    const std::string sentence = body["error"];
    EXPECT_NE(sentence.find(part), std::string::npos) << sentence;
    EXPECT_EQ(sentence.back(), '.');
  }

  std::unique_ptr<explorer::server> server_;
  std::thread serving_;
};

}  // namespace espalier::test
