// target_table.cpp - see target_table.hpp.
#include "bench/query/target_table.hpp"

#include <fmt/format.h>

#include "bench/harness/suite.hpp"

namespace espalier::bench {

void target_table::add(const std::string& what, double ours, std::optional<double> theirs, double asked) {
  lines_.push_back({what, seconds_text(ours), theirs ? seconds_text(*theirs) : "not measured",
                    theirs && ours > 0 ? ratio_text(*theirs / ours) : "",
                    asked > 0 ? fmt::format("at least {}x", asked) : ""});
}

void target_table::add_rate(const std::string& what, double ours, const std::string& unit, double asked) {
  // Changes "1.2 M/s" to "1.2 M rows/s".
  const auto text = [&](double rate) {
    std::string words = rate_text(rate);
    const std::size_t slash = words.rfind('/');
    return words.insert(slash, (words[slash - 1] == ' ' ? "" : " ") + unit);
  };
  lines_.push_back({what, text(ours), asked > 0 ? ratio_text(ours / asked) + " of it" : "",
                    asked > 0 ? "at least " + text(asked) : ""});
}

std::string target_table::text(const std::string& peer) const {
  if (peer.empty()) return markdown_table({"", "ours", "ratio", "asked"}, lines_);
  return markdown_table({"", "ours", peer, "ratio", "asked"}, lines_);
}

}  // namespace espalier::bench
