// trace.cpp - two threads write to a B-link tree while a trace is recorded. `espalier explore` shows the trace file, if
// one is named.
#include <cstdint>
#include <fstream>
#include <iostream>
#include <thread>

#include "espalier/blink_tree/blink_tree.hpp"
#include "espalier/inspect/blink_trace.hpp"
#include "espalier/team/scalar_team.hpp"

int main(int argc, char** argv) {
  using namespace espalier;
  using policy = blink_policy<protocol::blink, inner_index::inner_nodes>;  // inner nodes to which every leaf is posted
  blink_tree<std::uint64_t, std::uint64_t, policy> tree(device::cpu());

  recorded_trace trace = begin_trace(tree);
  trace_recorder recorder(tree.get_device(), 100'000);
  const auto ref = tree.ref(1000);
  const auto work = [&](std::uint32_t number) {
    const traced_team team(scalar_team{}, recorder.ring(), number);  // an untraced team would not record events
    for (std::uint64_t k = number; k < 1000; k += 2) {
      note(team, trace::begin(trace_op::insert, k));
      const bool is_new = ref.insert(team, k, k * k) == write_result::inserted;
      note(team, trace::end(trace_op::insert, is_new ? trace_result::done : trace_result::unchanged));
    }
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  end_trace(trace, tree, recorder);

  std::cout << trace.events.size() << " events, " << trace.lost << " lost, " << tree.size() << " keys\n";
  if (argc > 1) {
    std::ofstream file(argv[1]);
    write_trace(file, trace);
  }
  return tree.size() == 1000 && trace.lost == 0 ? 0 : 1;
}
