// traced_work.cpp - see traced_work.hpp.
#include "bench/harness/traced_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bench/data/blink_data.hpp"
#include "bench/data/byte_generators.hpp"
#include "bench/harness/runner.hpp"

namespace espalier::bench {
namespace {

constexpr unsigned traced_key_length = 8;  ///< bytes, since traces support 64-bit numbers

std::uint64_t traced_keys(const options& what) { return std::min(what.keys.front(), most_traced_keys); }
data_spec numbers_of(const options& what) {
  return {scalar_kind::u64, scalar_kind::u64, what.distributions.front(), traced_keys(what), what.seed};
}
std::vector<std::uint64_t> numbers_in(const column& keys) {
  const auto all = keys.as<std::uint64_t>();
  return {all.begin(), all.end()};
}

void take_written_data(const options& what, traced_work& work) {
  const blink_data data = make_blink_data(numbers_of(what), most_traced_operations);
  work.keys = numbers_in(data.tree.keys);
  work.incoming = numbers_in(data.incoming_keys());
  work.fresh = numbers_in(data.fresh_keys);
}

void describe_blink(const options& what, traced_work& work) {
  const blink_shape& shape = what.blink.shapes.front();
  work.tree.protocol = to_string(shape.protocol);
  work.tree.upper = to_string(shape.inner);
  work.tree.slots = shape.slots == 0 ? 12 : shape.slots;
  work.no_hooks = fmt::format(
      "--trace: there are no hooks in a tree with --policy {} --upper {} --slots {}; they are in link and couple with "
      "12 slots, on a CPU with 8, too.",
      to_string(shape.protocol), to_string(shape.inner), shape.slots);
}

/// Its part in host memory, which CPU threads traverse.
void describe_hybrid(const options& what, traced_work& work) {
  if (what.hybrid.layouts.front() == hybrid_layout::regular) work.tree.protocol = "link";
  work.dev = device::cpu();
  work.about += fmt::format(", of the {} layout the part in host memory by CPU threads",
                            name_in(layout_names, what.hybrid.layouts.front()));
}

void describe_static(traced_work& work) {
  if (work.dev.kind() != device_kind::cpu)
    throw cli::bad_arguments("--trace: static trees are recorded on a CPU: give --device cpu.");
}

/// The same data set with keys that fit a trace.
void take_radix_data(const options& what, traced_work& work) {
  byte_spec spec = what.byte_data_sets.front();
  if (spec.shape != byte_data::uniform && spec.shape != byte_data::sequential) {
    throw cli::bad_arguments(
        fmt::format("--trace: radix trees are recorded with keys of {} bytes, which {} has not: choose --distribution "
                    "uniform or sequential.",
                    traced_key_length, name_of(spec.shape)));
  }
  spec.key_length = traced_key_length;
  spec.long_share = 0;
  const byte_generator generator(spec);
  const auto number = [&](std::uint64_t i) {
    std::uint64_t word = 0;
    for (const char byte : generator(i)) word = word << 8 | static_cast<std::uint8_t>(byte);
    return word;
  };
  const std::uint64_t n = traced_keys(what);
  for (std::uint64_t i = 0; i < n; ++i) work.keys.push_back(number(i));
  for (std::uint64_t i = 0; i < most_traced_operations; ++i) work.fresh.push_back(number(n + i));
  work.incoming = work.keys;
  work.about = fmt::format("with keys of {} bytes", traced_key_length);
}

}  // namespace

traced_work make_traced_work(const options& what) {
  traced_work work{choose_device(what), {}, {}, {}, {}, "with u64 keys", {}};
  work.tree.index = name_in(index_names, what.index);
  switch (what.index) {
    case index_kind::static_tree:
      describe_static(work);
      work.keys = work.incoming = numbers_in(make_workload(numbers_of(what)).keys);
      break;
    case index_kind::blink:
      describe_blink(what, work);
      take_written_data(what, work);
      break;
    case index_kind::radix:
      take_radix_data(what, work);
      break;
    case index_kind::hybrid:
      describe_hybrid(what, work);
      take_written_data(what, work);
      break;
  }
  return work;
}

}  // namespace espalier::bench
