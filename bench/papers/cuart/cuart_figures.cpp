// cuart_figures.cpp - see cuart_figures.hpp.
#include "bench/papers/cuart/cuart_figures.hpp"

#include <algorithm>
#include <utility>

namespace espalier::bench {
namespace {

constexpr std::uint64_t mi = std::uint64_t{1} << 20;
constexpr std::uint64_t ki = std::uint64_t{1} << 10;

std::vector<std::uint64_t> powers(unsigned first, unsigned last, unsigned step = 1) {
  std::vector<std::uint64_t> list;
  for (unsigned e = first; e <= last; e += step) list.push_back(std::uint64_t{1} << e);
  return list;
}

std::vector<byte_spec> uniform(const std::vector<unsigned>& lengths, std::uint64_t seed) {
  std::vector<byte_spec> sets;
  for (const unsigned length : lengths) sets.push_back({byte_data::uniform, length, seed, 0});
  return sets;
}

class figure_maker {
 public:
  figure_maker(const options& base, std::uint64_t most_keys, const std::vector<device_choice>& devices)
      : base_(base), most_keys_(most_keys), best_(devices.back()) {}

  [[nodiscard]] std::vector<cuart_figure> all() const {
    return {trees_on_cpu(),   batches(),        callers(),          sizes(), lengths(), data_sets(),
            update_batches(), update_lengths(), update_comparison()};
  }

 private:
  /// Returns the options that all figures share: from host memory, as in the paper, and from the GPU's own memory as
  /// well.
  [[nodiscard]] options run(device_choice dev, operation op, const std::vector<std::uint64_t>& keys) const {
    options o = base_;
    const bool gpu = dev == device_choice::gpu;
    o.index = index_kind::radix;
    o.dev = dev;
    o.keys = fitting(keys, 0);
    // On a CPU, few enough that small sizes take seconds; on a GPU, enough for many concurrent batches.
    o.queries = {gpu ? 4 * mi : std::clamp<std::uint64_t>(most_keys_, 4 * ki, mi)};
    o.operations = {op};
    o.peers.clear();
    o.peers_named = false;
    o.key_types.clear();
    o.distributions.clear();
    o.radix.paths = {radix_path::automatic};
    o.radix.batches = {32 * ki};
    o.radix.streams = {gpu ? std::uint64_t{8} : std::uint64_t{1}};
    if (gpu) o.radix.places = {location::host, location::device};
    return o;
  }
  /// Returns the sizes that are not too large; if there are none, the largest allowed or the least requested one.
  [[nodiscard]] std::vector<std::uint64_t> fitting(std::vector<std::uint64_t> list, std::uint64_t least) const {
    const std::uint64_t most = std::max(most_keys_, least);
    std::erase_if(list, [&](std::uint64_t n) { return n > most; });
    if (list.empty()) list.push_back(most);
    return list;
  }

