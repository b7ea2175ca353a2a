// blink_script.cpp - the batches of insert, update, erase, mixed and YCSB workloads A to F.
#include "bench/index/blink/blink_script.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include "bench/data/generators.hpp"

namespace espalier::bench {
namespace {

/// The longest range of YCSB's workload E.
constexpr std::uint64_t longest_scan = 100;

/// Returns the share of operations that write.
double write_share(operation op) {
  switch (op) {
    case operation::ycsb_b:
    case operation::ycsb_d:
    case operation::ycsb_e:
      return 0.05;
    case operation::ycsb_c:
      return 0;
    default:
      return 0.5;
  }
}

std::uint64_t writes_among(operation op, std::uint64_t size) {
  return static_cast<std::uint64_t>(static_cast<double>(size) * write_share(op));
}

/// Elements as positions: the tree's keys, followed by the fresh ones.
struct batch {
  std::vector<blink_op> ops;
  std::vector<std::uint64_t> at;
  void add(blink_op op, std::uint64_t position) {
    ops.push_back(op);
    at.push_back(position);
  }
};

class script_maker {
 public:
  script_maker(operation op, const blink_data& data, std::uint64_t size, request_order requests)
      : op_(op),
        data_(data),
        tree_(data.tree.keys.size()),
        size_(size),
        seed_(mix(data.tree.spec.seed ^ 0x77726974u)),
        position_of_(requests, tree_, data.tree.spec.seed),
        state_(tree_, original) {}

  blink_script make() {
    script_.operations = size_;
    switch (op_) {
      case operation::insert_empty:
        insert_all();
        break;
      case operation::update:
        update();
        break;
      case operation::erase:
      case operation::erase_bulk:
        erase();
        break;
      case operation::mixed:
      case operation::ycsb_d:
        reads_and_inserts();
        break;
      case operation::ycsb_e:
        scans_and_inserts();
        break;
      case operation::ycsb_f:
        read_modify_writes();
        break;
      case operation::ycsb_a:
      case operation::ycsb_b:
      case operation::ycsb_c:
        reads_and_updates();
        break;
      default:
        add_insert(size_);
    }
    finish();
    return std::move(script_);
  }

 private:
  [[nodiscard]] const data_spec& spec() const { return data_.tree.spec; }

