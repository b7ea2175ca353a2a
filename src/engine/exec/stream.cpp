// stream.cpp - streams rows in pieces. A join may have far more pairs than the operators above it return, so an
// operator that can work on one piece at a time never has all of them in memory.
#include <arrow/array.h>
#include <arrow/chunked_array.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "engine/exec/executor.hpp"
#include "engine/exec/piece_list.hpp"
#include "engine/plan/visit.hpp"
#include "engine/stop.hpp"

namespace espalier::engine {
namespace {

using clock = std::chrono::steady_clock;

double milliseconds_since(clock::time_point start) {
  return std::chrono::duration<double, std::milli>(clock::now() - start).count();
}

}  // namespace

bool comes_in_pieces(const plan_node& n) {
  if (n.kind == node_kind::join) return true;
  return (n.kind == node_kind::filter || n.kind == node_kind::project) && comes_in_pieces(*n.inputs[0]);
}

void executor::stream(plan_node& n, const row_sink& take) {
  const bool in_pieces = n.kind == node_kind::join || n.kind == node_kind::filter || n.kind == node_kind::project;
  if (!in_pieces) {
    take(node(n));
    return;
  }
  const auto start = clock::now();
  double above = 0;  // time spent in the operators above
  auto& told = n.statistics;
  told.ran = true;
  const row_sink hand_on = [&](relation piece) {
    check_cancelled();
    piece = with_outputs(std::move(piece), n.outputs);
    told.rows += static_cast<std::uint64_t>(piece.rows);
    const auto handed = clock::now();
    const bool more = take(std::move(piece));
    above += milliseconds_since(handed);
    return more;
  };
  if (n.kind == node_kind::join) {
    join(static_cast<join_node&>(n), hand_on);
  } else if (n.kind == node_kind::filter) {
    const auto& conditions = static_cast<filter_node&>(n).conditions;
    stream(*n.inputs[0], [&](const relation& piece) { return hand_on(values_.filter(conditions, piece)); });
  } else {
    const auto& project = static_cast<project_node&>(n);
    stream(*n.inputs[0], [&](const relation& piece) { return hand_on(projected(project, piece)); });
  }
  told.milliseconds += milliseconds_since(start) - above;
}

relation executor::collected(plan_node& n) {
  if (const auto pipeline = pipeline_of(n); pipeline && pipeline->has_join()) return collected_blocks(*pipeline);
  piece_list out;
  stream(n, [&](relation piece) {
    out.add(std::move(piece));
    return true;
  });
  return out.take();
}

relation executor::limit(limit_node& n) {
  const auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const auto offset = n.offset ? std::min(row_count(n.offset, "OFFSET"), most) : 0;
  const auto count = n.limit ? std::min(row_count(n.limit, "LIMIT"), most - offset) : most - offset;
  piece_list pieces;
  std::uint64_t rows = 0;
  bool enough = false;
  // Which pieces come first depends on the access path, so all of them are computed if one of them may fail.
  const bool all_pieces = comes_in_pieces(*n.inputs[0]) && may_fail(*n.inputs[0]);
  stream(*n.inputs[0], [&](relation piece) {
    if (!enough) {
      rows += static_cast<std::uint64_t>(piece.rows);
      pieces.add(std::move(piece));
    }
    enough = rows >= offset + count;
    return all_pieces || !enough;
  });
  const auto all = pieces.take();
  return slice_rows(all, static_cast<std::int64_t>(std::min(offset, rows)), static_cast<std::int64_t>(count));
}

}  // namespace espalier::engine
