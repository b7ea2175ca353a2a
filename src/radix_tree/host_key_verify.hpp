// host_key_verify.hpp - find in a tree whose long keys are in host memory: the device finds the candidate leaf of a
// key, the CPU compares the two keys, and only then the result is written.
//
// A batch is processed in pieces:
//
//   list      the device answers short queries and lists the candidates of long ones (radix_candidate_job)
//   ship      the device writes the list to host memory in whole lines; queries that only the device can read are
//             included, if they have candidates
//   compare   the CPU's threads compare, while the device lists the next piece; the result is a byte per candidate
//   put       the device reads those bytes, and writes found and value of the confirmed candidates
//
// The calling thread waits for the lists, even in _async finds: what is enqueued after them depends on the CPU's
// result. A host function that CUDA calls in stream order could compare instead, but it would block the stream, and
// thereby the next piece, which defeats the purpose of the pieces; and it could not report an error. The last `put` is
// only enqueued, so the results of an _async find are complete when its stream is synchronised, as always. On a CPU all
// of it is work of the stream, and the caller does not wait.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "espalier/radix_tree/jobs.hpp"
#include "radix_tree/scratch.hpp"
#include "radix_tree/storage.hpp"
#include "static_tree/cpu_executor.hpp"

namespace espalier::detail {

/// Copies the used words of a list, one per thread: neighbouring threads fill a line.
struct ship_words {
  const void* from;
  const std::uint64_t* elements;
  unsigned words;  ///< words per element
  void* to;
  ESPALIER_HD void operator()(std::size_t j) const {
    if (j < *elements * words)
      memcpy(static_cast<std::uint64_t*>(to) + j, static_cast<const std::uint64_t*>(from) + j, 8);
  }
};
template <unsigned V>
struct put_confirmed {
  radix_find_job<V> find;
  std::size_t first;
  const radix_candidate* candidates;
  const radix_link* leaves;
  const std::uint8_t* right;
  ESPALIER_HD void operator()(std::size_t j) const {
    if (right[j] == 0) return;
    const std::size_t i = first + candidates[j].question;
    if (find.found != nullptr) find.found[i] = 1;
    if constexpr (V != 0) {
      const unsigned bytes = find.tree.value_bytes;
      if (find.values != nullptr)
        memcpy(static_cast<std::uint8_t*>(find.values) + i * bytes, find.tree.value_of(leaves[j]), bytes);
    }
  }
};
/// Offsets of queries 0, piece, 2 * piece, ..., and the end of the last one.
struct take_bounds {
  byte_batch keys;
  std::size_t n, piece;
  std::uint64_t* bounds;
  ESPALIER_HD void operator()(std::size_t p) const {
    const std::size_t i = p * piece < n ? p * piece : n;
    bounds[p] = keys.offsets == nullptr ? i * keys.stride : keys.offsets[i];
  }
};

template <class Context, unsigned V>
class verified_find {
 public:
  /// Queries per piece: enough for all threads of a GPU, and some milliseconds of comparing.
  static constexpr std::size_t piece = std::size_t{1} << 18;

  /// `cpu` is the device that compares.
  verified_find(Context& context, const radix_storage<V>& tree, const device& cpu)
      : context_(context),
        tree_(tree),
        host_side_(context.get_device().with_pool(tree.heap_pool)),
        cpu_(cpu, stream{}) {}

  /// `asked` are the caller's keys; those of the job are the same keys in the device's memory.
  void operator()(const byte_keys& asked, const radix_find_job<V>& job) {
    const std::size_t n = asked.n, pieces = (n + piece - 1) / piece;
    // On a CPU no query needs to be shipped; keys of one length are shipped there nevertheless, so that tests without a
    // GPU cover both cases.
    const bool ships =
        Context::on_gpu ? context_.get_device().is_local(asked.batch.bytes) : asked.batch.offsets == nullptr;
    const std::uint64_t words = ships ? most_words(job.keys, n, pieces) : 0;
    for (std::size_t s = 0; s < 2 && s < pieces; ++s) make_slot(slots_[s], std::min(n, std::size_t{piece}), words);
    launch(job, n, 0);
    for (std::size_t p = 0; p < pieces; ++p) {
      const slot& own = slots_[p % 2];
      auto readback = context_.read_async(own.listed.data());
      if (p + 1 < pieces) launch(job, n, p + 1);
      const std::size_t listed = readback.get();  // the shipped data have arrived as well
      compare(own, listed, asked.batch, p * piece);
      context_.for_each(listed,
                        put_confirmed<V>{job, p * piece, own.candidates.data(), own.leaves.data(), own.right.data()});
    }
  }

