// text_batch.cpp - see text_batch.hpp.
#include "text_batch.hpp"

namespace espalier::python {
namespace {

column all_null(std::size_t n, origin from) {
  column c;
  c.type.logical = logical_type::string;
  c.size = c.nulls = n;
  auto* const offsets = c.allocate<std::int64_t>(n + 1);
  std::fill_n(offsets, n + 1, 0);
  auto* const bits = c.allocate<std::uint8_t>((n + 7) / 8);
  std::fill_n(bits, (n + 7) / 8, std::uint8_t{0});
  c.offsets64 = offsets;
  c.data = bits;
  c.validity = {bits, 0};
  c.from = from;
  return c;
}

/// An array of no objects has no type; it is taken as no strings.
column import_text(nb::handle source, const char* what) {
  try {
    return import_column(source, what);
  } catch (const nb::builtin_exception&) {
    const bool is_empty = detail::is_numpy_array(source) && nb::cast<std::size_t>(source.attr("size")) == 0 &&
                          nb::cast<std::string>(source.attr("dtype").attr("char")) == "O";
    if (!is_empty) throw;
    return detail::import_text_list(nb::list(), what);
  }
}

}  // namespace

text_batch::text_batch(nb::handle source, const data_type& keys, const char* what, std::size_t times)
    : from_(import_text(source, what)) {
  const bool is_empty_list = from_.from == origin::list && from_.size == 0;
  if (is_empty_list) from_ = detail::import_text_list(nb::list(), what);
  if (!is_empty_list && from_.nulls < from_.size && from_.type.logical != keys.logical) {
    throw nb::type_error(
        (std::string(what) + " has the type " + name_of(from_.type) + ", and the keys are " + name_of(keys) + ".")
            .c_str());
  }
  if (!from_.type.is_text()) from_ = all_null(from_.size, from_.from);
  const std::size_t n = from_.size;
  if (is_scalar() && times != 1) {
    const std::string_view text = from_.string_at(0);
    widened_.push_back(0);
    for (std::size_t i = 0; i < times; ++i) {
      repeated_.append(text);
      widened_.push_back(repeated_.size());
    }
    keys_ = batch_of(repeated_.data(), widened_.data(), times);
    return;
  }
  const auto* offsets = reinterpret_cast<const std::uint64_t*>(from_.offsets64);
  if (offsets == nullptr) {
    widened_.assign(from_.offsets32, from_.offsets32 + n + 1);
    offsets = widened_.data();
  }
  keys_ = batch_of(static_cast<const char*>(from_.data), offsets, n);
}

nb::object text_batch::wrap(const nb::object& values) const {
  const char* const kind = is_scalar()                    ? "scalar"
                           : from_.from == origin::polars ? "polars"
                           : from_.from == origin::arrow  ? "arrow"
                                                          : "numpy";
  if (from_.from != origin::polars && from_.from != origin::arrow && !nb::isinstance<nb::list>(values)) return values;
  return nb::module_::import_("espalier._answers").attr("wrap")(values, kind);
}

}  // namespace espalier::python
