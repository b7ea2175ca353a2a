// requests.cpp - see requests.hpp.
#include "explorer/requests.hpp"

#include <algorithm>
#include <random>

namespace espalier::explorer {

namespace {

using nlohmann::json;

json parse_object(const std::string& body) {
  json object = json::parse(body, nullptr, false);
  if (object.is_discarded() || !object.is_object()) throw bad_request("The body is not a JSON object.");
  return object;
}
void require_known(const json& object, const std::vector<std::string>& members, const std::string& dev) {
  for (const auto& [name, value] : object.items()) {
    if (std::find(members.begin(), members.end(), name) == members.end())
      throw bad_request(dev + " has a member '" + name.substr(0, 40) + "', which is not known.");
  }
}
std::string text_or(const json& object, const char* member, const std::string& otherwise) {
  if (!object.contains(member)) return otherwise;
  if (!object[member].is_string()) throw bad_request(std::string("'") + member + "' must be a string.");
  return object[member].get<std::string>();
}
std::uint64_t number_or(const json& object, const char* member, std::uint64_t otherwise, std::uint64_t least,
                        std::uint64_t most) {
  if (!object.contains(member)) return otherwise;
  const json& n = object[member];
  if (!n.is_number_unsigned() || n.get<std::uint64_t>() < least || n.get<std::uint64_t>() > most)
    throw bad_request(std::string("'") + member + "' is a number from " + std::to_string(least) + " to " +
                      std::to_string(most) + '.');
  return n.get<std::uint64_t>();
}
std::uint64_t key_or(const json& object, const char* member, std::uint64_t otherwise) {
  return object.contains(member) ? parse_key_text(text_or(object, member, ""), std::string("'") + member + '\'')
                                 : otherwise;
}

std::vector<std::uint64_t> series_of(const json& series, std::uint64_t most) {
  if (!series.is_object()) throw bad_request("'series' must be a JSON object.");
  require_known(series, {"n", "order", "seed", "from", "to", "step"}, "The series");
  const std::uint64_t n = number_or(series, "n", 0, 1, most);
  if (n == 0) throw bad_request("The series has no 'n': say how many keys it has.");
  const std::string order = text_or(series, "order", "random");
  const std::uint64_t from = key_or(series, "from", 0), to = key_or(series, "to", ~std::uint64_t{0});
  const std::uint64_t step = key_or(series, "step", 1);
  if (from > to) throw bad_request("The series begins above where it ends: 'from' is greater than 'to'.");
  std::vector<std::uint64_t> keys(n);
  if (order == "random") {
    std::mt19937_64 numbers(number_or(series, "seed", 1, 0, std::uint64_t{1} << 53));
    const std::uint64_t span = to - from + 1;  // 0 means all keys
    for (auto& k : keys) k = from + (span == 0 ? numbers() : numbers() % span);
    return keys;
  }
  if (order != "sequential" && order != "reversed")
    throw bad_request("The order '" + order.substr(0, 40) + "' is not known: choose random, sequential or reversed.");
  if (step == 0 || (n > 1 && (to - from) / step < n - 1))
    throw bad_request("The series does not fit below 'to': take fewer keys, or a smaller 'step' of at least 1.");
  for (std::uint64_t i = 0; i < n; ++i) keys[i] = from + i * step;
  if (order == "reversed") std::reverse(keys.begin(), keys.end());
  return keys;
}

std::vector<std::uint64_t> keys_of(const json& step, std::uint64_t most) {
  if (step.contains("keys") == step.contains("series"))
    throw bad_request("An operation needs either 'keys' or 'series'.");
  if (step.contains("series")) return series_of(step["series"], most);
  const json& list = step["keys"];
  if (!list.is_array() || list.empty() || list.size() > most)
    throw bad_request("'keys' is a list of 1 to " + std::to_string(most) + " keys.");
  std::vector<std::uint64_t> keys;
  keys.reserve(list.size());
  for (const json& k : list) {
    if (!k.is_string()) throw bad_request("A key is a text of decimal digits, such as \"45\".");
    keys.push_back(parse_key_text(k.get<std::string>(), "A key"));
  }
  return keys;
}

live_step step_of(const json& object, const live_limits& limits) {
  if (!object.is_object()) throw bad_request("An operation is a JSON object.");
  const std::string op = text_or(object, "op", "");
  live_step step;
  if (op == "maintain") {
    require_known(object, {"op"}, "maintain");
    step.maintain = true;
    return step;
  }
  if (op == "range") {
    require_known(object, {"op", "from", "to"}, "A range");
    step.op = trace_op::range;
    step.keys = {key_or(object, "from", 0)};
    step.to = key_or(object, "to", ~std::uint64_t{0});
    return step;
  }
  require_known(object, {"op", "keys", "series"}, "An operation");
  if (op == "insert") {
    step.op = trace_op::insert;
  } else if (op == "assign") {
    step.op = trace_op::assign;
  } else if (op == "erase") {
    step.op = trace_op::erase;
  } else if (op != "find") {
    throw bad_request("The operation '" + op.substr(0, 40) +
                      "' is not known: choose insert, assign, erase, find, range or maintain.");
  }
  step.keys = keys_of(object, limits.keys_per_call);
  return step;
}

}  // namespace

std::uint64_t parse_key_text(const std::string& text, const std::string& what) {
  std::uint64_t k = 0;
  bool good = !text.empty() && text.size() <= 20;
  for (const char c : text) {
    const auto digit = static_cast<std::uint64_t>(static_cast<unsigned char>(c) - '0');
    good = good && c >= '0' && c <= '9' && k <= (~std::uint64_t{0} - digit) / 10;
    if (good) k = k * 10 + digit;
  }
  if (!good) throw bad_request(what + " is a text of decimal digits below 2^64.");
  return k;
}

live_request parse_session(const std::string& body, const live_limits& limits) {
  const json object = parse_object(body);
  require_known(object, {"index", "protocol", "upper", "slots", "fill"}, "The session");
  live_request request;
  request.index = text_or(object, "index", "blink");
  request.protocol = text_or(object, "protocol", "");
  request.upper = text_or(object, "upper", "");
  request.slots = static_cast<unsigned>(number_or(object, "slots", 0, 1, 4096));
  if (object.contains("fill")) request.keys = series_of(object["fill"], limits.keys_per_session);
  return request;
}

live_run parse_run(const std::string& body, const live_limits& limits) {
  const json object = parse_object(body);
  require_known(object, {"do", "threads"}, "The run");
  if (!object.contains("do") || !object["do"].is_array() || object["do"].empty() || object["do"].size() > 64)
    throw bad_request("'do' is a list of 1 to 64 operations.");
  live_run run;
  run.threads = static_cast<unsigned>(number_or(object, "threads", 1, 1, limits.threads));
  std::uint64_t keys = 0;
  for (const json& step : object["do"]) {
    run.steps.push_back(step_of(step, limits));
    keys += run.steps.back().keys.size();
  }
  if (keys > limits.keys_per_call)
    throw bad_request("One call is about " + std::to_string(limits.keys_per_call) + " keys at most: make several.");
  return run;
}

}  // namespace espalier::explorer
