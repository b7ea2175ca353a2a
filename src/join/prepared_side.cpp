// prepared_side.cpp - see prepared_side.hpp.
#include "espalier/join/prepared_side.hpp"

#include "join/prepared_rows.hpp"

namespace espalier {

prepared_side::prepared_side(std::unique_ptr<join_detail::prepared_rows> rows) : rows_(std::move(rows)) {}
prepared_side::prepared_side(prepared_side&&) noexcept = default;
prepared_side& prepared_side::operator=(prepared_side&&) noexcept = default;
prepared_side::~prepared_side() = default;

prepared_side prepared_side::build(const join_side& side, const device& dev, const stream& s) {
  constexpr const char* call = "prepared_side::build()";
  join_detail::require_cpu(call, dev);
  join_detail::require_side(call, "right", side);
  std::unique_ptr<join_detail::prepared_rows> rows;
  dev.invoke_in_order(dev.resolve(s), [&] {
    rows = join_detail::with_key_type(side.on.kind, call, [&](auto key) -> std::unique_ptr<join_detail::prepared_rows> {
      return std::make_unique<join_detail::typed_prepared_rows<decltype(key)>>(call, "right", side, dev, false);
    });
  });
  return prepared_side(std::move(rows));
}

void prepared_side::append(const join_side& more, const stream& s) {
  constexpr const char* call = "prepared_side::append()";
  join_detail::require_side(call, "appended", more);
  if (more.on.size == 0) return;
  if (more.on.kind != rows_->kind()) {
    throw error("prepared_side::append(): the `on` column has another type than the prepared side; convert it.");
  }
  if (max_join_rows - size() < more.on.size) {
    throw error("prepared_side::append(): the side would have more than 2^32 - 1 rows; start another prepared side.");
  }
  if (size() != 0 && (groups() == 0) != (more.groups == 0)) {
    throw error("prepared_side::append(): either all rows have group codes or none; pass `by` as in build().");
  }
  if (more.groups < groups()) {
    throw error("prepared_side::append(): the number of groups is less than before; pass groups() of the encoder.");
  }
  const device& dev = rows_->get_device();
  dev.invoke_in_order(dev.resolve(s), [&] { rows_->append(more); });
}

void prepared_side::compact(const stream& s) {
  const device& dev = rows_->get_device();
  dev.invoke_in_order(dev.resolve(s), [&] { rows_->compact(); });
}

void prepared_side::asof_join(const join_side& left, std::span<row_number> rows, const asof_options& options,
                              const stream& s) const {
  constexpr const char* call = "prepared_side::asof_join()";
  join_detail::require_side(call, "left", left);
  join_detail::require_rows(call, "the output for row numbers", left.on.size, rows.size());
  join_detail::require_same_groups(call, left, key_kind(), groups(), size() == 0);
  const device& dev = rows_->get_device();
  dev.invoke_in_order(dev.resolve(s), [&] {
    if (size() == 0) {
      std::fill(rows.begin(), rows.end(), no_row);
    } else if (left.on.size != 0) {
      rows_->asof(left, rows, options);
    }
  });
}

std::size_t prepared_side::size() const noexcept { return rows_->size(); }
std::uint32_t prepared_side::groups() const noexcept { return rows_->groups(); }
std::size_t prepared_side::bytes() const noexcept { return rows_->bytes(); }
scalar_kind prepared_side::key_kind() const noexcept { return rows_->kind(); }

}  // namespace espalier
