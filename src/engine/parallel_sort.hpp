// parallel_sort.hpp - a parallel sort that can be cancelled (stop.hpp), unlike tbb::parallel_sort.
#pragma once

#include <tbb/parallel_invoke.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "engine/stop.hpp"

namespace espalier::engine {
namespace detail {

template <class It, class Less>
It median(It a, It b, It c, const Less& less) {
  if (less(*a, *b)) return less(*b, *c) ? b : (less(*a, *c) ? c : a);
  return less(*a, *c) ? a : (less(*b, *c) ? c : b);
}

/// Quicksort. Only ranges that start before `wanted` are sorted. After `splits` levels it falls back to std::sort,
/// which has no quadratic case.
template <class It, class Less>
void sort_pieces(It first, It last, It wanted, const Less& less, unsigned splits, const cancellation_token* question) {
  constexpr std::ptrdiff_t few = 1 << 13;
  const cancellation_scope scope(question);
  check_cancelled();
  const std::ptrdiff_t n = last - first;
  if (n <= few || splits == 0) return std::sort(first, last, less);
  const std::ptrdiff_t step = n / 9;
  const auto third = [&](std::ptrdiff_t at) {
    return median(first + at * step, first + (at + 1) * step, first + (at + 2) * step, less);
  };
  std::iter_swap(first, median(third(0), third(3), third(6), less));
  const It bound = std::partition(std::next(first), last, [&](const auto& e) { return less(e, *first); });
  const It middle = std::prev(bound);
  std::iter_swap(first, middle);  // everything before it is less, everything after it is not
  const auto left = [&] { sort_pieces(first, middle, wanted, less, splits - 1, question); };
  if (bound >= wanted) return left();
  tbb::parallel_invoke(left, [&] { sort_pieces(bound, last, wanted, less, splits - 1, question); });
}

}  // namespace detail

/// Sorts the first `wanted` elements of [first, last) into place; all elements must be distinct. If cancelled, the
/// elements are left in unspecified order.
template <class It, class Less>
void parallel_sort(It first, It last, std::ptrdiff_t wanted, const Less& less) {
  if (std::is_sorted(first, last, less)) return;
  const auto splits = 2 * static_cast<unsigned>(std::bit_width(static_cast<std::size_t>(last - first)));
  detail::sort_pieces(first, last, first + wanted, less, splits, cancellation_scope::current());
}

}  // namespace espalier::engine
