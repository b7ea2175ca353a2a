// report_writers.cpp - writes rows as a text table, as JSON and as CSV.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "bench/harness/machine_json.hpp"
#include "bench/harness/row.hpp"
#include "bench/index/blink/distribution_matrix.hpp"
#include "cli/text_table.hpp"

namespace espalier::bench {
namespace {

using json = nlohmann::ordered_json;

json row_json(const row& r) {
  json j{{"index", r.index},
         {"device", r.device},
         {"op", r.op},
         {"keys", r.keys},
         {"queries", r.queries},
         {"key_type", r.key_type},
         {"value_type", r.value_type},
         {"distribution", r.distribution},
         {"threads", r.threads},
         {"plan", r.plan},
         {"aggregates", r.aggregates},
         {"location", r.location},
         {"seconds", r.seconds},
         {"rate", r.rate},
         {"ratio", json::object()},
         {"bytes_per_key", r.bytes_per_key}};
  if (r.pipeline != 0) j["pipeline"] = r.pipeline;
  if (r.blink) {
    j["policy"] = r.blink->policy;
    j["upper"] = r.blink->upper;
    j["slots"] = r.blink->slots;
    j["path"] = r.blink->path;
    j["repeat"] = r.blink->repeat;
    if (r.blink->batch != 0) j["batch"] = r.blink->batch;
    if (!r.blink->batch_distribution.empty()) {
      j["batch_distribution"] = r.blink->batch_distribution;
      if (!r.blink->chosen.empty()) j["chosen"] = r.blink->chosen;
      if (r.blink->of_better_path > 0) j["of_better_path"] = r.blink->of_better_path;
    }
  }
  if (r.radix) {
    j["key_length"] = r.radix->key_length;
    j["mean_key_length"] = r.radix->mean_key_length;
    j["long_share"] = r.radix->long_share;
    if (r.radix->batch != 0) j["batch"] = r.radix->batch;
    if (!r.radix->path.empty()) j["path"] = r.radix->path;
    if (r.radix->streams != 0) j["streams"] = r.radix->streams;
    if (r.radix->share_of_find > 0) j["share_of_find"] = r.radix->share_of_find;
    if (r.radix->share_of_enqueued_find > 0) j["share_of_enqueued_find"] = r.radix->share_of_enqueued_find;
  }
  if (r.hybrid) {
    j["layout"] = r.hybrid->layout;
    j["placement"] = r.hybrid->placement;
    j["ran"] = r.hybrid->ran;
    if (r.hybrid->bucket != 0) {
      j["buckets"] = r.hybrid->handling;
      j["bucket"] = r.hybrid->bucket;
      j["balance"] = {{"how", r.hybrid->balance}, {"levels", r.hybrid->levels}, {"share", r.hybrid->share}};
    }
    j["pages"] = r.hybrid->pages;
    j["huge_pages"] = {{"inner", r.hybrid->huge_inner}, {"leaves", r.hybrid->huge_leaves}};
    if (!r.hybrid->way.empty()) j["way"] = r.hybrid->way;
    if (!r.hybrid->way.empty() || r.hybrid->sent != 0) {
      j["sent_bytes"] = r.hybrid->sent;
      j["send_seconds"] = r.hybrid->send_seconds;
    }
    if (!r.hybrid->requests.empty()) j["requests"] = r.hybrid->requests;
    if (r.hybrid->range_length != 0) j["range_length"] = r.hybrid->range_length;
    j["inner_bytes"] = r.hybrid->inner_bytes;
    j["device_bytes"] = r.hybrid->device_bytes;
    if (r.hybrid->leaf_cache) j["leaf_cache_bytes"] = *r.hybrid->leaf_cache;
    if (r.hybrid->tlb_misses) j["tlb_misses_per_query"] = *r.hybrid->tlb_misses;
    j["repeat"] = r.hybrid->repeat;
  }
  for (const auto& p : r.peers) {
    j["ratio"][p.name] = p.ratio;
    j["peers"][p.name] = {{"seconds", p.seconds}, {"queries", p.queries}};
  }
  if (r.range_elements != 0) j["range_elements"] = r.range_elements;
  if (r.bandwidth_share) j["bandwidth_share"] = *r.bandwidth_share;
  if (!r.inapplicable_peers.empty()) j["inapplicable_peers"] = r.inapplicable_peers;
  if (!r.notes.empty()) j["notes"] = r.notes;
  return j;
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

/// Returns every peer of any row, in order of first appearance; each becomes a column.
std::vector<std::string> peer_names(const report& result) {
  std::vector<std::string> names;
  for (const auto& r : result.rows) {
    for (const auto& p : r.peers) {
      if (std::find(names.begin(), names.end(), p.name) == names.end()) names.push_back(p.name);
    }
  }
  return names;
}

const peer_result* peer_of(const row& r, const std::string& name) {
  const auto at = std::find_if(r.peers.begin(), r.peers.end(), [&](const auto& p) { return p.name == name; });
  return at == r.peers.end() ? nullptr : &*at;
}

std::string number_or_nothing(std::uint64_t n) { return n == 0 ? "" : size_text(n); }

/// A column that is shown if rows differ in it, or always; empty for rows without a value.
struct row_axis {
  std::string name;
  std::string (*text)(const row&);
  bool always = false;
};
/// Returns the requested placement and the actual one.
std::string placement_text(const hybrid_columns& h) {
  return h.placement == h.ran ? h.ran : fmt::format("{}: {}", h.placement, h.ran);
}
std::vector<row_axis> row_axes() {
  return {{"policy", [](const row& r) { return r.blink ? r.blink->policy : ""; }},
          {"upper", [](const row& r) { return r.blink ? r.blink->upper : ""; }},
          {"slots", [](const row& r) { return r.blink ? std::to_string(r.blink->slots) : ""; }},
          {"batch", [](const row& r) { return r.radix ? number_or_nothing(r.radix->batch) : ""; }},
          {"streams", [](const row& r) { return r.radix ? number_or_nothing(r.radix->streams) : ""; }},
          {"location", [](const row& r) { return r.radix || r.index == "join" ? r.location : ""; }},
          {"path", [](const row& r) { return r.blink   ? r.blink->path
                                             : r.radix ? r.radix->path
                                                       : ""; }},
          {"layout", [](const row& r) { return r.hybrid ? r.hybrid->layout : ""; }, true},
          {"placement", [](const row& r) { return r.hybrid ? placement_text(*r.hybrid) : ""; }, true},
          {"buckets", [](const row& r) { return r.hybrid ? r.hybrid->handling : ""; }, true},
          {"of", [](const row& r) { return r.hybrid ? number_or_nothing(r.hybrid->bucket) : ""; }, true},
          {"balance", [](const row& r) { return r.hybrid ? r.hybrid->balance : ""; }},
          {"requests", [](const row& r) { return r.hybrid ? r.hybrid->requests : ""; }},
          {"pages", [](const row& r) { return r.hybrid ? r.hybrid->pages : ""; }},
          {"way", [](const row& r) { return r.hybrid ? r.hybrid->way : ""; }}};
}
std::vector<row_axis> differing_axes(const report& result) {
  std::vector<row_axis> axes = row_axes();
  std::erase_if(axes, [&](const row_axis& axis) {
    if (axis.always) return false;  // the table omits columns that are empty in all rows
    std::set<std::string> values;
    for (const auto& r : result.rows) {
      if (!axis.text(r).empty()) values.insert(axis.text(r));
    }
    return values.size() < 2;
  });
  return axes;
}

/// Returns whether the rates of updates are compared with those of finds.
bool compares_with_find(const report& result) {
  return std::any_of(result.rows.begin(), result.rows.end(),
                     [](const row& r) { return r.radix && r.radix->share_of_find > 0; });
}

/// Exact if all keys have the same length.
std::string length_text(const row& r) {
  if (!r.radix) return "";
  const bool one = r.radix->key_length != 0 && r.radix->long_share == 0;
  return one ? std::to_string(r.radix->key_length) : fmt::format("~{:.0f}", r.radix->mean_key_length);
}

std::string joined(const std::vector<std::string>& notes) {
  std::string text;
  for (const auto& n : notes) text += (text.empty() ? "" : "; ") + n;
  return text;
}

}  // namespace

void write_table(const report& result, std::ostream& out) {
  if (is_matrix(result)) return write_matrix(result, out);
  const auto names = peer_names(result);
  const auto axes = differing_axes(result);
  cli::text_table table({"op", "device", "keys", "queries", "types", "length", "distribution", "plan"});
  for (const auto& axis : axes) table.add_column(axis.name);
  table.add_column("time");
  table.add_column("rate");
  const bool beside_find = compares_with_find(result);
  if (beside_find) table.add_column("of find");
  for (const auto& name : names) table.add_column("vs " + name);
  table.add_column("B/key");
  table.add_column("bandwidth");
  std::vector<std::string> notes;
  for (const auto& r : result.rows) {
    std::vector<std::string> cells{r.op,
                                   r.threads == 0 ? r.device : fmt::format("{} x{}", r.device, r.threads),
                                   size_text(r.keys),
                                   size_text(r.queries),
                                   r.key_type + "/" + r.value_type,
                                   length_text(r),
                                   r.distribution,
                                   r.plan};
    for (const auto& axis : axes) cells.push_back(axis.text(r));
    cells.push_back(seconds_text(r.seconds));
    cells.push_back(rate_text(r.rate));
    if (beside_find) {
      const double share = r.radix ? r.radix->share_of_find : 0;
      cells.push_back(share > 0 ? fmt::format("{:.0f} %", 100 * share) : "");
    }
    for (const auto& name : names) {
      const auto* p = peer_of(r, name);
      cells.push_back(p == nullptr ? "" : ratio_text(p->ratio));
    }
    cells.push_back(fmt::format("{:.2f}", r.bytes_per_key));
    cells.push_back(r.bandwidth_share ? fmt::format("{:.0f} %", 100 * *r.bandwidth_share) : "");
    table.add_row(std::move(cells));
    for (const auto& note : r.notes) {
      if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
    }
  }
  out << table.text();
  for (const auto& note : notes) out << "note: " << note << '\n';
}

void write_json(const report& result, std::ostream& out) {
  json j{{"machine", machine_json(result.dev)},
         {"compiler", result.dev.compiler},
         {"commit", result.dev.commit},
         {"command", result.command},
         {"date", result.date},
         {"seed", result.seed},
         {"repeat", result.repeat},
         {"rows", json::array()}};
  if (result.copy_bandwidth > 0) j["copy_bandwidth"] = result.copy_bandwidth;
  for (const auto& r : result.rows) j["rows"].push_back(row_json(r));
  out << j.dump(2) << '\n';
}

void write_csv(const report& result, std::ostream& out) {
  const auto names = peer_names(result);
  out << "index,device,op,keys,queries,key_type,value_type,distribution,threads,plan,aggregates,location,seconds,rate,"
         "bytes_per_key,bandwidth_share";
  const bool blink = std::any_of(result.rows.begin(), result.rows.end(), [](const row& r) { return r.blink; });
  if (blink) out << ",policy,upper,slots,path";
  const bool radix = std::any_of(result.rows.begin(), result.rows.end(), [](const row& r) { return r.radix; });
  if (radix) out << ",key_length,mean_key_length,long_share,batch,path,streams,share_of_find";
  const bool hybrid = std::any_of(result.rows.begin(), result.rows.end(), [](const row& r) { return r.hybrid; });
  if (hybrid) out << ",layout,placement,ran,buckets,bucket,balance,levels,share,requests,pages,way";
  for (const auto& name : names) out << ",ratio_" << name;
  out << ",notes\n";
  for (const auto& r : result.rows) {
    fmt::print(out, "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},", r.index, r.device, r.op, r.keys, r.queries,
               r.key_type, r.value_type, r.distribution, r.threads, r.plan, r.aggregates, r.location, r.seconds, r.rate,
               r.bytes_per_key);
    if (r.bandwidth_share) out << *r.bandwidth_share;
    if (blink && !r.blink) out << ",,,,";
    if (r.blink) fmt::print(out, ",{},{},{},{}", r.blink->policy, r.blink->upper, r.blink->slots, r.blink->path);
    if (r.radix) {
      fmt::print(out, ",{},{},{},{},{},{},{}", r.radix->key_length, r.radix->mean_key_length, r.radix->long_share,
                 r.radix->batch, r.radix->path, r.radix->streams, r.radix->share_of_find);
    }
    if (r.hybrid) {
      fmt::print(out, ",{},{},{},{},{},{},{},{},{},{},{}", r.hybrid->layout, r.hybrid->placement, r.hybrid->ran,
                 r.hybrid->handling, r.hybrid->bucket, r.hybrid->balance, r.hybrid->levels, r.hybrid->share,
                 r.hybrid->requests, r.hybrid->pages, r.hybrid->way);
    }
    for (const auto& name : names) {
      out << ',';
      if (const auto* p = peer_of(r, name)) out << p->ratio;
    }
    out << ',' << csv_field(joined(r.notes)) << '\n';
  }
}

}  // namespace espalier::bench