  void add_insert(std::uint64_t n) {
    blink_step& step = script_.steps.emplace_back();
    step.keys = first_of(data_.fresh_keys, n);
    step.values = first_of(data_.fresh_values, n);
    step.allowed.assign(n, original);
    inserted_ = n;
  }
  void insert_all() {
    script_.from_empty = true;
    blink_step& step = script_.steps.emplace_back();
    const std::size_t n = data_.incoming_keys().size();
    step.keys = first_of(data_.incoming_keys(), n);
    step.values = first_of(data_.incoming_values(), n);
    step.allowed.assign(n, n == tree_ ? original : original | absent);
    step.done = tree_;
    script_.operations = n;
  }
  void update() {
    batch b;
    for (std::uint64_t i = 0; i < size_; ++i) b.add(blink_op::update, position_of_(i));
    blink_step step = step_of(b);
    step.what = step_kind::write;
    step.op = write_op::update;
    script_.steps.push_back(std::move(step));
  }
  void erase() {
    const permutation victim(tree_, seed_);
    blink_step& step = script_.steps.emplace_back();
    step.op = write_op::erase;
    step.keys = column(spec().key, size_);
    step.values = column(no_value, size_);
    step.allowed.assign(size_, original);
    parallel_indices(size_, [&](std::uint64_t i) {
      copy_element(data_.tree.keys, victim(i), step.keys, i);
      state_[victim(i)] = absent;
    });
  }
  void reads_and_inserts() {
    const std::uint64_t inserts = writes_among(op_, size_);
    const permutation turn(size_, seed_);
    const zipf_ranks age(tree_);
    batch b;
    for (std::uint64_t i = 0, in = 0; i < size_; ++i) {
      if (turn(i) < inserts) {
        b.add(blink_op::insert, tree_ + in++);
      } else if (op_ == operation::ycsb_d) {
        b.add(blink_op::find, tree_ + in - 1 - age(random_bits(seed_, i)));  // the latest keys are requested most often
      } else {
        b.add(blink_op::find, position_of_(i));
      }
    }
    inserted_ = inserts;
    script_.steps.push_back(step_of(b));
  }
  void reads_and_updates() {
    const std::uint64_t updates = writes_among(op_, size_);
    const permutation turn(size_, seed_);
    batch b;
    for (std::uint64_t i = 0; i < size_; ++i) {
      b.add(turn(i) < updates ? blink_op::update : blink_op::find, position_of_(i));
    }
    script_.steps.push_back(step_of(b));
  }
  /// An update follows the find that it depends on: first the finds of the pairs, then their updates among the other
  /// finds.
  void read_modify_writes() {
    const std::uint64_t pairs = writes_among(op_, size_);
    const permutation turn(size_, seed_);
    batch reads, rest;
    for (std::uint64_t i = 0; i < size_; ++i) {
      const bool pair = turn(i) < pairs;
      if (pair) reads.add(blink_op::find, position_of_(i));
      rest.add(pair ? blink_op::update : blink_op::find, position_of_(i));
    }
    script_.steps.push_back(step_of(reads));
    script_.steps.push_back(step_of(rest));
  }
  void scans_and_inserts() {
    const std::uint64_t inserts = writes_among(op_, size_);
    add_insert(inserts);
    const workload after = with_inserted(data_, inserts);
    blink_step& step = script_.steps.emplace_back();
    step.what = step_kind::range;
    with_built_type(spec().key, [&]<class Key>() { draw_scans<Key>(size_ - inserts, after, step.ranges); });
    step.expected = expected_answers(operation::range, after, {nullptr, &step.ranges});
  }
  template <class Key>
  void draw_scans(std::uint64_t n, const workload& after, range_set& ranges) const {
    const auto keys = after.sorted_keys.as<const Key>();
    ranges = {column(spec().key, n), column(spec().key, n), std::vector<std::uint64_t>(n),
              std::vector<std::uint64_t>(n)};
    const auto lo = ranges.lo.as<Key>();
    const auto hi = ranges.hi.as<Key>();
    parallel_indices(n, [&](std::uint64_t i) {
      const std::uint64_t length = 1 + below(random_bits(seed_, i), longest_scan);
      ranges.first[i] = position_of_(i);
      ranges.last[i] = std::min<std::uint64_t>(ranges.first[i] + length, keys.size());
      lo[i] = keys[ranges.first[i]];
      hi[i] = keys[ranges.last[i] - 1];
    });
  }

  /// Makes one step of a batch with either inserts or updates among finds, and applies it to the state.
  blink_step step_of(const batch& b) {
    const std::size_t n = b.ops.size();
    blink_step step;
    step.what = step_kind::apply;
    step.ops = column(scalar_kind::u8, n);
    step.keys = column(spec().key, n);
    step.allowed.resize(n);
    unsigned generation = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (b.ops[i] != blink_op::update) continue;
      generation = 1;
      state_[b.at[i]] = changed;
    }
    parallel_indices(n, [&](std::uint64_t i) {
      const bool fresh = b.at[i] >= tree_;
      step.ops.as<std::uint8_t>()[i] = static_cast<std::uint8_t>(b.ops[i]);
      copy_element(fresh ? data_.fresh_keys : data_.tree.keys, fresh ? b.at[i] - tree_ : b.at[i], step.keys, i);
      step.allowed[i] = original;
      if (b.ops[i] == blink_op::find) step.allowed[i] |= fresh ? absent : state_[b.at[i]];
    });
    step.values = values_of(step.keys, spec(), generation);
    return step;
  }

