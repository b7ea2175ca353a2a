// soak_sorted_gpu.cu - rounds of ascending keys, each into an empty tree on a GPU: what a time series does to a tree
// that is filled from nothing.
//
//   blink_soak_sorted_gpu --rounds 2000 --keys 33554432
//
// Three rounds of four insert key by key, the fourth as the tree chooses. Prints the median and the slowest round of
// each way and how many took more than three times the median; timing does not decide about the exit status, which is 1
// if a tree is wrong, 3 if a round hangs and 77 where there is no GPU.
#include <algorithm>
#include <cstdio>

#include "blink_soak/soak.hpp"
#include "espalier/blink_tree/blink_tree.hpp"
#include "espalier/device/cuda.cuh"
#include "espalier/team/tile.cuh"

namespace espalier::test {
namespace {

using tree_type = blink_tree<std::uint32_t, std::uint32_t>;

struct ascending_keys {
  std::uint32_t* keys;
  std::uint32_t step, offset;
  template <class Team>
  __device__ void operator()(Team, std::size_t i) const {
    keys[i] = static_cast<std::uint32_t>(i) * step + offset;
  }
};
struct count_wrong {
  const std::uint32_t *keys, *values;
  const std::uint8_t* found;
  unsigned long long* wrong;
  template <class Team>
  __device__ void operator()(Team, std::size_t i) const {
    if (found[i] == 0 || values[i] != keys[i]) atomicAdd(wrong, 1ull);
  }
};

class sorted_soak {
 public:
  sorted_soak(const device& dev, std::size_t n)
      : device_(dev),
        order_(dev.default_stream()),
        n_(n),
        keys_(dev, n, order_),
        values_(dev, n, order_),
        found_(dev, n, order_),
        wrong_(dev, 1, order_) {}

  /// Seconds of the insertion; `problem` is empty if the tree is as it has to be.
  [[nodiscard]] double round(std::uint64_t number, write_path path, std::string& problem) {
    using clock = std::chrono::steady_clock;
    constexpr std::uint32_t step = 3;
    cuda_backend(device_).for_each_team<tile<1>>(
        order_, n_, ascending_keys{keys_.data(), step, static_cast<std::uint32_t>(number % 1000)});
    order_.synchronize();
    const auto begin = clock::now();
    tree_type tree(device_);
    tree.insert({keys_.data(), n_}, {keys_.data(), n_}, {}, {batch_semantics::concurrent, path});
    const double seconds = std::chrono::duration<double>(clock::now() - begin).count();
    if (tree.size() != n_) problem = "the tree holds " + std::to_string(tree.size()) + " elements";
    if (problem.empty() && number % 16 == 0) problem = missing(tree);
    if (problem.empty() && number % 256 == 0) {
      const validation v = tree.validate();
      if (!v.ok) problem = v.problem;
    }
    return seconds;
  }

 private:
  [[nodiscard]] std::string missing(const tree_type& tree) {
    tree.find({keys_.data(), n_}, {values_.data(), n_}, {found_.data(), n_});
    device_.fill(wrong_.data(), 0, wrong_.bytes(), order_);
    cuda_backend(device_).for_each_team<tile<1>>(
        order_, n_, count_wrong{keys_.data(), values_.data(), found_.data(), wrong_.data()});
    const unsigned long long wrong = wrong_.to_vector()[0];
    return wrong == 0 ? std::string{} : std::to_string(wrong) + " keys are missing or have another value";
  }

  device device_;
  stream order_;
  std::size_t n_;
  buffer<std::uint32_t> keys_, values_;
  buffer<std::uint8_t> found_;
  buffer<unsigned long long> wrong_;
};

void report(const char* way, std::vector<double>& seconds, std::size_t n) {
  if (seconds.empty()) return;
  std::sort(seconds.begin(), seconds.end());
  const double median = seconds[seconds.size() / 2];
  const auto slow = std::count_if(seconds.begin(), seconds.end(), [&](double s) { return s > 3 * median; });
  std::printf("%s: %zu rounds, median %.2f ms (%.2f G keys/s), slowest %.2f ms, %lld above three times the median\n",
              way, seconds.size(), median * 1e3, static_cast<double>(n) / median / 1e9, seconds.back() * 1e3,
              static_cast<long long>(slow));
}

int run(const device& dev, const soak_options& options) {
  if (options.keys == 0 || options.keys > 0xffffffffu / 3 - 1000) {
    std::fprintf(stderr, "--keys: 1 to 1431654765, so that three times the last key is one of 32 bits.\n");
    return 2;
  }
  soak_watchdog watchdog(options.seconds);
  sorted_soak soak(dev, options.keys);
  std::vector<double> per_key, automatic;
  for (std::uint64_t i = options.first; i < options.first + options.rounds; ++i) {
    const bool chooses = i % 4 == 3;
    const std::string what = "round " + std::to_string(i) + (chooses ? ", automatic" : ", key by key");
    watchdog.begin(what);
    std::string problem;
    (chooses ? automatic : per_key)
        .push_back(soak.round(i, chooses ? write_path::automatic : write_path::per_key, problem));
    if (!problem.empty()) {
      std::fprintf(stderr, "%s: %s\n", what.c_str(), problem.c_str());
      return 1;
    }
  }
  report("key by key", per_key, options.keys);
  report("automatic", automatic, options.keys);
  return 0;
}

}  // namespace
}  // namespace espalier::test

int main(int argc, char** argv) {
  using namespace espalier;
  test::soak_options options = test::parse_soak(argc, argv);
  for (const device& dev : device::all()) {
    if (dev.kind() == device_kind::cuda) return test::run(dev, options);
  }
  std::puts("no GPU");
  return 77;
}
