// string_maps.cpp - see string_maps.hpp.
#include "bench/peers/string_maps.hpp"

#include <absl/container/btree_map.h>
#include <absl/strings/string_view.h>

#include <cstdint>

#include "bench/peers/cpu_string_peer.hpp"
#include "bench/peers/pointer_art.hpp"

namespace espalier::bench {
namespace {

/// View is the type that the map takes instead of a string.
template <class Map, class View>
class string_map {
 public:
  explicit string_map(const radix_data& data) {
    const auto values = data.values().as<const std::uint64_t>();
    for (std::size_t i = 0; i < values.size(); ++i) map_.emplace(std::string(data.keys()[i]), values[i]);
  }
  [[nodiscard]] std::uint64_t* find(std::string_view key) {
    const auto at = map_.find(View(key.data(), key.size()));
    return at == map_.end() ? nullptr : &at->second;
  }

 private:
  Map map_;
};
using std_map = string_map<std::map<std::string, std::uint64_t, std::less<>>, std::string_view>;
/// Its own order of strings compares once where std::less<> compares twice, and supports views, too.
using absl_btree = string_map<absl::btree_map<std::string, std::uint64_t>, absl::string_view>;

class filled_art {
 public:
  explicit filled_art(const radix_data& data) {
    const auto values = data.values().as<const std::uint64_t>();
    for (std::size_t i = 0; i < values.size(); ++i) art_.insert(data.keys()[i], values[i]);
  }
  [[nodiscard]] std::uint64_t* find(std::string_view key) const { return art_.find(key); }

 private:
  pointer_art art_;
};

}  // namespace

string_maps::string_maps(const radix_data& data, const std::vector<std::string>& names) : data_(data) {
  for (const auto& name : names) makers_[name] = nullptr;
}

bool string_maps::knows(std::string_view name) {
  return name == "std-map" || name == "absl-btree" || name == "pointer-art";
}

template <class Map>
string_maps::peer_maker string_maps::fill() const {
  return [map = std::make_shared<Map>(data_)](unsigned threads) {
    return std::make_unique<cpu_string_peer<Map>>(map, threads);
  };
}

tasks string_maps::filling() {
  tasks list;
  for (auto& [name, maker] : makers_) {
    list.push_back([this, &name, &maker] {
      maker = name == "std-map" ? fill<std_map>() : name == "absl-btree" ? fill<absl_btree>() : fill<filled_art>();
    });
  }
  return list;
}

tasks string_maps::freeing() {
  tasks list;
  for (auto& [name, maker] : makers_) list.push_back([&maker] { maker = nullptr; });
  return list;
}

}  // namespace espalier::bench
