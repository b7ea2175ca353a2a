// A user's kernel against the installed package: a ref answers inside it, and every answer is checked. Where there is
// no GPU, that it compiles and links is the test.
#include <cstdint>
#include <iostream>
#include <vector>

#include "espalier/static_tree/static_tree.hpp"
#include "espalier/team/tile.cuh"

namespace {

using index_type = espalier::static_tree<std::uint32_t, std::uint32_t>;
constexpr unsigned queries = 2000;

__global__ void ask(index_type::ref_type ref, std::uint32_t* values, std::uint64_t* ranks) {
  const unsigned q = blockIdx.x * blockDim.x + threadIdx.x;
  if (q >= queries) return;
  const espalier::tile<1> team{};
  std::uint32_t value = 0;
  values[q] = ref.find(team, q, value) ? value : 0;
  ranks[q] = ref.rank(team, q);
}

int check_on(const espalier::device& gpu) {
  std::vector<std::uint32_t> keys, numbers;
  for (std::uint32_t i = 0; i < queries / 2; ++i) {
    keys.push_back(2 * i);  // every even number below `queries`
    numbers.push_back(2 * i + 1);
  }
  const auto tree = index_type::build(keys, numbers, {}, gpu);
  const espalier::buffer<std::uint32_t> values(gpu, queries);
  const espalier::buffer<std::uint64_t> ranks(gpu, queries);
  const auto order = static_cast<cudaStream_t>(gpu.default_stream().native());
  ask<<<(queries + 255) / 256, 256, 0, order>>>(tree.ref(), values.data(), ranks.data());
  const auto got = values.to_vector();  // waits for the stream
  const auto places = ranks.to_vector();
  for (std::uint32_t q = 0; q < queries; ++q) {
    if (got[q] != (q % 2 == 0 ? q + 1 : 0) || places[q] != (q + 1) / 2) {
      std::cerr << "key " << q << ": value " << got[q] << ", rank " << places[q] << '\n';
      return 1;
    }
  }
  std::cout << "installed package: " << queries << " answers right in a kernel\n";
  return 0;
}

}  // namespace

int main() {
  for (const auto& d : espalier::device::all()) {
    if (d.kind() == espalier::device_kind::cuda) return check_on(d);
  }
  std::cout << "installed package: a kernel compiles; there is no GPU to run it on\n";
}
