// join_data.cpp - see join_data.hpp.
#include "bench/query/join_data.hpp"

#include <algorithm>

#include "bench/data/random.hpp"
#include "bench/query/columns.hpp"

namespace espalier::bench {
namespace {

constexpr std::uint64_t symbols = 64;

std::uint64_t symbol_of(std::uint64_t what, std::uint64_t seed) { return below(random_bits(seed, what), symbols); }

}  // namespace

std::int32_t price_at(std::uint64_t ts, std::uint64_t seed) {
  return static_cast<std::int32_t>(below(random_bits(seed + 1, ts), 100'000));
}

std::uint64_t trade_time(std::uint64_t trade, std::uint64_t quotes, std::uint64_t seed) {
  return below(random_bits(seed + 2, trade), 2 * quotes);
}

row_source quotes_source(std::uint64_t rows, std::uint64_t seed) {
  return [rows, seed](std::uint64_t first, std::uint64_t count) {
    const permutation order(rows, seed);
    const auto ts = [&](std::uint64_t row) { return 2 * order(row); };
    return table_of({{"symbol", number_column<arrow::Int32Type>(
                                    first, count, [&](std::uint64_t row) { return symbol_of(ts(row), seed + 3); })},
                     {"ts", number_column<arrow::Int64Type>(first, count, ts)},
                     {"price", number_column<arrow::Int32Type>(
                                   first, count, [&](std::uint64_t row) { return price_at(ts(row), seed); })}});
  };
}

row_source trades_source(std::uint64_t quotes, std::uint64_t seed) {
  return [quotes, seed](std::uint64_t first, std::uint64_t count) {
    return table_of({{"id", number_column<arrow::Int32Type>(first, count, [](std::uint64_t row) { return row; })},
                     {"symbol", number_column<arrow::Int32Type>(
                                    first, count, [&](std::uint64_t row) { return symbol_of(row, seed + 4); })},
                     {"ts", number_column<arrow::Int64Type>(
                                first, count, [&](std::uint64_t row) { return trade_time(row, quotes, seed); })}});
  };
}

row_source spans_source(std::uint64_t rows, std::uint64_t quotes, std::uint64_t seed) {
  return [rows, quotes, seed](std::uint64_t first, std::uint64_t count) {
    const std::uint64_t length = std::max<std::uint64_t>(2 * quotes / rows, 1);
    const auto start = [&](std::uint64_t row) { return below(random_bits(seed + 5, row), 2 * quotes); };
    return table_of({{"id", number_column<arrow::Int32Type>(first, count, [](std::uint64_t row) { return row; })},
                     {"start", number_column<arrow::Int64Type>(first, count, start)},
                     {"finish", number_column<arrow::Int64Type>(
                                    first, count, [&](std::uint64_t row) { return start(row) + length - 1; })}});
  };
}

}  // namespace espalier::bench
