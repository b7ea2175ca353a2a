// file_test.cpp - traces written and read again, and what a reader says about files that are none.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "explorer/read_trace.hpp"
#include "inspect/traced.hpp"

namespace espalier::test {
namespace {

std::string text_of(const recorded_trace& trace) {
  std::ostringstream out;
  write_trace(out, trace);
  return out.str();
}
recorded_trace read_text(const std::string& text, const explorer::trace_limits& limits = {}) {
  std::istringstream in(text);
  return explorer::read_trace(in, limits);
}
/// A run with every kind of event that a single thread can make.
recorded_trace some_trace(const traced_shape& shape) {
  traced_run run(shape, {100, 200, 300});
  std::vector<std::uint64_t> keys;
  for (std::uint64_t i = 0; i < 200; ++i) keys.push_back(i * 37 % 211);
  run.run(trace_op::insert, keys, 2);
  run.run(trace_op::assign, {5, 6});
  run.run(trace_op::range, {0}, 1, 50);
  run.run(trace_op::erase, keys);
  run.maintain();
  return run.finish();
}

TEST(TraceFile, ReadsWhatWasWritten) {
  for (const traced_shape& shape : traced_shapes) {
    const recorded_trace written = some_trace(shape);
    const std::string text = text_of(written);
    const recorded_trace read = read_text(text);
    EXPECT_TRUE(read.start == written.start);
    EXPECT_TRUE(read.final == written.final);
    ASSERT_EQ(read.events.size(), written.events.size());
    EXPECT_EQ(text_of(read), text) << "and writes it again";
    EXPECT_EQ(read.header.protocol, shape.protocol);
    EXPECT_EQ(read.header.upper, shape.upper);
    EXPECT_EQ(read.header.slots, shape.slots);
  }
}

/// docs/traces/ was recorded on an H200 and its host.
TEST(TraceFile, TracesOfARealGpuAreReplayed) {
  const std::pair<const char*, const char*> recorded[] = {
      {"h200-link", "gpu"}, {"h200-couple", "gpu"}, {"xeon-link", "cpu"}};
  for (const auto& [name, device] : recorded) {
    std::ifstream file(ESPALIER_SOURCE_DIR "/docs/traces/" + std::string(name) + ".trace");
    ASSERT_TRUE(file) << name;
    const recorded_trace trace = explorer::read_trace(file, {});
    EXPECT_EQ(trace.header.device, device);
    EXPECT_EQ(trace.lost, 0u);
    trace_replay replay(trace);
    while (replay.position() < trace.events.size()) replay.step();
    EXPECT_TRUE(replay.state() == trace.final) << name;
    while (replay.position() > 0) replay.step_back();
    EXPECT_TRUE(replay.state() == trace.start) << name;
  }
}

TEST(TraceFile, TheExampleInTheDocumentIsATrace) {
  std::ifstream document(ESPALIER_SOURCE_DIR "/docs/trace-format.md");
  ASSERT_TRUE(document);
  std::string line, text;
  bool inside = false;
  while (std::getline(document, line)) {
    if (line == "## A complete example") inside = true;
    if (inside && !line.empty() && line.front() == '{') text += line + '\n';
  }
  const recorded_trace trace = read_text(text);
  EXPECT_EQ(trace.events.size(), 13u);
}

/// One line of a good trace replaced.
struct refusal {
  std::uint64_t line;       ///< 1: header; 0: the last
  const char* from;         ///< in that line
  const char* to;           ///< instead
  const char* says;         ///< part of the sentence
  std::uint64_t says_line;  ///< 0: that of the change
};

class TraceRefusal : public testing::TestWithParam<refusal> {};

const char* good_trace =
    R"({"trace":"espalier","format":1,"index":"blink","protocol":"link","upper":"classic","slots":8,"key":"u64","device":"cpu","team":"thread","clock":"ns","start":{"root":"i0","nodes":[{"n":"i0","level":1,"version":0,"dead":false,"right":null,"high":null,"keys":["0"],"children":["l0"]},{"n":"l0","level":0,"version":0,"dead":false,"right":null,"high":null,"keys":["10"]}],"lane":[]}}
{"i":0,"t":0,"w":0,"e":"begin","op":"insert","key":"45"}
{"i":1,"t":5,"w":0,"e":"reach","n":"l0","by":"child"}
{"i":2,"t":6,"w":0,"e":"latch","n":"l0","version":0}
{"i":3,"t":7,"w":0,"e":"insert","n":"l0","at":1,"key":"45"}
{"i":4,"t":8,"w":0,"e":"unlatch","n":"l0","version":2}
{"i":5,"t":9,"w":0,"e":"end","op":"insert","result":"done"}
{"end":true,"events":6,"lost":0,"final":{"root":"i0","nodes":[{"n":"i0","level":1,"version":0,"dead":false,"right":null,"high":null,"keys":["0"],"children":["l0"]},{"n":"l0","level":0,"version":2,"dead":false,"right":null,"high":null,"keys":["10","45"]}],"lane":[]}}
)";

const refusal refusals[] = {
    {1, "espalier", "willow", "no trace of espalier", 0},
    {1, "\"format\":1", "\"format\":2", "another version", 0},
    {1, "\"index\":\"blink\"", "\"index\":\"hash\"", "hash", 0},
    {1, "\"key\":\"u64\"", "\"key\":\"text\"", "type", 0},
    {1, "\"slots\":8", "\"slots\":-8", "slots", 0},
    {1, "\"children\":[\"l0\"]", "\"children\":[\"l9\"]", "l9", 0},
    {1, "\"children\":[\"l0\"]", "\"children\":[]", "children", 0},
    {1, "\"root\":\"i0\"", "\"root\":\"i3\"", "root", 0},
    {1, "\"keys\":[\"10\"]", "\"keys\":[10]", "digits", 0},
    {1, "\"keys\":[\"10\"]", "\"keys\":[\"10\",\"10\"]", "ascend", 0},
    {1, "\"keys\":[\"10\"]", "\"keys\":[\"18446744073709551616\"]", "2^64", 0},
    {1, "\"n\":\"l0\"", "\"n\":\"i0\"", "level", 0},
    {1, "\"level\":1", "\"level\":2", "children", 0},
    {1, "\"dead\":false,\"right\":null", "\"dead\":false,\"right\":\"l7\"", "l7", 0},
    {2, "\"i\":0", "\"i\":1", "without gaps", 0},
    {2, "\"op\":\"insert\"", "\"op\":\"explode\"", "explode", 0},
    {2, "{\"i\"", "\"i\"", "no JSON", 0},
    {2, "{\"i\":0,\"t\":0,\"w\":0,\"e\":\"begin\",\"op\":\"insert\",\"key\":\"45\"}", "[]", "not a JSON object", 0},
    {3, "\"t\":5", "\"t\":5.5", "'t'", 0},
    {3, "\"n\":\"l0\"", "\"n\":\"../../etc\"", "name of a node", 0},
    {3, "\"n\":\"l0\"", "\"n\":\"l7\"", "l7", 0},
    {4, "\"t\":6", "\"t\":4", "earlier", 0},
    {4, "\"version\":0", "\"version\":4", "latch", 0},
    {5, "\"at\":1", "\"at\":9", "slot", 0},
    {5, "\"at\":1", "\"at\":0", "order", 0},
    {5, ",\"at\":1", "", "'at'", 0},
    {5, "\"key\":\"45\"", "\"key\":\"46\"", "final tree", 8},
    {6, "\"version\":2", "\"version\":8", "version", 0},
    {7, "\"e\":\"end\"", "\"e\":\"finis\"", "finis", 0},
    {8, "\"events\":6", "\"events\":7", "other events", 0},
    {8, "{\"end\":true", "{\"fin\":true", "'i'", 0},
};

TEST_P(TraceRefusal, SaysWhatIsWrongAndWhere) {
  const refusal& r = GetParam();
  std::istringstream good(good_trace);
  std::string line, text;
  for (std::uint64_t number = 1; std::getline(good, line); ++number) {
    if (number == r.line) {
      const auto at = line.rfind(r.from);
      ASSERT_NE(at, std::string::npos);
      line.replace(at, std::string(r.from).size(), r.to);
    }
    text += line + '\n';
  }
  try {
    (void)read_text(text);
    FAIL() << "it was accepted";
  } catch (const explorer::bad_trace& e) {
    EXPECT_EQ(e.line, r.says_line == 0 ? r.line : r.says_line) << e.what();
    EXPECT_NE(std::string(e.what()).find(r.says), std::string::npos) << e.what();
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos);
    EXPECT_EQ(std::string(e.what()).back(), '.');
  }
}
INSTANTIATE_TEST_SUITE_P(, TraceRefusal, testing::ValuesIn(refusals));

