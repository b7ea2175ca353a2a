// blink_peers.cpp - see blink_peers.hpp.
#include "bench/peers/blink_peers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bench/harness/timing.hpp"
#include "bench/peers/cpu_peer.hpp"
#include "bench/peers/peer.hpp"

namespace espalier::bench {
namespace {

void note(std::vector<row>& rows, const std::string& text) {
  for (auto& r : rows) r.notes.push_back(text);
}

/// Returns uninitialised columns like these, for the first queries.
answers columns_like(operation op, const answers& expected, std::size_t queries, std::uint64_t elements) {
  answers out;
  for (std::size_t c = 0; c < expected.size(); ++c) {
    const std::size_t all = expected[c].size();
    if (op == operation::range) {
      out.emplace_back(expected[c].kind(), c == 0 ? queries + 1 : elements);
      if (c == 0) out.back() = first_of(expected[0], queries + 1);
    } else {
      out.emplace_back(expected[c].kind(), op == operation::sum ? all : std::min(all, queries));
      out.back().poison();
    }
  }
  return out;
}

request request_for(const column& keys, const column& hi, std::size_t queries, const answers& out) {
  request r;
  r.keys = keys.data();
  r.hi = hi.data();
  r.queries = queries;
  for (std::size_t c = 0; c < out.size(); ++c) r.out[c] = out[c].data();
  return r;
}

}  // namespace

bool blink_peers::applies(operation op, const std::string& name, std::vector<row>& rows) const {
  const peer_choice choice = choose_peer(what_, name, what_.index, device_.kind(), data_.tree.keys.size());
  if (!choice.note.empty()) note(rows, choice.note);
  const bool answers_it = name != "reduce" || op == operation::visit;
  if (choice.measured && !answers_it && what_.peers_named) {
    for (auto& r : rows) r.inapplicable_peers.push_back(name);
  }
  return choice.measured && answers_it;
}

void blink_peers::add_each(operation op, std::uint64_t work, bool one_thread, std::vector<row>& rows,
                           const measure& f) const {
  for (const auto& name : what_.peers) {
    if (rows.empty() || !applies(op, name, rows)) continue;
    const auto map = make_ordered_map(name, data_.tree.spec, one_thread ? 1 : device_.threads());
    const timing t = f(*map, name);
    const double per_unit = t.work == 0 ? 0 : t.seconds / static_cast<double>(t.work);
    for (auto& r : rows) {
      const double ours = work == 0 ? 0 : r.seconds / static_cast<double>(work);
      r.peers.push_back({name, t.seconds, t.work, ours > 0 ? per_unit / ours : 0});
      // The note states that a map is written by one thread, however many the index uses, since the ratio does not show
      // it.
      if (one_thread && r.threads > 1) {
        r.notes.push_back(
            fmt::format("{}: runs writes and mixed batches in one thread, the index uses {}", name, r.threads));
      }
    }
  }
}

void blink_peers::add_build(std::vector<row>& rows) const {
  const std::uint64_t n = data_.tree.keys.size();
  add_each(operation::build, n, true, rows, [&](ordered_map& map, const std::string&) {
    const double seconds = median_of_runs(what_.write_repeat, [&] {
      map.load({}, {});
      const stopwatch watch;
      map.load(data_.tree.keys, data_.tree.values);
      return watch.seconds();
    });
    return timing{seconds, n};
  });
}

void blink_peers::add_questions(operation op, const workload& elements, const query_view& view, const answers& expected,
                                std::vector<row>& rows) const {
  const double mean = static_cast<double>(view.elements()) / static_cast<double>(std::max<std::size_t>(view.size(), 1));
  const std::size_t queries =
      takes_ranges(op) ? limited_sample(view.size(), mean, 0x1p24) : std::min(view.size(), most_peer_queries);
  const std::uint64_t selected = op == operation::range ? expected[0].as<std::uint64_t>()[queries] : 0;
  const column nothing;
  add_each(op, view.size(), false, rows, [&](ordered_map& map, const std::string& name) {
    map.load(elements.keys, elements.values);
    const answers out = columns_like(op, expected, queries, selected);
    const request r = view.ranges != nullptr ? request_for(view.ranges->lo, view.ranges->hi, queries, out)
                                             : request_for(view.points->keys, nothing, queries, out);
    const stopwatch watch;
    map.ask(op, r);
    const double first = watch.seconds();
    if (auto wrong = difference(op, elements.spec, view, expected, out, name, queries)) throw cli::wrong_answer(*wrong);
    const double seconds = median_seconds_after(first, what_.repeat, [&](std::size_t k) {
      for (std::size_t i = 0; i < k; ++i) map.ask(op, r);
    });
    return timing{seconds, queries};
  });
}

void blink_peers::add_visit(std::vector<row>& rows) const {
  const bool gpu = device_.kind() == device_kind::cuda;
  const workload& elements = data_.tree;
  const std::uint64_t right = checksum_of(elements);
  if (std::none_of(rows.begin(), rows.end(), [](const row& r) { return r.seconds > 0; })) return;
  for (const auto& name : what_.peers) {
    if (!applies(operation::visit, name, rows)) continue;
    // Keys are distinct, so the multimaps of the static tree's peers hold the same content as maps.
    const auto by = gpu ? make_gpu_peer(name, elements, device_) : make_cpu_peer(name, elements, device_.threads());
    if (by == nullptr) {
      note(rows, fmt::format("{}: skipped, not compiled for {}/{}", name, rows[0].key_type, rows[0].value_type));
      continue;
    }
    by->prepare();
    const double seconds = seconds_of_visit(*by, name, right, what_.repeat, device_.default_stream());
    if (const std::string text = note_of_one_thread(operation::visit, name, device_.threads()); !text.empty()) {
      note(rows, text);
    }
    for (auto& r : rows) {
      if (r.seconds > 0) r.peers.push_back({name, seconds, r.keys, seconds / r.seconds});
    }
  }
}

double blink_peers::run_script(operation op, const blink_script& script, ordered_map& map,
                               const std::string& name) const {
  const data_spec& spec = data_.tree.spec;
  if (script.from_empty) {
    map.load({}, {});
  } else {
    map.load(data_.tree.keys, data_.tree.values);
  }
  std::vector<answers> out;
  for (const auto& step : script.steps) {
    out.push_back(make_answers(step, spec));
    if (step.what == step_kind::range) out.back()[0] = first_of(step.expected[0], step.size() + 1);
  }
  const stopwatch watch;
  for (std::size_t s = 0; s < script.steps.size(); ++s) {
    const blink_step& step = script.steps[s];
    if (step.what == step_kind::range) {
      map.ask(operation::range, request_for(step.ranges.lo, step.ranges.hi, step.size(), out[s]));
    } else {
      map.run(step, out[s]);
    }
  }
  const double seconds = watch.seconds();
  for (std::size_t s = 0; s < script.steps.size(); ++s) {
    if (auto wrong = wrong_step(script.steps[s], spec, out[s], name)) {
      throw cli::wrong_answer(fmt::format("{}: {}", name_of(op), *wrong));
    }
  }
  return seconds;
}

void blink_peers::add_script(operation op, const blink_script& script, std::vector<row>& rows) const {
  add_each(op, script.operations, true, rows, [&](ordered_map& map, const std::string& name) {
    const double seconds = median_of_runs(what_.write_repeat, [&] { return run_script(op, script, map, name); });
    return timing{seconds, script.operations};
  });
}

}  // namespace espalier::bench
