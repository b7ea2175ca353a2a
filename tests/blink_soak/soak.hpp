// soak.hpp - what the soak programs share: rounds of keys in four orders, and a watchdog that ends a round that does
// not.
//
//   blink_soak --rounds 1000 --keys 1048576 --seconds 120
//   blink_soak --first 500 --rounds 500               the second half of them, beside the first
//
// Public GPU B-trees deadlock on sorted input; here every round inserts the keys in all four orders into an empty tree,
// where all teams meet at one leaf: by one way of several, which take turns. On a GPU all keys come in one kernel in 8
// rounds of 256, since walks along leaves that no upper level knows make that slow, and otherwise in kernels of which
// each doubles the tree. The program prints which round it was and ends with a status other than 0 if one hangs (3) or
// is wrong (1). docs/design/blink-tree.md says what was run.
#pragma once

#include <algorithm>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "espalier/static_tree/options.hpp"
#include "support/families.hpp"

namespace espalier::test {

struct soak_options {
  std::uint64_t first = 0;
  std::uint64_t rounds = 1000;
  std::uint64_t keys = std::uint64_t{1} << 20;
  std::uint64_t seconds = 120;  ///< that a part of a round may take
};

/// Ends the program if it does not understand them.
[[nodiscard]] inline soak_options parse_soak(int argc, char** argv) {
  soak_options o;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    std::uint64_t* into = name == "--first"     ? &o.first
                          : name == "--rounds"  ? &o.rounds
                          : name == "--keys"    ? &o.keys
                          : name == "--seconds" ? &o.seconds
                                                : nullptr;
    const std::string_view text = into != nullptr && ++i < argc ? argv[i] : "";
    const auto [end, problem] = into == nullptr ? std::from_chars_result{nullptr, std::errc::invalid_argument}
                                                : std::from_chars(text.data(), text.data() + text.size(), *into);
    if (problem != std::errc{} || end != text.data() + text.size()) {
      std::fprintf(stderr, "usage: %s [--first N] [--rounds N] [--keys N] [--seconds N]\n", argv[0]);
      std::exit(2);
    }
  }
  return o;
}

enum class arrival : std::uint8_t { sorted, reversed, shuffled, duplicates };
inline constexpr arrival all_arrivals[] = {arrival::sorted, arrival::reversed, arrival::shuffled, arrival::duplicates};
[[nodiscard]] inline const char* to_string(arrival a) {
  static constexpr const char* names[] = {"sorted", "reversed", "shuffled", "duplicate-heavy"};
  return names[static_cast<unsigned>(a)];
}

struct soak_batch {
  std::vector<std::uint32_t> keys;
  std::uint64_t distinct = 0;
  bool thorough = true;  ///< every invariant of the tree is to be checked
  bool at_once = true;   ///< all keys come into the empty tree together, which for an express lane means long walks
};
/// Of duplicates each key comes some 64 times.
[[nodiscard]] inline soak_batch soak_keys(arrival a, std::uint64_t n, std::uint64_t seed) {
  soak_batch b{std::vector<std::uint32_t>(n), n};
  random_words random(seed);
  const auto offset = static_cast<std::uint32_t>(random.below(1000));
  for (std::uint64_t i = 0; i < n; ++i) b.keys[i] = static_cast<std::uint32_t>(3 * i) + offset;
  if (a == arrival::reversed) std::reverse(b.keys.begin(), b.keys.end());
  if (a == arrival::shuffled) shuffle(b.keys, random);
  if (a == arrival::duplicates) {
    std::vector<bool> drawn(n / 64 + 1);
    for (std::uint32_t& k : b.keys) {
      const std::uint64_t x = random.below(drawn.size());
      drawn[x] = true;
      k = static_cast<std::uint32_t>(x) * 5;
    }
    b.distinct = static_cast<std::uint64_t>(std::count(drawn.begin(), drawn.end(), true));
  }
  return b;
}