  void finish() {
    blink_step& all = script_.contents;
    all.what = step_kind::find;
    all.keys = joined(data_.tree.keys, first_of(data_.fresh_keys, inserted_));
    all.allowed = state_;
    all.allowed.resize(all.keys.size(), original);
    script_.size_after = all.keys.size() - static_cast<std::uint64_t>(std::count(state_.begin(), state_.end(), absent));
  }

  operation op_;
  const blink_data& data_;
  std::uint64_t tree_;
  std::uint64_t size_;
  std::uint64_t seed_;
  requester position_of_;
  std::vector<std::uint8_t> state_;  ///< of the tree's keys afterwards
  std::uint64_t inserted_ = 0;
  blink_script script_;
};

std::optional<std::string> wrong_elements(const blink_step& step, const data_spec& spec, const column& values,
                                          std::span<const std::uint8_t> done, const std::string& who) {
  const column first = values_of(step.keys, spec, 0), second = values_of(step.keys, spec, 1);
  const column nothing(spec.value, 1);
  if (nothing.data() != nullptr) std::memset(nothing.data(), 0, nothing.byte_count());
  const auto right = [&](std::size_t i) {
    const std::uint8_t allowed = step.allowed[i];
    if (done[i] > 1) return false;
    if (!step.asks(i)) return done[i] == 1 || (allowed & absent) != 0;
    if (done[i] == 0) return (allowed & absent) != 0 && same_element(values, i, nothing, 0);
    return ((allowed & original) != 0 && same_element(values, i, first, i)) ||
           ((allowed & changed) != 0 && same_element(values, i, second, i));
  };
  constexpr auto none = std::numeric_limits<std::size_t>::max();
  std::atomic<std::size_t> wrong{none};
  parallel_indices(step.size(), [&](std::uint64_t i) {
    if (!right(i)) wrong = i;  // any of them is sufficient
  });
  if (const std::size_t i = wrong; i != none) {
    const std::string value = step.asks(i) ? fmt::format(" and value {}", text_of(values, i)) : "";
    return fmt::format("element {} (key {}): {} answers {}{}, which no order of the batch gives.", i,
                       text_of(step.keys, i), who, done[i], value);
  }
  const auto all = static_cast<std::uint64_t>(std::count(done.begin(), done.end(), 1));
  if (step.done && *step.done != all) {
    return fmt::format("{} says that {} elements were done, but {} must be.", who, all, *step.done);
  }
  return {};
}

}  // namespace

std::uint64_t fresh_needed(operation op, std::uint64_t queries, std::uint64_t batch) {
  switch (op) {
    case operation::insert:
    case operation::insert_bulk:
    case operation::find_after_insert:
      return batch;
    case operation::mixed:
    case operation::ycsb_d:
    case operation::ycsb_e:
      return writes_among(op, queries);
    default:
      return 0;
  }
}

blink_script make_script(operation op, const blink_data& data, std::uint64_t size,
                         std::optional<request_order> requests) {
  const request_order order = requests.value_or(is_ycsb(op) ? request_order::zipf : request_order::uniform);
  return script_maker(op, data, size, order).make();
}

answers make_answers(const blink_step& step, const data_spec& spec) {
  const bool range = step.what == step_kind::range;
  answers out =
      make_answers(range ? operation::range : operation::find, spec, step.size(), range ? step.expected[1].size() : 0);
  for (const auto& c : out) c.poison();
  return out;
}

std::optional<std::string> wrong_step(const blink_step& step, const data_spec& spec, const answers& out,
                                      const std::string& who) {
  if (step.what != step_kind::range) return wrong_elements(step, spec, out[0], out[1].as<const std::uint8_t>(), who);
  if (out[0].size() != step.expected[0].size() || out[1].size() != step.expected[1].size()) {
    return fmt::format("range: {} gives {} elements to {} queries, but {} to {} are right.", who, out[1].size(),
                       out[0].size() - 1, step.expected[1].size(), step.size());
  }
  return difference(operation::range, spec, {nullptr, &step.ranges}, out, step.expected, "the reference", step.size(),
                    who);
}

}  // namespace espalier::bench
