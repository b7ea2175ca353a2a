// placement_selector.hpp - selects the placement of large batches by the measured cost of earlier ones.
//
// Most calls use the cheapest known placement. Now and then two calls in a row try another one: the first pays for lazy
// allocations and cold caches, the second counts. So there are no calls only for measurement, and changes of the load
// are detected.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include "espalier/hybrid_tree/options.hpp"

namespace espalier::detail {

class placement_selector {
 public:
  static constexpr std::size_t between_trials = 8;   ///< calls, while some placement was never tried
  static constexpr std::size_t between_checks = 64;  ///< calls, later

  placement_selector() = default;
  /// The first candidate is used until costs are known.
  explicit placement_selector(const std::vector<hybrid_placement>& candidates) {
    for (const hybrid_placement p : candidates) known_.push_back({p, 0});
  }
  /// Seeds the selector with `p`, the best placement of another query kind, while nothing has been measured.
  void prefer(hybrid_placement p) {
    if (is_known()) return;
    std::stable_partition(known_.begin(), known_.end(), [p](const cost& c) { return c.placement == p; });
  }
  /// Excludes placements that are currently unavailable: they are neither used nor tried, and their known costs are not
  /// reported.
  template <class Predicate>
  void leave_out(const Predicate& is_one) {
    for (cost& c : known_) c.left_out = is_one(c.placement);
    is_trial_ = false;
  }
  [[nodiscard]] bool is_known() const { return std::any_of(known_.begin(), known_.end(), has_cost); }

  [[nodiscard]] hybrid_placement best() const {
    const cost* best = nullptr;
    for (const cost& c : known_) {
      if (c.left_out) continue;
      if (best == nullptr || (c.seconds != 0 && (best->seconds == 0 || c.seconds < best->seconds))) best = &c;
    }
    return best == nullptr ? hybrid_placement::host_alone : best->placement;
  }
  /// Returns the placement of the next call, whose cost is passed to note().
  [[nodiscard]] hybrid_placement next() {
    counts_ = true;
    if (is_trial_) {
      is_trial_ = false;
      return known_[trial_].placement;
    }
    const auto left_out =
        static_cast<std::size_t>(std::count_if(known_.begin(), known_.end(), [](const cost& c) { return c.left_out; }));
    const bool all =
        std::all_of(known_.begin(), known_.end(), [](const cost& c) { return c.left_out || c.seconds != 0; });
    if (known_.size() - left_out < 2 || ++calls_ < (all ? between_checks : between_trials)) return best();
    calls_ = 0;
    do {
      trial_ = (trial_ + 1) % known_.size();
    } while (known_[trial_].left_out || known_[trial_].placement == best());
    is_trial_ = true;
    counts_ = false;
    return known_[trial_].placement;
  }
  void note(hybrid_placement p, std::size_t queries, double seconds) {
    if (counts_) set(p, queries, seconds);
  }
  void set(hybrid_placement p, std::size_t queries, double seconds) {
    for (cost& c : known_) {
      if (c.placement == p && queries != 0) c.seconds = seconds / static_cast<double>(queries);
    }
  }
  /// The known rates as text.
  [[nodiscard]] std::string text() const {
    std::string all;
    for (const cost& c : known_) {
      if (!has_cost(c)) continue;
      const double millions = 1e-6 / c.seconds;
      char rate[32];
      std::snprintf(rate, sizeof(rate), millions < 99.5 ? "%.2g" : "%.0f", millions);
      all += (all.empty() ? "" : ", ") + to_string(c.placement) + " " + rate + " M/s";
    }
    return all;
  }

 private:
  struct cost {
    hybrid_placement placement;
    double seconds;  ///< per query; 0 if unknown
    bool left_out = false;
  };
  [[nodiscard]] static bool has_cost(const cost& c) { return c.seconds != 0 && !c.left_out; }
  std::vector<cost> known_;
  std::size_t calls_ = 0;  ///< since the last trial
  std::size_t trial_ = 0;
  bool is_trial_ = false, counts_ = false;
};

}  // namespace espalier::detail
