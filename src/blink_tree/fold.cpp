// fold.cpp - the scan of fold.hpp on a CPU, in two sweeps: totals of parts, then each part from its own start.
#include "blink_tree/fold.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "espalier/device/cpu.hpp"

namespace espalier::detail {

template <class Word>
void fold_on_cpu(const device& dev, const batch_runs<Word>& batch, folded* out) {
  constexpr std::size_t least_part = std::size_t{1} << 14;
  constexpr folded identity{stored::nothing, stored::keep_previous, folded::elsewhere};
  const cpu_backend backend(dev);
  const std::size_t threads = std::max(dev.threads(), 1u);
  const std::size_t parts = threads == 1 ? 1 : std::clamp<std::size_t>(batch.n / least_part, 1, 4 * threads);
  const std::size_t length = (batch.n + parts - 1) / parts;
  const auto begin = [&](std::size_t part) { return std::min(batch.n, part * length); };
  const fold_both both;
  std::vector<folded> before(parts, identity);
  if (parts > 1) {
    backend.for_each(
        parts,
        [&](std::size_t part) {
          for (std::size_t i = begin(part); i < begin(part + 1); ++i) before[part] = both(before[part], batch(i));
        },
        1);
    folded total = identity;
    for (folded& part : before) part = std::exchange(total, both(total, part));
  }
  backend.for_each(
      parts,
      [&](std::size_t part) {
        folded so_far = before[part];
        for (std::size_t i = begin(part); i < begin(part + 1); ++i) out[i] = so_far = both(so_far, batch(i));
      },
      1);
}

template void fold_on_cpu(const device&, const batch_runs<std::uint32_t>&, folded*);
template void fold_on_cpu(const device&, const batch_runs<std::uint64_t>&, folded*);

}  // namespace espalier::detail
