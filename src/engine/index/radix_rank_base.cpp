#include "engine/index/radix_rank_base.hpp"

#include <algorithm>

namespace espalier::engine {

namespace {

byte_string_batch batch_of(std::string_view bytes, std::span<const std::uint64_t> offsets) {
  return {std::span<const char>(bytes.data(), bytes.size()), offsets};
}

radix_tree<> tree_of(const byte_strings& strings, const device& where) {
  if (strings.size() == 0) return radix_tree<>(where);
  return radix_tree<>::build(batch_of(strings.bytes, strings.offsets), {}, where);
}

}  // namespace

radix_rank_base::radix_rank_base(ordered_keys keys, const device& where)
    : encoder_(std::move(keys.encoder)),
      rows_(std::move(keys.rows)),
      starts_(std::move(keys.starts)),
      null_rows_(keys.null_rows),
      tree_(tree_of(keys.strings, host_of(where))) {
  if (where.kind() == device_kind::cuda) on_device_ = tree_of(keys.strings, where);
}

std::vector<rank_pair> radix_rank_base::bounds(const range_batch& ranges) const {
  const std::size_t n = ranges.size();
  std::vector<rank_pair> out(n);
  std::vector<std::uint64_t> ranks(n);
  const radix_tree<>& tree = tree_for(n);
  tree.rank(batch_of(ranges.lo_bytes.bytes, ranges.lo_bytes.offsets), ranks);
  for (std::size_t i = 0; i < n; ++i) out[i].from = start(ranks[i]);
  tree.rank(batch_of(ranges.hi_bytes.bytes, ranges.hi_bytes.offsets), ranks);
  for (std::size_t i = 0; i < n; ++i) {
    const bool open = ranges.mark_of(i) == range_batch::mark::from_lo;
    out[i].to = std::max(out[i].from, open ? keyed_rows() : start(ranks[i]));
  }
  return out;
}

std::vector<rank_pair> radix_rank_base::equal_ranges(const encoded_keys& keys) const {
  std::vector<rank_pair> out(keys.size);
  std::vector<std::uint64_t> ranks(keys.size);
  const byte_string_batch batch = batch_of(keys.bytes.bytes, keys.bytes.offsets);
  tree_for(keys.size).rank(batch, ranks);
  for (std::size_t i = 0; i < keys.size; ++i) out[i].from = start(ranks[i]);
  tree_for(keys.size).rank(batch, ranks, bound_type::upper);
  for (std::size_t i = 0; i < keys.size; ++i) out[i].to = start(ranks[i]);
  return out;
}

radix_rank_base::listed_keys radix_rank_base::list_keys(const range_batch& ranges, std::size_t i,
                                                        std::uint64_t rows) const {
  listed_keys out;
  const auto take = [&](const auto& found) {
    out.bytes = found.key_bytes.to_vector();
    out.offsets = found.key_offsets.to_vector();
  };
  if (ranges.mark_of(i) != range_batch::mark::ends) {
    take(tree_.prefix({""}));  // up to the last key, which has no upper bound
    return out;
  }
  const std::string_view ends[] = {ranges.lo_bytes[i], ranges.hi_bytes[i]};
  const std::uint64_t lo_offsets[] = {0, ends[0].size()}, hi_offsets[] = {0, ends[1].size()};
  const auto lo = batch_of(ends[0], lo_offsets);
  tree_.rank(lo, {&out.first, 1});
  take(tree_.range(lo, batch_of(ends[1], hi_offsets), {interval::right_open, rows}));
  return out;
}

void radix_rank_base::read_keys(const range_batch& ranges, std::size_t i, rank_pair ranks, key_order order,
                                encoded_keys& out) const {
  if (ranks.from >= ranks.to) return;
  const bool down = order == key_order::descending;
  const auto keys = list_keys(ranges, i, down ? keyed_rows() : ranks.to - ranks.from);
  const auto number_of = [&](std::uint64_t rank) {
    return starts_.empty() ? rank : starts_.lower_bound(0, starts_.size(), rank + 1) - 1;
  };
  const std::uint64_t first = number_of(ranks.from), last = number_of(ranks.to - 1);
  for (std::uint64_t k = 0; k <= last - first; ++k) {
    const std::uint64_t number = down ? last - k : first + k;
    const std::uint64_t from = std::max(start(number), ranks.from);
    const std::uint64_t to = std::min(start(number + 1), ranks.to);
    for (std::uint64_t row = from; row < to; ++row) out.add_bytes(keys[number]);
  }
}

ordered_keys radix_rank_base::content() const {
  ordered_keys out;
  out.encoder = encoder_;
  out.rows = rows_;
  out.starts = starts_;
  out.null_rows = null_rows_;
  struct listed {
    std::vector<char> bytes;
    std::vector<std::uint64_t> offsets{0};
  };
  auto own = std::make_shared<listed>();
  if (!tree_.empty()) {
    const auto all = tree_.prefix({""});
    own->bytes = all.key_bytes.to_vector();
    own->offsets = all.key_offsets.to_vector();
  }
  out.strings = {{own->bytes.data(), own->bytes.size()}, own->offsets, own};
  return out;
}

std::size_t radix_rank_base::bytes() const {
  return tree_.stats().bytes + rows_.bytes() + starts_.bytes() + (on_device_ ? on_device_->stats().bytes : 0);
}

std::string radix_rank_base::validate() const {
  if (const validation v = tree_.validate(); !v) return v.problem;
  if (on_device_) return on_device_->validate().problem;
  return {};
}

}  // namespace espalier::engine