/// A hang cannot be undone, neither in a thread nor on a GPU: the process is ended from a thread that does nothing
/// else.
class soak_watchdog {
 public:
  explicit soak_watchdog(std::uint64_t seconds) : limit_(seconds), thread_([this] { watch(); }) {}
  soak_watchdog(const soak_watchdog&) = delete;
  soak_watchdog& operator=(const soak_watchdog&) = delete;
  ~soak_watchdog() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  /// From here on `what` has the time to itself.
  void begin(const std::string& what) {
    {
      const std::lock_guard lock(mutex_);
      what_ = what;
      ++turn_;
    }
    changed_.notify_one();
  }

 private:
  void watch() {
    std::unique_lock lock(mutex_);
    while (!over_) {
      const std::uint64_t turn = turn_;
      if (changed_.wait_for(lock, limit_, [&] { return over_ || turn_ != turn; })) continue;
      std::fprintf(stderr, "%s: not done after %lld s\n", what_.c_str(), static_cast<long long>(limit_.count()));
      std::fflush(stderr);
      std::_Exit(3);
    }
  }

  std::chrono::seconds limit_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string what_ = "start";
  std::uint64_t turn_ = 0;
  bool over_ = false;
  std::thread thread_;
};

/// What a part of a round found: every key came in once, and nothing was refused.
struct soak_outcome {
  std::uint64_t inserted = 0, refused = 0;
};
/// Empty: the tree is as it has to be.
template <class Tree>
[[nodiscard]] std::string soak_problem(const Tree& tree, const soak_batch& batch, const soak_outcome& outcome) {
  if (outcome.refused != 0) return std::to_string(outcome.refused) + " inserts found no room";
  if (outcome.inserted != batch.distinct)
    return std::to_string(outcome.inserted) + " inserts brought a new key, not " + std::to_string(batch.distinct);
  if (batch.thorough) {
    const validation v = tree.validate();
    if (!v.ok) return v.problem;
  }
  std::vector<std::uint32_t> values(batch.keys.size());
  std::vector<std::uint8_t> found(batch.keys.size());
  tree.find(batch.keys, values, found);
  for (std::size_t i = 0; i < batch.keys.size(); ++i) {
    if (found[i] == 0 || values[i] != batch.keys[i]) return "key " + std::to_string(batch.keys[i]) + " is not there";
  }
  if (tree.size() != batch.distinct) return "the tree holds " + std::to_string(tree.size()) + " elements";
  return {};
}

/// insert(round, batch, begin) fills an empty tree and gives what is wrong with it; it calls begin(how) first. 0: all
/// went well.
template <class Insert>
[[nodiscard]] int soak(const soak_options& options, Insert insert) {
  using clock = std::chrono::steady_clock;
  constexpr std::uint64_t ways = 8;  // at most; validation takes longer than all the rest
  soak_watchdog watchdog(options.seconds);
  std::map<std::string, double> seconds;  // by order and way
  for (std::uint64_t round = options.first; round < options.first + options.rounds; ++round) {
    for (const arrival a : all_arrivals) {
      soak_batch batch = soak_keys(a, options.keys, round);
      batch.thorough = round / ways % ways == 0;
      batch.at_once = round / ways % (4 * ways) == 0;
      std::string what = "round " + std::to_string(round) + ", " + to_string(a), way;
      const auto start = clock::now();
      const std::string problem = insert(round, batch, [&](const std::string& how) {
        what += ", " + how;
        way = how;
        watchdog.begin(what);
      });
      seconds[way + ", " + to_string(a)] += std::chrono::duration<double>(clock::now() - start).count();
      if (!problem.empty()) {
        std::fprintf(stderr, "%s: %s\n", what.c_str(), problem.c_str());
        return 1;
      }
    }
    if (const std::uint64_t done = round + 1 - options.first; done % 50 == 0 || done == options.rounds) {
      std::printf("%llu rounds\n", static_cast<unsigned long long>(done));
      std::fflush(stdout);
    }
  }
  for (const auto& [way, time] : seconds) std::printf("%8.2f s  %s\n", time, way.c_str());
  return 0;
}

}  // namespace espalier::test
