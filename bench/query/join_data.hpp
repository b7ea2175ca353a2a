// join_data.hpp - tables for as-of and band joins. Times are distinct, so that the nearest row is unique.
#pragma once

#include <cstdint>

#include "bench/query/row_files.hpp"

namespace espalier::bench {

/// quotes(symbol, ts, price): every even time below 2 * rows, in random order.
[[nodiscard]] row_source quotes_source(std::uint64_t rows, std::uint64_t seed);
/// trades(id, symbol, ts): random times below 2 * quotes.
[[nodiscard]] row_source trades_source(std::uint64_t quotes, std::uint64_t seed);
/// spans(id, start, finish): lengths such that each trade is in one span on average.
[[nodiscard]] row_source spans_source(std::uint64_t rows, std::uint64_t quotes, std::uint64_t seed);

/// Returns the price of the quote at an even time.
[[nodiscard]] std::int32_t price_at(std::uint64_t ts, std::uint64_t seed);
[[nodiscard]] std::uint64_t trade_time(std::uint64_t trade, std::uint64_t quotes, std::uint64_t seed);

}  // namespace espalier::bench
