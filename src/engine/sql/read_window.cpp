// read_window.cpp - reads OVER (...) and the WINDOW clause.
#include <nlohmann/json.hpp>

#include "engine/error.hpp"
#include "engine/sql/node_reader.hpp"
#include "engine/sql/tree_reader.hpp"

namespace espalier::engine {
namespace {

// The bits of WindowDef.frameOptions, as in PostgreSQL's parsenodes.h.
constexpr int non_default = 0x1, rows_mode = 0x4, groups_mode = 0x8;
constexpr int excludes = 0x8000 | 0x10000 | 0x20000;

struct bound_bits {
  int start, end;
  frame_bound bound;
};

constexpr bound_bits bounds[] = {
    {0x20, 0x40, frame_bound::unbounded_preceding}, {0x80, 0x100, frame_bound::unbounded_following},
    {0x200, 0x400, frame_bound::current_row},       {0x800, 0x1000, frame_bound::preceding},
    {0x2000, 0x4000, frame_bound::following},
};

}  // namespace

ast::window tree_reader::window(node_reader& reader) {
  ast::window out;
  const int at = out.position = reader.position();
  out.name = reader.text("name");
  out.base = reader.text("refname");
  for (const auto* key : reader.list("partitionClause")) out.partition_by.push_back(expression(*key, at));
  for (const auto* key : reader.list("orderClause")) out.order_by.push_back(sort_key(*key, at));
  const int options = reader.number("frameOptions");
  out.has_frame = (options & non_default) != 0;
  if ((options & excludes) != 0) {
    throw_sql_error(codes::feature_not_supported, at,
                    "EXCLUDE in a frame is not supported; subtract the excluded rows from the result.");
  }
  if ((options & rows_mode) != 0) out.unit = frame_unit::rows;
  if ((options & groups_mode) != 0) out.unit = frame_unit::groups;
  for (const auto& [start, end, bound] : bounds) {
    if ((options & start) != 0) out.start = bound;
    if ((options & end) != 0) out.end = bound;
  }
  if (const auto* offset = reader.take("startOffset")) out.start_offset = expression(*offset, at);
  if (const auto* offset = reader.take("endOffset")) out.end_offset = expression(*offset, at);
  reader.finish();
  return out;
}

}  // namespace espalier::engine
