// session_test.cpp - live sessions over HTTP: the library works behind them, and the same questions are answered as for
// files.
#include <set>
#include <sstream>

#include "espalier/inspect/replay.hpp"
#include "explorer/explorer_fixture.hpp"
#include "explorer/read_trace.hpp"

namespace espalier::test {
namespace {

using explorer_sessions = explorer_test;

json keys_step(const char* op, const std::vector<std::string>& keys) { return {{"op", op}, {"keys", keys}}; }

TEST_F(explorer_sessions, AnInsertIntoAFullLeafAnswersWithItsSplit) {
  const std::string id = session({{"index", "blink"}, {"slots", 8}});
  json done = run(id, json::array({keys_step("insert", {"10", "20", "30", "40", "50", "60", "70", "80"})}));
  EXPECT_EQ(done["results"][0]["done"], 8);
  const std::uint64_t before = done["total"];
  done = run(id, json::array({keys_step("insert", {"45"})}));
  EXPECT_EQ(done["from"], before);
  std::vector<std::string> kinds;
  for (const auto& e : done["events"]) kinds.push_back(e["e"]);
  EXPECT_EQ(kinds, (std::vector<std::string>{"begin", "reach", "reach", "latch", "split", "insert", "link", "unlatch",
                                             "reach", "reach", "latch", "post", "unlatch", "end"}));
}

TEST_F(explorer_sessions, EveryChoiceOfInfoCanBeCreatedAndAsked) {
  const json info = get("/api/v1/info").body();
  ASSERT_FALSE(info["live"].empty());
  for (const json& line : info["live"]) {
    for (const json& slots : line["slots"]) {
      json wishes{{"index", line["index"]}, {"slots", slots}, {"fill", {{"n", 50}, {"order", "sequential"}}}};
      if (line["protocol"] != "none") wishes["protocol"] = line["protocol"];
      if (line.contains("upper")) wishes["upper"] = line["upper"];
      SCOPED_TRACE(wishes.dump());
      const std::string id = session(wishes);
      const json done = run(id, {keys_step("find", {"7", "70"}), {{"op", "range"}, {"from", "3"}, {"to", "5"}}});
      EXPECT_EQ(done["results"][0]["done"], 1);
      EXPECT_EQ(done["results"][0]["unchanged"], 1);
      EXPECT_EQ(done["results"][1]["keys"], (json{"3", "4", "5"}));
      EXPECT_EQ(get("/api/v1/sources/" + id).body()["header"]["slots"], slots);
      EXPECT_EQ(client().Delete("/api/v1/sessions/" + id)->status, 200);
    }
  }
}

TEST_F(explorer_sessions, TheDownloadedTraceIsOneAndEndsInTheTreeThatIsShown) {
  const std::string id = session({{"index", "blink"}, {"protocol", "couple"}});
  (void)run(id, {{{"op", "insert"}, {"series", {{"n", 500}, {"order", "random"}, {"to", "1000"}}}}}, 4);
  (void)run(
      id, {{{"op", "erase"}, {"series", {{"n", 200}, {"order", "reversed"}, {"from", "0"}}}}, {{"op", "maintain"}}}, 2);
  std::istringstream file(get("/api/v1/sources/" + id + "/trace").text);
  const recorded_trace trace = explorer::read_trace(file);
  std::ostringstream final;
  write_state(final, trace.final);
  EXPECT_EQ(get("/api/v1/sources/" + id + "/state").body()["state"], json::parse(final.str()));
  EXPECT_EQ(post("/api/v1/check", file.str(), "application/x-ndjson").body()["events"], trace.events.size());
  server_->add_trace("again", trace);
  EXPECT_EQ(get("/api/v1/sources/t1/state?at=100").body(), get("/api/v1/sources/" + id + "/state?at=100").body());
}

TEST_F(explorer_sessions, EventsComeInPages) {
  const std::string id = session({{"index", "blink"}});
  const json done = run(id, {{{"op", "insert"}, {"series", {{"n", 1000}}}}});
  const std::uint64_t total = done["total"];
  std::uint64_t next = 0;
  while (next < total) {
    const json page = get("/api/v1/sources/" + id + "/events?from=" + std::to_string(next) + "&count=777").body();
    ASSERT_EQ(page["from"], next);
    ASSERT_LE(page["events"].size(), 777u);
    for (const json& e : page["events"]) ASSERT_EQ(e["i"], next++);
  }
  EXPECT_EQ(get("/api/v1/sources/" + id + "/events?from=" + std::to_string(total)).body()["events"].size(), 0u);
}

TEST_F(explorer_sessions, SummaryPathAndSurroundingsOfALargeTree) {
  const std::string id =
      session({{"index", "blink"}, {"slots", 12}, {"fill", {{"n", 1048576}, {"order", "sequential"}}}});
  const std::string at = "/api/v1/sources/" + id;
  expect_refused(get(at + "/state"), 413, "summary");
  const json summary = get(at + "/summary?cells=64").body();
  EXPECT_EQ(summary["keys"], 1048576);
  std::uint64_t nodes = 0, level = summary["levels"].size();
  for (const json& l : summary["levels"]) {
    EXPECT_EQ(l["level"], --level);
    EXPECT_LE(l["cells"].size(), 64u);
    std::uint64_t counted = 0;
    for (const json& c : l["cells"]) counted += c["nodes"].get<std::uint64_t>();
    EXPECT_EQ(counted, l["nodes"]);
    nodes += counted;
  }
  EXPECT_EQ(nodes, summary["nodes"]);
  const json path = get(at + "/path?key=777777").body();
  EXPECT_TRUE(path["found"]);
  EXPECT_EQ(path["path"].size(), summary["levels"].size());
  const std::string leaf = path["path"].back()["n"];
  const json around = get(at + "/around?n=" + leaf + "&reach=3").body();
  EXPECT_EQ(around["left"].size(), 3u);
  EXPECT_EQ(around["right"].size(), 3u);
  std::set<std::string> names;
  for (const json& n : around["state"]["nodes"]) names.insert(n["n"]);
  for (const json& step : path["path"]) EXPECT_TRUE(names.contains(step["n"])) << "ancestors are there";
  EXPECT_FALSE(get(at + "/path?key=1048576").body()["found"]);
}

TEST_F(explorer_sessions, UnpostedNodesAreCountedUntilTheirParentKnowsThem) {
  const std::string id =
      session({{"index", "blink"}, {"slots", 8}, {"fill", {{"n", 8}, {"order", "sequential"}, {"step", "10"}}}});
  json done;
  std::uint64_t linked = 0, posted = 0;
  do {
    done = run(id, {{{"op", "insert"},
                     {"series", {{"n", 8}, {"order", "random"}, {"to", "80"}, {"seed", done.is_null() ? 1 : 2}}}}});
    for (const json& e : done["events"]) {
      if (e["e"] == "link") linked = e["i"].get<std::uint64_t>() + 1;
      if (e["e"] == "post") posted = e["i"].get<std::uint64_t>() + 1;
    }
  } while (posted == 0);
  const auto unposted = [&](std::uint64_t position) {
    std::uint64_t sum = 0;
    const json summary = get("/api/v1/sources/" + id + "/summary?at=" + std::to_string(position)).body();
    for (const json& l : summary["levels"])
      for (const json& c : l["cells"]) sum += c["unposted"].get<std::uint64_t>();
    return sum;
  };
  EXPECT_EQ(unposted(linked - 1), 0u);
  EXPECT_EQ(unposted(linked), 1u);
  EXPECT_EQ(unposted(posted), 0u);
}

}  // namespace
}  // namespace espalier::test
