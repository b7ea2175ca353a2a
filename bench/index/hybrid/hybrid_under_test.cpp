// hybrid_under_test.cpp - calls the untyped tree.
#include "bench/index/hybrid/hybrid_under_test.hpp"

#include <cstring>

#include "bench/index/ordered_queries.hpp"

namespace espalier::bench {

void hybrid_under_test::build(const hybrid_options& options, const column& keys, const column& values) {
  tree_.reset();
  tree_ = espalier::detail::build_hybrid_index(device_, {spec_.key, spec_.value, bytes_of(spec_.value)}, options,
                                               keys.data(), values.data(), keys.size());
}

void hybrid_under_test::ask(operation op, const request& r, const hybrid_query_options& how) const {
  if (op == operation::find) {
    tree_->find(r.keys, r.queries, r.out[0], static_cast<std::uint8_t*>(r.out[1]), how);
  } else if (op == operation::contains) {
    tree_->find(r.keys, r.queries, nullptr, static_cast<std::uint8_t*>(r.out[0]), how);
  } else {
    ask_in_order(*tree_, op, r);
  }
}

void hybrid_under_test::ask_rows(const request& r, std::uint64_t row, const hybrid_query_options& how) const {
  tree_->rows(r.keys, r.hi, r.queries, {interval::closed, row}, r.out[1], r.out[2],
              static_cast<std::uint64_t*>(r.out[0]), how);
}

range_buffers hybrid_under_test::range(const request& r, const hybrid_query_options&) const {
  return tree_->range(r.keys, r.hi, r.queries, {});
}

answers hybrid_under_test::fetch(const range_buffers& raw) const {
  answers out;
  const auto add = [&](scalar_kind kind, const void* from, std::size_t n) {
    const column& to = out.emplace_back(kind, n);
    if (to.byte_count() != 0) std::memcpy(to.data(), from, to.byte_count());
  };
  add(scalar_kind::u64, raw.offsets.data(), raw.offsets.size());
  add(spec_.key, raw.keys.data(), raw.total);
  add(spec_.value, raw.values.data(), raw.total);
  return out;
}

void hybrid_under_test::write(write_op op, const column& keys, const column& values, const column& done,
                              update_mode way) {
  tree_->write(op, keys.data(), values.data(), keys.size(), static_cast<std::uint8_t*>(done.data()), way);
}

}  // namespace espalier::bench
