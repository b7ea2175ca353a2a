#include "engine/index/column_aggregates.hpp"

#include <arrow/table.h>
#include <arrow/type.h>

#include <optional>

#include "engine/index/aggregate_tree.hpp"
#include "engine/index/prefix_sums.hpp"
#include "engine/index/summary_values.hpp"
#include "engine/table/table_version.hpp"
#include "espalier/device/cpu.hpp"

namespace espalier::engine {

namespace {

constexpr std::size_t gather_rows = std::size_t{1} << 20;  // rows per step, since gathered rows exist twice

/// Builds one array of results.
template <class Value, class Append>
std::shared_ptr<arrow::Array> array_of(const std::vector<std::optional<Value>>& values,
                                       const std::shared_ptr<arrow::DataType>& type, const Append& append) {
  std::unique_ptr<arrow::ArrayBuilder> builder;
  arrow::Status status = arrow::MakeBuilder(arrow::default_memory_pool(), type, &builder);
  if (status.ok()) status = builder->Reserve(static_cast<std::int64_t>(values.size()));
  for (std::size_t i = 0; status.ok() && i < values.size(); ++i)
    status = values[i] ? append(*builder, *values[i]) : builder->AppendNull();
  std::shared_ptr<arrow::Array> out;
  if (status.ok()) status = builder->Finish(&out);
  if (!status.ok()) throw error("aggregate: Arrow could not hold the answers: " + status.ToString() + ".");
  return out;
}

template <class Builder>
auto append_as() {
  return [](arrow::ArrayBuilder& to, auto value) {
    return static_cast<Builder&>(to).Append(static_cast<typename Builder::value_type>(value));
  };
}

/// T is the type of the computation: booleans are 0 and 1, decimals 128-bit integers.
template <class T>
class aggregates_of final : public column_aggregates {
  // 2^64 sums of 64-bit integers fit 128 bits; sums of decimals may not.
  static constexpr bool has_prefix_sums = std::is_same_v<sum_node<T>, int128>;

 public:
  aggregates_of(const summary_source& source, const number_array& rows, const device& host)
      : type_(source.type()), host_(host) {
    values_.reserve(rows.size());
    std::vector<std::uint64_t> piece;
    for (std::size_t from = 0; from < rows.size(); from += gather_rows) {
      const std::size_t to = std::min(rows.size(), from + gather_rows);
      piece.resize(to - from);
      rows.copy(from, to, piece.data());
      const auto column = source.at(piece);
      for (const auto& chunk : column->chunks()) append_values(*chunk, values_, valid_);
    }
  }

  void prepare_aggregates(aggregate_function f) override {
    const auto run = [this](std::size_t n, const auto& body) { cpu_backend(host_).for_each(n, body, 4096); };
    if (!valid_.empty() && !counts_.is_built()) counts_.build(values_.size(), count_leaves(), run);
    if (f == aggregate_function::sum && !sums_.is_built()) sums_.build(values_.size(), sum_leaves(), run);
    const bool ends = f == aggregate_function::min || f == aggregate_function::max;
    if (ends && !extremes_.is_built()) extremes_.build(values_.size(), extreme_leaves(), run);
  }

  void erase(std::span<const std::uint64_t> ranks) override {
    if (ranks.empty()) return;
    if (valid_.empty()) valid_.assign(values_.size(), 1);
    for (const std::uint64_t rank : ranks) {
      if (valid_[rank] == 0) continue;
      valid_[rank] = 0;
      values_[rank] = T{0};
      if (counts_.is_built()) counts_.update(rank, count_leaves());
      if (sums_.is_built()) sums_.update(rank, sum_leaves());
      if (extremes_.is_built()) extremes_.update(rank, extreme_leaves());
    }
  }

  std::shared_ptr<arrow::Array> answer(aggregate_function f, std::span<const summed_range> ranges,
                                       const arrow::ChunkedArray* added) const override {
    pending beside;
    if (added != nullptr) {
      for (const auto& chunk : added->chunks()) append_values(*chunk, beside.values, beside.valid);
    }
    switch (f) {
      case aggregate_function::count_nonnull:
        return counted(ranges, beside);
      case aggregate_function::sum:
        return summed(ranges, beside);
      default:
        return extreme(f, ranges, beside);
    }
  }

  std::size_t bytes() const override {
    return values_.capacity() * sizeof(T) + valid_.capacity() + counts_.bytes() + sums_.bytes() + extremes_.bytes();
  }

