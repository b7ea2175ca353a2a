// fixed_table.cpp - the peer of fixed_table.hpp on CPU threads.
#include "bench/peers/fixed_table.hpp"

#include <vector>

#include "bench/data/string_batches.hpp"
#include "bench/peers/cpu_peer.hpp"
#include "espalier/radix_tree/jobs.hpp"
#include "espalier/radix_tree/run.hpp"
#include "espalier/team/scalar_team.hpp"

namespace espalier::bench {

namespace fixed_table {

std::unique_ptr<espalier::detail::radix_index> make_tree(const radix_data& data, const device& dev) {
  const string_batches keys(data.keys(), data.one_length(), data.keys().size(), dev, location::device);
  const device_column values(data.values(), dev);
  return espalier::detail::build_radix_index(dev, {scalar_kind::opaque, scalar_kind::u64, sizeof(std::uint64_t)},
                                             keys.all().raw(), values.data(), {}, dev.default_stream());
}

}  // namespace fixed_table

namespace {

class cpu_fixed_table_peer final : public string_peer {
 public:
  cpu_fixed_table_peer(const radix_data& data, const device& dev)
      : tree_(fixed_table::make_tree(data, dev)),
        view_(fixed_table::view_of(*tree_)),
        threads_(dev.threads()),
        table_(fixed_table::entries, fixed_table::empty) {}

  void find(const espalier::detail::byte_keys& keys, std::uint64_t* values, std::uint8_t* found,
            const stream& order) override {
    tree_->find(keys, values, found, {order, true});
  }
  [[nodiscard]] bool last_wins() const override { return true; }
  [[nodiscard]] bool takes(std::uint64_t elements) const override { return fixed_table::has_room(*tree_, elements); }
  void update(const espalier::detail::byte_keys& keys, const std::uint64_t* values, std::uint8_t* done,
              const stream&) override {
    links_.resize(keys.n);
    slots_.resize(keys.n);
    const auto for_each = [&](const auto& body) {
      threads_.for_pieces(keys.n, [&](std::size_t first, std::size_t last) {
        for (std::size_t i = first; i < last; ++i) body(i);
      });
    };
    const radix_locate_job<8> locate{view_, keys.batch, links_.data()};
    threads_.for_pieces(keys.n, [&](std::size_t first, std::size_t last) {
      radix_runner<scalar_team, 8>::run(scalar_team{}, locate, first, last);
    });
    for_each(fixed_table::raise_entry{links_.data(), table_.data(), slots_.data()});
    for_each(fixed_table::write_if_highest{view_, links_.data(), table_.data(), slots_.data(), values, done});
    // Clears only the used entries: clearing all 8 MB would dominate the time of a small batch.
    for_each([&](std::size_t i) {
      if (!links_[i].is_nothing()) atomic_word_ref{table_.data() + slots_[i]}.store_relaxed(fixed_table::empty);
    });
  }

 private:
  std::unique_ptr<espalier::detail::radix_index> tree_;
  radix_view<8> view_;
  worker_threads threads_;
  std::vector<std::uint64_t> table_;
  std::vector<radix_link> links_;
  std::vector<std::uint32_t> slots_;
};

}  // namespace

std::unique_ptr<string_peer> make_cpu_fixed_table_peer(const radix_data& data, const device& dev) {
  return std::make_unique<cpu_fixed_table_peer>(data, dev);
}

}  // namespace espalier::bench