 private:
  /// While one slot is compared, the other one is filled.
  struct slot {
    buffer<std::uint64_t> listed;  ///< numbers of candidates, and of words of their queries
    buffer<radix_candidate> candidates, shipped_candidates;
    buffer<radix_link> leaves;
    buffer<std::uint64_t> questions, shipped_questions;
    buffer<std::uint8_t> right;
  };
  void make_slot(slot& s, std::size_t n, std::uint64_t words) {
    const stream& order = context_.order();
    s.listed = room<std::uint64_t>(context_, 2);
    s.candidates = room<radix_candidate>(context_, n);
    s.leaves = room<radix_link>(context_, n);
    s.questions = room<std::uint64_t>(context_, words);
    s.shipped_candidates = buffer<radix_candidate>(host_side_, n, order);
    s.shipped_questions = buffer<std::uint64_t>(host_side_, words, order);
    s.right = buffer<std::uint8_t>(host_side_, n, order);
  }
  /// Maximum number of words of the queries of a piece.
  [[nodiscard]] std::uint64_t most_words(const byte_batch& keys, std::size_t n, std::size_t pieces) {
    const buffer<std::uint64_t> on_device = room<std::uint64_t>(context_, pieces + 1);
    context_.for_each(pieces + 1, take_bounds{keys, n, std::size_t{piece}, on_device.data()});
    const std::vector<std::uint64_t> bounds = on_device.to_vector();
    std::uint64_t bytes = 0;
    for (std::size_t p = 0; p < pieces; ++p) bytes = std::max(bytes, bounds[p + 1] - bounds[p]);
    return bytes / 8 + std::min(n, std::size_t{piece});  // each query may end within a word
  }
  void launch(const radix_find_job<V>& job, std::size_t n, std::size_t p) {
    const slot& s = slots_[p % 2];
    const std::size_t first = p * piece, here = std::min(n - first, std::size_t{piece});
    std::uint64_t* const copies = s.questions.empty() ? nullptr : s.questions.data();
    context_.zero(s.listed.data(), s.listed.bytes());
    context_.ask(radix_candidate_job<V>{job, first, s.candidates.data(), s.leaves.data(), copies, s.listed.data(),
                                        s.listed.data() + 1},
                 here);
    constexpr unsigned words = sizeof(radix_candidate) / 8;
    context_.for_each(here * words,
                      ship_words{s.candidates.data(), s.listed.data(), words, s.shipped_candidates.data()});
    context_.for_each(s.questions.size(), ship_words{copies, s.listed.data() + 1, 1, s.shipped_questions.data()});
  }
  void compare(const slot& s, std::size_t listed, const byte_batch& asked, std::size_t first) {
    const radix_candidate* const candidates = s.shipped_candidates.data();
    const std::uint64_t* const questions = s.shipped_questions.empty() ? nullptr : s.shipped_questions.data();
    const std::uint64_t* const heap = tree_.heap.data();
    std::uint8_t* const right = s.right.data();
    cpu_.for_each(listed, [=](std::size_t j) {
      const radix_candidate& c = candidates[j];
      const leaf_key key{heap + c.heap_at, c.size, leaf_key::no_tail};
      const std::uint32_t differs =
          questions == nullptr ? first_difference(asked[first + c.question], key)
                               : first_difference(leaf_key{questions + c.question_at, c.size, leaf_key::no_tail}, key);
      right[j] = differs == same_key ? 1 : 0;
    });
  }

  Context& context_;
  const radix_storage<V>& tree_;
  device host_side_;  ///< memory that host and device access
  cpu_executor cpu_;
  slot slots_[2];
};

}  // namespace espalier::detail
