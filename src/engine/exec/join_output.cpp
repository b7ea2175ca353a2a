#include "engine/exec/join_output.hpp"

#include <algorithm>

#include "engine/stop.hpp"

namespace espalier::engine {
namespace {

void mark(const std::vector<std::int64_t>& rows, std::vector<std::uint8_t>& met) {
  for_each_row(rows.size(), [&](std::size_t i) { met[static_cast<std::size_t>(rows[i])] = 1; });
}

}  // namespace

join_output::join_output(const join_node& n, const relation& left, const evaluation& values,
                         const std::function<bool(relation)>& take)
    : n_(n), left_(left), values_(values), take_(take) {
  for (const auto& output : n.outputs) wanted_.insert(output.id);
  if (n.type != join_type::inner) left_met_.assign(static_cast<std::size_t>(left.rows), 0);
}

bool join_output::can_count() const { return n_.type == join_type::inner && n_.outputs.empty() && n_.residual.empty(); }

bool join_output::answers_left_rows() const { return n_.type == join_type::semi || n_.type == join_type::anti; }

void join_output::hand_on(const join_pairs& pairs, const relation& right, bool with_nulls) {
  const auto rows = [&](const relation& from, const std::vector<std::int64_t>& numbers) {
    return with_nulls ? take_rows_or_null(only(from, wanted_), numbers) : take_rows(only(from, wanted_), numbers);
  };
  auto piece = beside(rows(left_, pairs.left), rows(right, pairs.right));
  piece.rows = static_cast<std::int64_t>(pairs.left.size());
  handed_on_ = true;
  wants_more_ = take_(std::move(piece));
}

// Returns the number of pairs per step, such that their text, for rows of average length, is a few hundred MB.
std::size_t join_output::pairs_of_some_text(const relation& right) const {
  constexpr double enough = 0x1p28;
  std::set<column_id> read = wanted_;
  for (const auto& condition : n_.residual) collect_columns(condition, read);
  const auto average = [&](const relation& side) {
    const auto rows = static_cast<double>(std::max<std::int64_t>(side.rows, 1));
    return static_cast<double>(text_bytes(side, 0, side.rows, read)) / rows;
  };
  const double pairs = enough / std::max(1.0, average(left_) + average(right));
  return static_cast<std::size_t>(std::clamp(pairs, 1024.0, static_cast<double>(pairs_at_once)));
}

void join_output::add(join_pairs block, const relation& right) {
  const auto at_once = block.left.size() <= 1024 ? block.left.size() : pairs_of_some_text(right);
  if (block.left.size() <= at_once) return add_part(std::move(block), right);
  for (std::size_t first = 0; first < block.left.size() && wants_more_; first += at_once) {
    const auto count = std::min(at_once, block.left.size() - first);
    const auto part = [&](const std::vector<std::int64_t>& rows) {
      const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(first);
      return std::vector<std::int64_t>(begin, begin + static_cast<std::ptrdiff_t>(count));
    };
    add_part({part(block.left), part(block.right)}, right);
  }
}

void join_output::add_part(join_pairs block, const relation& right) {
  check_cancelled();
  keep_pairs_that_pass(n_.residual, left_, right, block, values_);
  if (n_.type == join_type::full) {
    right_met_.resize(static_cast<std::size_t>(right.rows), 0);
    mark(block.right, right_met_);
  }
  if (n_.type != join_type::inner) mark(block.left, left_met_);
  if (answers_left_rows()) return;
  if (n_.outputs.empty() && n_.type == join_type::inner) return count(block.left.size());
  if (!block.left.empty()) hand_on(block, right, false);
}

void join_output::finish(const relation& right) {
  if (!wants_more_) return;
  if (counted_ > 0) {
    relation piece;
    piece.rows = static_cast<std::int64_t>(counted_);
    wants_more_ = take_(std::move(piece));
    return;
  }
  join_pairs lonely;
  const std::uint8_t wanted = n_.type == join_type::semi ? 1 : 0;
  for_each_row(left_met_.size(), [&](std::size_t row) {
    if (left_met_[row] == wanted) lonely.left.push_back(static_cast<std::int64_t>(row));
  });
  if (answers_left_rows()) {
    auto piece = take_rows(only(left_, wanted_), lonely.left);
    piece.rows = static_cast<std::int64_t>(lonely.left.size());
    wants_more_ = take_(std::move(piece));
    return;
  }
  lonely.right.assign(lonely.left.size(), null_row);
  if (n_.type == join_type::full) {
    right_met_.resize(static_cast<std::size_t>(right.rows), 0);
    for_each_row(right_met_.size(), [&](std::size_t row) {
      if (right_met_[row] != 0) return;
      lonely.left.push_back(null_row);
      lonely.right.push_back(static_cast<std::int64_t>(row));
    });
  }
  if (!lonely.left.empty() || !handed_on_) hand_on(lonely, right, true);
}

}  // namespace espalier::engine