  [[nodiscard]] cuart_figure trees_on_cpu() const {
    options o = run(device_choice::cpu, operation::find, powers(16, 24, 2));
    o.byte_data_sets = uniform({4, 8, 16, 32}, base_.seed);
    o.peers = {"pointer-art", "std-map", "absl-btree"};
    return {
        7,
        "Figure 7: lookups on a CPU",
        "ART beside the flat tree, 12 threads of a Ryzen 5800X, batches of 32 Ki: the flat tree is 2.5 times as fast "
        "for small trees and up to 20 times (10 in abstract and conclusion) for large ones.",
        figure_axis::keys,
        {o}};
  }
  [[nodiscard]] cuart_figure batches() const {
    options o = run(best_, operation::find, {26 * mi});
    o.byte_data_sets = uniform({32}, base_.seed);
    o.radix.batches = powers(8, 20, 2);
    o.peers = {"grt-like"};
    return {8,
            "Figure 8: lookups by size of the batch",
            "26 Mi keys of 32 bytes, 8 host threads, A100: good from 8 Ki to 128 Ki.",
            figure_axis::batch,
            {o}};
  }
  [[nodiscard]] cuart_figure callers() const {
    options o = run(best_, operation::find, {26 * mi});
    o.byte_data_sets = uniform({32}, base_.seed);
    o.radix.streams = powers(0, 5);
    o.peers = {"grt-like"};
    return {9,
            "Figure 9: lookups by number of host threads",
            "26 Mi keys of 32 bytes, batches of 32 Ki, A100: more threads are better; CuART depends on them less.",
            figure_axis::streams,
            {o}};
  }
  [[nodiscard]] cuart_figure sizes() const {
    std::vector<std::uint64_t> keys = powers(16, 26, 2);
    keys.push_back(std::uint64_t{1} << 27);
    keys.push_back(most_cuart_keys);
    options o = run(best_, operation::find, keys);
    o.byte_data_sets = uniform({32}, base_.seed);
    o.radix.batches = {16 * ki};
    o.peers = {"grt-like"};
    return {10,
            "Figure 10: lookups by size of the tree",
            "64 k to 144 M keys of 32 bytes, batches of 16 Ki, 8 host threads, RTX 3090: CuART above GRT everywhere, "
            "rising "
            "slightly with the size.",
            figure_axis::keys,
            {o}};
  }
  [[nodiscard]] cuart_figure lengths() const {
    options o = run(best_, operation::find, {26 * mi});
    o.byte_data_sets = uniform({4, 8, 12, 16, 20, 24, 28, 32, 40, 48, 64}, base_.seed);
    o.peers = {"grt-like"};
    return {11,
            "Figure 11: lookups by length of the keys",
            "26 Mi keys of 4 to 32 bytes, batches of 32 Ki, 8 host threads, A100: CuART wins with long keys, GRT with "
            "short "
            "ones. Lengths above 32 are ours.",
            figure_axis::key_length,
            {o}};
  }
  [[nodiscard]] cuart_figure data_sets() const {
    options o = run(best_, operation::find, {15'400'000});
    for (const auto& data : byte_data_names) {
      const unsigned length = data.value == byte_data::uniform ? 32 : default_key_length(data.value);
      o.byte_data_sets.push_back({data.value, length, base_.seed, 0});
    }
    o.peers = {"grt-like"};
    return {
        12,
        "Figure 12: lookups by data set",
        "BTC-2019, 15.4 M keys of 32 bytes, batches of 32 Ki, 8 host threads, A100: CuART 20 % above GRT. BTC is not "
        "here: triples is made like it, the other sets are ours.",
        figure_axis::data_set,
        {o}};
  }
  [[nodiscard]] cuart_figure update_batches() const {
    options o = run(best_, operation::update, powers(16, 26, 4));
    o.keys = fitting({64 * ki, mi, 4 * mi, 16 * mi, 64 * mi}, 0);
    o.byte_data_sets = uniform({16}, base_.seed);
    o.radix.batches = fitting(powers(10, 22, 2), ki);
    o.peers = {"fixed-table"};
    return {15,
            "Figure 15: updates by size of the batch",
            "Keys of 16 bytes, 8 host threads, RTX 3090; falls for large batches in all but the smallest tree, as the "
            "table "
            "of who wins has 1 Mi entries. fixed-table is our tree with such a table, espalier has a stamp per leaf "
            "instead. A batch with more "
            "different keys than entries does not fit into the table.",
            figure_axis::batch,
            {o}};
  }
  [[nodiscard]] cuart_figure update_lengths() const {
    options o = run(best_, operation::update, {64 * ki, mi, 16 * mi, 64 * mi});
    o.byte_data_sets = uniform({4, 8, 16, 24, 32}, base_.seed);
    o.radix.batches = fitting({16 * ki}, ki);
    return {16,
            "Figure 16: updates by length of the keys",
            "Batches of 16 Ki, 8 host threads, RTX 3090: small trees stay in the cache; longer keys are slower.",
            figure_axis::key_length,
            {o}};
  }
  [[nodiscard]] cuart_figure update_comparison() const {
    const std::vector<unsigned> lengths{4, 8, 16, 24, 32};
    options cpu = run(device_choice::cpu, operation::update, {16 * mi});
    cpu.byte_data_sets = uniform(lengths, base_.seed);
    cpu.radix.batches = fitting({32 * ki}, ki);
    cpu.peers = {"pointer-art", "grt-like"};
    cuart_figure f{
        17,
        "Figure 17: updates beside other trees",
        "16 Mi keys, batches of 32 Ki, 8 host threads, RTX 3090: CuART about 120 M/s, GRT about 13, ART on the "
        "CPU about 2.5.",
        figure_axis::key_length,
        {cpu}};
    if (best_ == device_choice::gpu) {
      options gpu = run(best_, operation::update, {16 * mi});
      gpu.byte_data_sets = cpu.byte_data_sets;
      gpu.radix.batches = cpu.radix.batches;
      gpu.peers = {"grt-like"};
      f.runs.push_back(gpu);
    }
    return f;
  }

  const options& base_;
  std::uint64_t most_keys_;
  device_choice best_;
};

}  // namespace

std::vector<cuart_figure> cuart_figures(const options& base, std::uint64_t most_keys,
                                        const std::vector<device_choice>& devices) {
  return figure_maker(base, most_keys, devices).all();
}

}  // namespace espalier::bench
