// placement_selector.hpp - which placement large batches get, by what earlier ones have cost.
//
// Most calls take the cheapest that is known. Now and then two in a row try another one: the first pays for what is
// made when it is first needed, or has given way meanwhile, the second counts. So nothing is computed for the sake of
// measuring, and when the load shifts, that shows.
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
  static constexpr std::size_t between_checks = 64;  ///< later

  placement_selector() = default;
  /// The first one is taken until something is known.
  explicit placement_selector(const std::vector<hybrid_placement>& candidates) {
    for (const hybrid_placement p : candidates) known_.push_back({p, 0});
  }
  /// This one is, as it is best for calls of another kind.
  void prefer(hybrid_placement p) {
    if (is_known()) return;
    std::stable_partition(known_.begin(), known_.end(), [p](const cost& c) { return c.placement == p; });
  }
  /// These cannot be had for now: they are neither taken nor tried, and what was known of them is not told.
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
  /// For the next call, whose cost note() is told.
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
  /// Rates that are known.
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
    double seconds;  ///< of a query; 0: not known
    bool left_out = false;
  };
  [[nodiscard]] static bool has_cost(const cost& c) { return c.seconds != 0 && !c.left_out; }
  std::vector<cost> known_;
  std::size_t calls_ = 0;  ///< since the last trial
  std::size_t trial_ = 0;
  bool is_trial_ = false, counts_ = false;
};

}  // namespace espalier::detail
