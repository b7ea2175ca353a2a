// space.cpp - a million rounds in which keys come and others go: the tree must not keep growing.
//
//   blink_space --rounds 1000000 --keys 100000
//
// Prints the bytes per element that is there, the most of all rounds, beside those of a new tree of the same elements;
// ends with 1 if that is more than twice as much, or the tree is wrong.
#include <algorithm>
#include <cstdio>

#include "blink_soak/soak.hpp"
#include "espalier/blink_tree/blink_tree.hpp"

namespace espalier::test {
namespace {

template <class Word>
bool come_and_go(const soak_options& options, const char* name, write_path path) {
  using tree_type = blink_tree<Word, Word>;
  constexpr std::size_t each = 16;
  const std::size_t n = options.keys;
  random_words random(options.first + 1);
  const std::uint64_t most_drawn = static_cast<Word>(~Word{0}) / n;  // each place has keys of its own
  const auto draw = [&](std::size_t place) { return static_cast<Word>(random.below(most_drawn) * n + place); };
  std::vector<Word> here(n);
  for (std::size_t i = 0; i < n; ++i) here[i] = draw(i);
  const device dev = device::cpu(1);
  tree_type tree = tree_type::build(here, here, {}, dev);
  std::size_t most = 0;
  for (std::uint64_t round = 0; round < options.rounds; ++round) {
    std::vector<Word> coming(each), leaving(each);
    // At times the keys of neighbouring places, at times of places all over.
    for (std::size_t i = 0; i < each; ++i) {
      const std::size_t at = round % 2 == 0 ? (round * each + i) % n : random.below(n / each) * each + i;
      leaving[i] = here[at];
      do coming[i] = draw(at);
      while (coming[i] == leaving[i]);
      here[at] = coming[i];
    }
    tree.insert(coming, coming, {}, {batch_semantics::concurrent, path});
    tree.erase(leaving, {}, {batch_semantics::concurrent, path});
    if (round % 1009 == 0 || round + 1 == options.rounds) most = std::max(most, tree.stats().bytes);
  }
  const std::size_t made_new = tree_type::build(here, here, {}, dev).stats().bytes;
  const validation v = tree.validate();
  std::vector<std::uint8_t> found(n);
  tree.contains(here, found);
  const auto missing = std::count(found.begin(), found.end(), 0);
  const double elements = static_cast<double>(n);
  std::printf(
      "%s, %s: %llu rounds, %zu elements; at most %.2f bytes per element, %.2f in a new tree, %zu of the pair\n", name,
      to_string(path).c_str(), static_cast<unsigned long long>(options.rounds), tree.size(),
      static_cast<double>(most) / elements, static_cast<double>(made_new) / elements, 2 * sizeof(Word));
  if (!v.ok) std::printf("%s\n", v.problem.c_str());
  return v.ok && missing == 0 && tree.size() == n && most <= 2 * made_new;
}

}  // namespace
}  // namespace espalier::test

int main(int argc, char** argv) {
  using namespace espalier;
  using namespace espalier::test;
  const soak_options options = parse_soak(argc, argv);
  bool ok = true;
  for (const write_path path : {write_path::automatic, write_path::per_key}) {
    ok = come_and_go<std::uint32_t>(options, "u32", path) && ok;
    ok = come_and_go<std::uint64_t>(options, "u64", path) && ok;
  }
  return ok ? 0 : 1;
}
