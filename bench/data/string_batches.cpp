// string_batches.cpp - see string_batches.hpp.
#include "bench/data/string_batches.hpp"

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>

namespace espalier::bench {
namespace {

std::size_t batches_of(std::size_t keys, std::size_t batch) { return (keys + batch - 1) / batch; }

std::vector<std::uint64_t> cut_offsets(const byte_column& keys, std::size_t batch) {
  std::vector<std::uint64_t> cut;
  cut.reserve(keys.size() + batches_of(keys.size(), batch));
  for (std::size_t first = 0; first < keys.size(); first += batch) {
    const std::size_t last = std::min(first + batch, keys.size());
    for (std::size_t i = first; i <= last; ++i) cut.push_back(keys.offsets[i] - keys.offsets[first]);
  }
  return cut;
}

}  // namespace

string_batches::string_batches(const byte_column& keys, std::size_t one_length, std::size_t batch, const device& dev,
                               location place)
    : batch_(std::max<std::size_t>(batch, 1)),
      own_offsets_(one_length == 0 ? cut_offsets(keys, batch_) : std::vector<std::uint64_t>{}),
      bytes_(keys.bytes.data(), keys.bytes.size(), dev, place),
      offsets_(own_offsets_.data(), own_offsets_.size() * sizeof(std::uint64_t), dev, place) {
  const char* const bytes = static_cast<const char*>(bytes_.data());
  const std::uint64_t* const offsets = static_cast<const std::uint64_t*>(offsets_.data());
  const std::size_t count = batches_of(keys.size(), batch_);
  batches_.reserve(count);
  for (std::size_t b = 0; b < count; ++b) {
    const std::size_t first = b * batch_, last = std::min(first + batch_, keys.size());
    const std::span of_batch(bytes + keys.offsets[first],
                             static_cast<std::size_t>(keys.offsets[last] - keys.offsets[first]));
    if (one_length != 0) {
      batches_.emplace_back(of_batch, one_length);
    } else {
      batches_.emplace_back(of_batch, std::span(offsets + first + b, last - first + 1));
    }
  }
}

askers::askers(const device& dev, unsigned streams) {
  if (streams <= 1) {
    streams_.push_back(dev.default_stream());
    return;
  }
  for (unsigned s = 0; s < streams; ++s) streams_.push_back(dev.make_stream());
}

void askers::run(std::size_t times, std::size_t batches,
                 const std::function<void(std::size_t b, const stream& order)>& ask) const {
  const auto work = [&](std::size_t lane) {
    for (std::size_t t = 0; t < times; ++t) {
      for (std::size_t b = lane; b < batches; b += streams_.size()) ask(b, streams_[lane]);
    }
    streams_[lane].synchronize();
  };
  if (streams_.size() == 1) return work(0);
  std::mutex guard;
  std::exception_ptr failed;
  const auto guarded = [&](std::size_t lane) {
    try {
      work(lane);
    } catch (...) {
      const std::lock_guard lock(guard);
      if (!failed) failed = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;  // joined at the end of this block
    for (std::size_t lane = 0; lane < streams_.size(); ++lane) threads.emplace_back(guarded, lane);
  }
  if (failed) std::rethrow_exception(failed);
}

}  // namespace espalier::bench
