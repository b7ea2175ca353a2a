// string_maps.hpp - maps of byte strings that one thread fills, as peers of the radix tree. Filling one takes far
// longer than measuring it, so those of several data sets are filled and freed concurrently.
//
//   std-map, absl-btree  maps from std::string, searched by views so that a query does not create a string
//   pointer-art          an adaptive radix tree of nodes and pointers (pointer_art.hpp)
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/data/radix_data.hpp"
#include "bench/harness/parallel_tasks.hpp"
#include "bench/peers/string_peer.hpp"

namespace espalier::bench {

/// The maps of one data set.
class string_maps {
 public:
  /// `names` are those that will be requested.
  string_maps(const radix_data& data, const std::vector<std::string>& names);

  [[nodiscard]] static bool knows(std::string_view name);
  /// Returns tasks that may run concurrently, one per map. They run before the first peer, and after the last one.
  [[nodiscard]] tasks filling();
  [[nodiscard]] tasks freeing();

  /// Returns the map as a peer that uses that many threads.
  [[nodiscard]] std::unique_ptr<string_peer> peer(const std::string& name, unsigned threads) const {
    return makers_.at(name)(threads);
  }

 private:
  /// Owns a filled map and shares it with the peers it makes.
  using peer_maker = std::function<std::unique_ptr<string_peer>(unsigned threads)>;
  template <class Map>
  [[nodiscard]] peer_maker fill() const;

  const radix_data& data_;
  std::map<std::string, peer_maker> makers_;
};

}  // namespace espalier::bench