 private:
  /// The values of pending rows, which are not in the tree yet.
  struct pending {
    std::vector<T> values;
    std::vector<std::uint8_t> valid;
    [[nodiscard]] bool is_value(std::size_t i) const { return valid.empty() || valid[i] != 0; }
  };

  [[nodiscard]] bool is_value(std::size_t i) const { return valid_.empty() || valid_[i] != 0; }

  // NULLs and erased values are stored as zero, so sums need not read `valid_`.
  [[nodiscard]] auto sum_leaves() const {
    return [this](std::size_t from, std::size_t to) {
      using partial = std::conditional_t<std::is_integral_v<T> && sizeof(T) <= 4, std::int64_t, sum_node<T>>;
      partial total{};
      for (std::size_t i = from; i < to; ++i) total += values_[i];
      return sum_node<T>(total);
    };
  }
  [[nodiscard]] auto extreme_leaves() const {
    return [this](std::size_t from, std::size_t to) {
      extremes<T> found;
      for (std::size_t i = from; i < to; ++i) {
        if (is_value(i)) found.add(values_[i]);
      }
      return found;
    };
  }
  [[nodiscard]] auto count_leaves() const {
    return [this](std::size_t from, std::size_t to) {
      std::uint64_t n = 0;
      for (std::size_t i = from; i < to; ++i) n += valid_[i];
      return n;
    };
  }

  [[nodiscard]] std::uint64_t count(const summed_range& r, const pending& beside) const {
    std::uint64_t n = valid_.empty() ? r.to - r.from : counts_.fold(r.from, r.to, count_leaves());
    for (std::size_t i = r.added_from; i < r.added_to; ++i) n += beside.is_value(i) ? 1 : 0;
    return n;
  }

  /// Calls one(range) for each range, in parallel if there are many.
  template <class Value, class One>
  [[nodiscard]] std::vector<std::optional<Value>> each(std::span<const summed_range> ranges, const One& one) const {
    std::vector<std::optional<Value>> out(ranges.size());
    cpu_backend(host_).for_each(
        ranges.size(), [&](std::size_t i) { out[i] = one(ranges[i]); }, 256);
    return out;
  }

  std::shared_ptr<arrow::Array> counted(std::span<const summed_range> ranges, const pending& beside) const {
    const auto counts =
        each<std::uint64_t>(ranges, [&](const summed_range& r) { return std::optional(count(r, beside)); });
    return array_of(counts, arrow::int64(), append_as<arrow::Int64Builder>());
  }

  std::shared_ptr<arrow::Array> summed(std::span<const summed_range> ranges, const pending& beside) const {
    using sum = std::conditional_t<std::is_floating_point_v<T>, double, sum_node<T>>;
    const auto sums = each<sum>(ranges, [&](const summed_range& r) -> std::optional<sum> {
      if (count(r, beside) == 0) return std::nullopt;
      sum_node<T> total = sums_.fold(r.from, r.to, sum_leaves());
      for (std::size_t i = r.added_from; i < r.added_to; ++i) total += beside.values[i];
      if constexpr (std::is_floating_point_v<T>) {
        return total.is_exact() ? total.total() : exactly_summed(r, beside);
      } else {
        return total;
      }
    });
    const auto type = summary_type(aggregate_function::sum, type_);
    if constexpr (std::is_floating_point_v<T>) {
      return array_of(sums, type, append_as<arrow::DoubleBuilder>());
    } else if constexpr (std::is_same_v<T, int128>) {
      return array_of(sums, type, [](arrow::ArrayBuilder& to, const wide_sum& total) {
        return static_cast<arrow::Decimal128Builder&>(to).Append(decimal_sum(total));
      });
    } else if constexpr (sizeof(T) == 8) {
      return array_of(sums, type, [](arrow::ArrayBuilder& to, int128 total) {
        return static_cast<arrow::Decimal128Builder&>(to).Append(decimal_of(total));
      });
    } else {
      return array_of(sums, type, append_as<arrow::Int64Builder>());
    }
  }

  /// Sums floats exactly, for ranges whose partial sums are inexact.
  [[nodiscard]] double exactly_summed(const summed_range& r, const pending& beside) const {
    exact_float_sum total;
    for (std::size_t i = r.from; i < r.to; ++i) total.add(static_cast<double>(values_[i]));
    for (std::size_t i = r.added_from; i < r.added_to; ++i) total.add(static_cast<double>(beside.values[i]));
    return total.total();
  }