TEST(TraceFile, TheTraceThatRefusalsStartFromIsGood) { EXPECT_EQ(read_text(good_trace).events.size(), 6u); }

TEST(TraceFile, AnEmptyOrUnfinishedFileIsRefused) {
  EXPECT_THROW((void)read_text(""), explorer::bad_trace);
  const std::string whole = good_trace;
  for (std::size_t size = 0; size < whole.size() - 1; size += 7) {
    EXPECT_THROW((void)read_text(whole.substr(0, size)), explorer::bad_trace) << size;
  }
  EXPECT_THROW((void)read_text(whole + "{}\n"), explorer::bad_trace);
}

TEST(TraceFile, LimitsHold) {
  explorer::trace_limits limits;
  limits.events = 5;
  EXPECT_THROW((void)read_text(good_trace, limits), explorer::bad_trace);
  limits = {};
  limits.bytes = 100;
  EXPECT_THROW((void)read_text(good_trace, limits), explorer::bad_trace);
}

TEST(TraceFile, MembersThatAreNotKnownAreSkipped) {
  std::string text = good_trace;
  const std::string from = "\"w\":0", to = "\"colour\":\"red\",\"w\":0";
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  EXPECT_EQ(read_text(text).events.size(), 6u);
}

}  // namespace
}  // namespace espalier::test
