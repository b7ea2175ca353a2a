// safety_test.cpp - what the explorer's server refuses: names, paths, methods, bodies, sizes and rates.
#include <fstream>

#include "explorer/explorer_fixture.hpp"
#include "explorer/http/assets.hpp"
#include "explorer/http/guard.hpp"

namespace espalier::test {
namespace {

using explorer_safety = explorer_test;

TEST_F(explorer_safety, OnlyItsOwnNamesAndPagesMayAsk) {
  const std::string port = ":" + std::to_string(server_->port());
  expect_refused(get("/api/v1/info", {{"Host", "rebound.example" + port}}), 403, "Host header");
  expect_refused(get("/", {{"Host", "rebound.example"}}), 403, "Host header");
  expect_refused(get("/api/v1/info", {{"Host", "127.0.0.1:1"}}), 403, "Host header");
  EXPECT_EQ(get("/api/v1/info", {{"Host", "localhost" + port}}).status, 200);
  expect_refused(get("/api/v1/info", {{"Origin", "http://rebound.example"}}), 403, "page");
  expect_refused(get("/api/v1/info", {{"Origin", "null"}}), 403, "page");
  EXPECT_EQ(get("/api/v1/info", {{"Host", "127.0.0.1" + port}, {"Origin", "http://127.0.0.1" + port}}).status, 200);
}

TEST(ExplorerGuard, TellsAddressesFromNames) {
  using explorer::is_own_host;
  EXPECT_TRUE(is_own_host("127.0.0.1:80", "127.0.0.1", 80));
  EXPECT_TRUE(is_own_host("[::1]:80", "127.0.0.1", 80));
  EXPECT_TRUE(is_own_host("tree.example:80", "tree.example", 80)) << "that name was given";
  EXPECT_FALSE(is_own_host("127.0.0.1.rebound.example:80", "127.0.0.1", 80));
  EXPECT_FALSE(is_own_host("rebound.example:80", "0.0.0.0", 80));
  EXPECT_FALSE(is_own_host("127.0.0.1:8080", "127.0.0.1", 80));
  EXPECT_FALSE(is_own_host(":80", "127.0.0.1", 80));
  EXPECT_FALSE(is_own_host(":80", "", 80));
  EXPECT_FALSE(is_own_host("", "127.0.0.1", 80));
}

TEST(ExplorerGuard, OnlyPort80MayBeLeftOut) {
  using explorer::is_own_host;
  EXPECT_TRUE(is_own_host("127.0.0.1", "127.0.0.1", 80));
  EXPECT_TRUE(is_own_host("localhost", "127.0.0.1", 80));
  EXPECT_TRUE(is_own_host("[::1]", "127.0.0.1", 80));
  EXPECT_TRUE(is_own_host("tree.example", "tree.example", 80));
  EXPECT_FALSE(is_own_host("rebound.example", "127.0.0.1", 80));
  EXPECT_FALSE(is_own_host("127.0.0.1", "127.0.0.1", 8420));
  EXPECT_FALSE(is_own_host("localhost", "127.0.0.1", 8080));
}

TEST_F(explorer_safety, NoPathLeadsToTheFileSystem) {
  for (const char* path : {"/../../../../../../etc/hostname", "/..%2f..%2f..%2f..%2fetc/hostname", "//etc/hostname",
                           "/%2e%2e/%2e%2e/etc/hostname", "/./CMakeLists.txt", "/web/index.html", "/etc/hostname",
                           "/..\\..\\etc\\hostname", "/index.html%00.js", "/file:///etc/hostname",
                           "/api/v1/sources/../../../etc/hostname", "/api/v1/sources/t1%2f..%2f..%2fetc"}) {
    const answer a = get(path);
    EXPECT_EQ(a.status, 404) << path << ": " << a.text.substr(0, 100);
  }
}

TEST_F(explorer_safety, EmbeddedFilesAreServedWithTheirTypesAndSafeHeaders) {
  std::vector<std::string> paths{"/api/v1/info", "/nothing"};
  for (const explorer::asset& a : explorer::assets()) {
    paths.emplace_back(a.path);
    const answer served = get(std::string(a.path));
    EXPECT_EQ(served.status, 200) << a.path;
    EXPECT_EQ(served.text, a.bytes);
    if (a.path.ends_with(".js")) {
      EXPECT_EQ(served.headers.find("Content-Type")->second, "text/javascript; charset=utf-8");
    }
    if (a.path == "/index.html") {
      EXPECT_EQ(get("/").text, a.bytes);
    }
  }
  for (const std::string& path : paths) {
    const answer a = get(path);
    const auto policy = a.headers.find("Content-Security-Policy");
    ASSERT_NE(policy, a.headers.end()) << path;
    EXPECT_NE(policy->second.find("default-src 'self'"), std::string::npos);
    EXPECT_EQ(policy->second.find("unsafe"), std::string::npos);
    EXPECT_EQ(a.headers.find("X-Content-Type-Options")->second, "nosniff");
    EXPECT_EQ(a.headers.count("Access-Control-Allow-Origin"), 0u);
  }
}

TEST_F(explorer_safety, RequestsThatMakeNoSenseGetASentence) {
  const std::string id = session({{"index", "blink"}});
  const std::string at = "/api/v1/sources/" + id, run_at = "/api/v1/sessions/" + id + "/run";
  expect_refused(get(at + "/state?at=1"), 400, "position");
  expect_refused(get(at + "/state?at=-1"), 400, "'at'");
  expect_refused(get(at + "/state?at=99999999999999999999999"), 400, "'at'");
  expect_refused(get(at + "/summary?cells=0"), 400, "'cells'");
  expect_refused(get(at + "/summary?cells=2000"), 400, "1024");
  expect_refused(get(at + "/around"), 400, "'n'");
  expect_refused(get(at + "/around?n=x1"), 400, "'n'");
  expect_refused(get(at + "/around?n=l99"), 404, "l99");
  expect_refused(get(at + "/around?n=l0&reach=17"), 400, "16");
  expect_refused(get(at + "/path"), 400, "'key'");
  expect_refused(get(at + "/path?key=abc"), 400, "digits");
  expect_refused(get(at + "/events?from=5"), 400, "event");
  expect_refused(get("/api/v1/sources/s99"), 404, "s99");
  expect_refused(get("/api/v1/nothing"), 404, "address");
  expect_refused(post(run_at, "not json"), 400, "JSON");
  expect_refused(post(run_at, "[]"), 400, "JSON");
  expect_refused(post(run_at, "{}"), 400, "'do'");
  expect_refused(post(run_at, R"({"do":[]})"), 400, "'do'");
  expect_refused(post(run_at, R"({"do":[{"op":"explode","keys":["1"]}]})"), 400, "explode");
  expect_refused(post(run_at, R"({"do":[{"op":"insert"}]})"), 400, "'keys'");
  expect_refused(post(run_at, R"({"do":[{"op":"insert","keys":[1]}]})"), 400, "digits");
  expect_refused(post(run_at, R"({"do":[{"op":"insert","keys":["18446744073709551616"]}]})"), 400, "2^64");
  expect_refused(post(run_at, R"({"do":[{"op":"insert","keys":["-1"]}]})"), 400, "digits");
  expect_refused(post(run_at, R"({"do":[{"op":"insert","keys":["1"],"colour":"red"}]})"), 400, "colour");
  expect_refused(post(run_at, R"({"do":[{"op":"insert","keys":["1"]}],"threads":0})"), 400, "'threads'");
  expect_refused(post(run_at, R"({"do":[{"op":"insert","series":{"n":0}}]})"), 400, "'n'");
  expect_refused(post(run_at, R"({"do":[{"op":"insert","series":{"n":9,"order":"odd"}}]})"), 400, "odd");
  expect_refused(post(run_at, R"({"do":[{"op":"insert","series":{"n":9,"from":"9","to":"1"}}]})"), 400, "'from'");
  expect_refused(post(run_at, R"({"do":[{"op":"insert","series":{"n":9,"order":"sequential","to":"5"}}]})"), 400,
                 "fit");
  expect_refused(post(run_at, R"({"do":[{"op":"find","keys":["1"]}]})", "text/plain"), 415, "Content-Type");
  expect_refused(post("/api/v1/sessions", R"({"index":"hash"})"), 400, "hash");
  expect_refused(post("/api/v1/sessions", R"({"index":"blink","protocol":"hope"})"), 400, "hope");
  expect_refused(post("/api/v1/sessions", R"({"index":"blink","slots":9})"), 400, "9 slots");
  expect_refused(post("/api/v1/sessions/s99/run", R"({"do":[{"op":"find","keys":["1"]}]})"), 404, "s99");
  EXPECT_EQ(get(at).body()["events"], 0) << "nothing of that was done";
}

TEST_F(explorer_safety, ABadTraceGetsALine) {
  const answer a = post("/api/v1/check", "{\"trace\":\"espalier\"}\n", "application/x-ndjson");
  expect_refused(a, 400, "format");
  EXPECT_EQ(a.body()["line"], 1);
  expect_refused(post("/api/v1/check", "", "application/x-ndjson"), 400, "empty");
  expect_refused(post("/api/v1/check", "{}", "application/json"), 415, "x-ndjson");
}

TEST_F(explorer_safety, SizesAreBounded) {
  const std::string id = session({{"index", "blink"}});
  const std::string run_at = "/api/v1/sessions/" + id + "/run";
  expect_refused(post(run_at, R"({"do":[{"op":"insert","series":{"n":4097}}]})"), 400, "4096");
  json keys = json::array();
  for (int i = 0; i < 4097; ++i) keys.push_back(std::to_string(i));
  expect_refused(post_json(run_at, json{{"do", {{{"op", "insert"}, {"keys", keys}}}}}), 400, "4096");
  json steps = json::array();
  for (int i = 0; i < 3; ++i) steps.push_back({{"op", "find"}, {"series", {{"n", 2000}}}});
  expect_refused(post_json(run_at, json{{"do", steps}}), 400, "4096");
  expect_refused(post(run_at, R"({"do":[{"op":"find","keys":["1"]}],"threads":9})"), 400, "8");
  expect_refused(post("/api/v1/sessions", R"({"index":"blink","slots":12,"fill":{"n":16777217}})"), 400, "16777216");
  expect_refused(post("/api/v1/sessions", R"({"index":"radix","fill":{"n":1048577}})"), 400, "1048576");
  expect_refused(post(run_at, std::string((1u << 20) + 1, ' ')), 413, "1 MiB");
  EXPECT_EQ(get("/" + std::string(9000, 'a')).status, 414);
}

TEST_F(explorer_safety, SessionsAreBoundedAndCanBeDeleted) {
  std::vector<std::string> ids;
  for (int i = 0; i < 8; ++i) ids.push_back(session({{"index", "blink"}}));
  expect_refused(post("/api/v1/sessions", R"({"index":"blink"})"), 429, "8");
  EXPECT_EQ(client().Delete("/api/v1/sessions/" + ids[3])->status, 200);
  expect_refused(get("/api/v1/sources/" + ids[3]), 404, ids[3]);
  const std::string another = session({{"index", "blink"}});
  for (const std::string& id : ids) EXPECT_NE(id, another) << "a name is not used again";
  expect_refused(answer_of(client().Delete("/api/v1/sessions/s99")), 404, "s99");
}

TEST_F(explorer_safety, TooManyCallsHaveToWait) {
  stop();
  explorer::live_limits few;
  few.calls_per_second = 1;
  start(few);
  const std::string id = session({{"index", "blink"}});
  const auto find = [&] { return post("/api/v1/sessions/" + id + "/run", R"({"do":[{"op":"find","keys":["1"]}]})"); };
  answer last;  // two calls fall into one second sooner or later, however slow the machine
  for (int i = 0; i < 100 && last.status != 429; ++i) last = find();
  expect_refused(last, 429, "second");
  for (int i = 0; i < 100 && last.status != 200; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    last = find();
  }
  EXPECT_EQ(last.status, 200) << last.text;
}

TEST_F(explorer_safety, ARecordingThatIsFullSaysSo) {
  stop();
  explorer::live_limits small;
  small.events_per_session = 500;
  small.calls_per_second = 1000;
  start(small);
  const std::string id = session({{"index", "blink"}});
  const json done = run(id, {{{"op", "insert"}, {"series", {{"n", 200}}}}});
  EXPECT_EQ(done["total"], 500);
  EXPECT_GT(done["lost"], 0);
  expect_refused(post("/api/v1/sessions/" + id + "/run", R"({"do":[{"op":"find","keys":["1"]}]})"), 409, "limit of events");
  EXPECT_EQ(get("/api/v1/sources/" + id + "/state").status, 200) << "what there is can be looked at";
}

}  // namespace
}  // namespace espalier::test