  std::shared_ptr<arrow::Array> extreme(aggregate_function f, std::span<const summed_range> ranges,
                                        const pending& beside) const {
    const auto ends = each<T>(ranges, [&](const summed_range& r) -> std::optional<T> {
      extremes<T> found = extremes_.fold(r.from, r.to, extreme_leaves());
      for (std::size_t i = r.added_from; i < r.added_to; ++i) {
        if (beside.is_value(i)) found.add(beside.values[i]);
      }
      if (!found.any) return std::nullopt;
      return f == aggregate_function::min ? found.least : found.greatest;
    });
    return array_of(ends, summary_type(f, type_),
                    [this](arrow::ArrayBuilder& to, T value) { return append(to, value); });
  }

  [[nodiscard]] arrow::Status append(arrow::ArrayBuilder& to, T value) const {
    if constexpr (std::is_same_v<T, int128>) {
      return static_cast<arrow::Decimal128Builder&>(to).Append(decimal_of(value));
    } else if constexpr (std::is_same_v<T, std::uint8_t>) {
      return static_cast<arrow::BooleanBuilder&>(to).Append(value != 0);
    } else if constexpr (std::is_same_v<T, std::int32_t>) {
      if (type_.id == type_id::date) return static_cast<arrow::Date32Builder&>(to).Append(value);
      return static_cast<arrow::Int32Builder&>(to).Append(value);
    } else if constexpr (std::is_same_v<T, std::int64_t>) {
      if (type_.id == type_id::timestamp) return static_cast<arrow::TimestampBuilder&>(to).Append(value);
      return static_cast<arrow::Int64Builder&>(to).Append(value);
    } else {
      return static_cast<typename arrow::CTypeTraits<T>::BuilderType&>(to).Append(value);
    }
  }

  column_type type_;
  device host_;
  std::vector<T> values_;                 // indexed by rank
  std::vector<std::uint8_t> valid_;       // empty if all values are valid
  aggregate_tree<std::uint64_t> counts_;  // counts of `valid_`
  std::conditional_t<has_prefix_sums, prefix_sums, aggregate_tree<sum_node<T>>> sums_;
  aggregate_tree<extremes<T>> extremes_;
};

}  // namespace

const column_type& summary_source::type() const { return table.columns()[column].type; }

std::shared_ptr<arrow::ChunkedArray> summary_source::at(std::span<const std::uint64_t> rows) const {
  return table.take(std::span(&column, 1), rows)->column(0);
}

bool can_summarize(aggregate_function f, const column_type& type) {
  switch (f) {
    case aggregate_function::count_nonnull:
    case aggregate_function::min:
    case aggregate_function::max:
      return type.id != type_id::varchar;
    case aggregate_function::sum:
      return is_numeric(type.id);
  }
  return false;
}

std::shared_ptr<arrow::DataType> summary_type(aggregate_function f, const column_type& type) {
  if (f == aggregate_function::count_nonnull) return arrow::int64();
  if (f != aggregate_function::sum) return arrow_type(type);
  if (type.id == type_id::decimal) return arrow::decimal128(38, type.scale);
  if (type.id == type_id::int64) return arrow::decimal128(38, 0);
  return is_float(type.id) ? arrow::float64() : arrow::int64();
}

std::unique_ptr<column_aggregates> column_aggregates::make(const summary_source& source, const number_array& rows,
                                                           const device& host) {
  switch (source.type().id) {
    case type_id::boolean:
      return std::make_unique<aggregates_of<std::uint8_t>>(source, rows, host);
    case type_id::int8:
      return std::make_unique<aggregates_of<std::int8_t>>(source, rows, host);
    case type_id::int16:
      return std::make_unique<aggregates_of<std::int16_t>>(source, rows, host);
    case type_id::int32:
    case type_id::date:
      return std::make_unique<aggregates_of<std::int32_t>>(source, rows, host);
    case type_id::int64:
    case type_id::timestamp:
      return std::make_unique<aggregates_of<std::int64_t>>(source, rows, host);
    case type_id::float32:
      return std::make_unique<aggregates_of<float>>(source, rows, host);
    case type_id::float64:
      return std::make_unique<aggregates_of<double>>(source, rows, host);
    case type_id::decimal:
      return std::make_unique<aggregates_of<int128>>(source, rows, host);
    case type_id::varchar:
      break;
  }
  throw error("aggregate: columns of type varchar have no aggregates in an index; read the rows.");
}

}  // namespace espalier::engine
