// scalar_visit.cpp - see scalar_visit.hpp.
#include "bench/papers/large_pages/scalar_visit.hpp"

#include <absl/container/btree_map.h>
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "bench/data/blink_data.hpp"
#include "bench/harness/device_array.hpp"
#include "bench/harness/runner.hpp"
#include "bench/harness/timing.hpp"
#include "bench/peers/cpu_peer.hpp"
#include "espalier/blink_tree/visit.hpp"
#include "espalier/device/buffer.hpp"
#include "espalier/static_tree/visit.hpp"

namespace espalier::bench {
namespace {

/// Collections of one size on one device, which are visited in turn.
class scalar_visit {
 public:
  scalar_visit(const options& what, const device& dev, std::uint64_t keys)
      : what_(what),
        device_(dev),
        data_(make_blink_data({scalar_kind::u32, scalar_kind::u32, distribution::uniform, keys, what.seed}, 0)),
        keys_(data_.tree.keys, dev),
        values_(data_.tree.values, dev),
        sorted_values_(data_.tree.sorted_values, dev),
        out_(dev, keys) {
    for (const std::uint32_t v : data_.tree.sorted_values.as<const std::uint32_t>()) {
      expected_.push_back(scalar_operation{}(v));
    }
  }

  [[nodiscard]] std::vector<row> measure() {
    std::vector<row> rows;
    rows.push_back(measure_static());
    for (const auto& shape : what_.blink.shapes) rows.push_back(measure_blink(shape.slots));
    return rows;
  }

 private:
  [[nodiscard]] bool on_gpu() const { return device_.kind() == device_kind::cuda; }
  [[nodiscard]] std::span<const std::uint32_t> input(const device_column& c) const {
    return {static_cast<const std::uint32_t*>(c.data()), expected_.size()};
  }

  /// Returns the seconds of one apply(), which fills out_; its results are checked first.
  template <class Apply>
  [[nodiscard]] double seconds_of(const std::string& name, const Apply& apply) {
    device_.fill(out_.data(), 0xa5, out_.bytes(), device_.default_stream());
    device_.default_stream().synchronize();
    apply();
    if (out_.to_vector() != expected_) {
      throw cli::wrong_answer(fmt::format("transform: the results of {} are wrong.", name));
    }
    return median_seconds(what_.repeat, [&](std::size_t k) {
      for (std::size_t i = 0; i < k; ++i) apply();
    });
  }

  [[nodiscard]] row make_row(const char* index, double seconds) const {
    row r;
    r.index = index;
    r.device = on_gpu() ? "gpu" : "cpu";
    r.op = "transform";
    r.keys = r.queries = expected_.size();
    r.key_type = r.value_type = "u32";
    r.distribution = name_of(distribution::uniform);
    r.threads = device_.threads();
    r.location = on_gpu() ? "device" : "host";
    r.seconds = seconds;
    r.rate = static_cast<double>(r.keys) / seconds;
    return r;
  }

  [[nodiscard]] row measure_static() {
    const flat_tree tree = flat_tree::build(input(keys_), input(values_), {}, device_);
    row r = make_row("static", seconds_of("the static tree", [&] {
#ifdef ESPALIER_HAS_CUDA
                       if (on_gpu()) return apply_on_gpu(tree, out_.span());
#endif
                       espalier::transform(tree, out_.data(), scalar_operation{});
                     }));
    add_peer(r, on_gpu() ? "thrust-transform" : "tbb-transform", seconds_of_array());
    if (!on_gpu()) add_peer(r, "absl-btree", seconds_of_map());
    if (r.threads > 1) r.notes.emplace_back("absl-btree: is visited by one thread");
    return r;
  }

  [[nodiscard]] row measure_blink(unsigned slots) {
    switch (slots) {
      case 0:
        return measure_blink<0>();
      case 8:
        return measure_blink<8>();
      case 32:
        return measure_blink<32>();
      case 128:
        return measure_blink<128>();
      default:
        return measure_blink<4096>();
    }
  }
  template <unsigned Slots>
  [[nodiscard]] row measure_blink() {
    const auto tree =
        tree_of_slots<Slots>::build(input(keys_), input(values_), blink_options{what_.blink.fill}, device_);
    row r = make_row("blink", seconds_of("the B-link tree", [&] {
#ifdef ESPALIER_HAS_CUDA
                       if (on_gpu()) return apply_on_gpu(tree, out_.span());
#endif
                       static_cast<void>(espalier::transform(tree, out_.span(), scalar_operation{}));
                     }));
    r.blink.emplace();
    r.blink->policy = name_in(protocol_names, protocol::blink);
    r.blink->upper = name_in(upper_names, inner_index::express_lane);
    r.blink->slots = espalier::detail::node_slots<std::uint32_t>(Slots);
    r.blink->repeat = what_.repeat;
    return r;
  }

  [[nodiscard]] double seconds_of_array() {
    const auto from = input(sorted_values_);
#ifdef ESPALIER_HAS_CUDA
    if (on_gpu()) return seconds_of("Thrust", [&] { apply_on_gpu(device_, from, out_.span()); });
#endif
    worker_threads threads(device_.threads());
    return seconds_of("TBB", [&] {
      threads.for_pieces(from.size(), [&](std::size_t first, std::size_t last) {
        for (std::size_t i = first; i < last; ++i) out_.data()[i] = scalar_operation{}(from[i]);
      });
    });
  }

  [[nodiscard]] double seconds_of_map() {
    absl::btree_map<std::uint32_t, std::uint32_t> map;
    const auto keys = data_.tree.keys.as<const std::uint32_t>();
    const auto values = data_.tree.values.as<const std::uint32_t>();
    for (std::size_t i = 0; i < keys.size(); ++i) map.emplace(keys[i], values[i]);
    return seconds_of("absl::btree_map", [&] {
      std::uint32_t* to = out_.data();
      for (const auto& [key, value] : map) *to++ = scalar_operation{}(value);
    });
  }

  static void add_peer(row& r, const char* name, double seconds) {
    r.peers.push_back({name, seconds, r.keys, r.seconds > 0 ? seconds / r.seconds : 0});
  }

  const options& what_;
  device device_;
  blink_data data_;
  device_column keys_, values_, sorted_values_;
  buffer<std::uint32_t> out_;
  std::vector<std::uint32_t> expected_;
};

}  // namespace

report measure_scalar_visits(const options& what) {
  report result = begin_report(what);
  device dev = choose_device(what);
  if (dev.kind() == device_kind::cpu) dev = device::cpu(static_cast<unsigned>(what.threads.front()));
  for (const auto n : what.keys) {
    for (auto& r : scalar_visit(what, dev, n).measure()) result.rows.push_back(std::move(r));
  }
  return result;
}

}  // namespace espalier::bench
