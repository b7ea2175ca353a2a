// cuda_turns_test.cu - the order of streams at a tree (device/stream_dependencies.hpp) with GPU streams; skipped
// without a GPU.
#include <gtest/gtest.h>

#include <cuda_runtime.h>

#include <algorithm>
#include <future>
#include <vector>

#include "device/device_impl.hpp"
#include "device/stream_dependencies.hpp"
#include "espalier/device/buffer.hpp"
#include "espalier/device/cuda.cuh"

namespace espalier::test {
namespace {

using detail::stream_dependencies;

struct one_team {
  [[nodiscard]] __host__ __device__ static constexpr unsigned lanes() { return 32; }
};
struct do_nothing {
  __device__ void operator()(one_team, std::size_t) const {}
};

class cuda_turns_test : public testing::Test {
 protected:
  void SetUp() override {
    for (const device& d : device::all()) {
      if (d.kind() == device_kind::cuda) gpus_.push_back(d);
    }
    if (gpus_.empty()) GTEST_SKIP() << "no GPU";
  }
  [[nodiscard]] const device& gpu() const { return gpus_.front(); }
  [[nodiscard]] static cudaStream_t make_native() {
    cudaStream_t s = nullptr;
    EXPECT_EQ(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), cudaSuccess);
    return s;
  }
  /// The stream stands still until `open` is set.
  static void close(cudaStream_t s, std::promise<void>& open) {
    const auto wait = [](void* p) { static_cast<std::promise<void>*>(p)->get_future().wait(); };
    EXPECT_EQ(cudaLaunchHostFunc(s, wait, &open), cudaSuccess);
  }

  std::vector<device> gpus_;
  stream_dependencies turns_;
};

TEST_F(cuda_turns_test, a_write_comes_behind_a_read_and_the_host_does_not_wait) {
  const stream reader = gpu().make_stream(), writer = gpu().make_stream();
  const buffer<int> value(gpu(), 1, reader);
  gpu().fill(value.data(), 1, sizeof(int), reader);
  reader.synchronize();
  int read = 0;
  int* const seen = &read;
  const buffer<int> copy(gpu(), 1, reader);
  std::promise<void> open;
  close(static_cast<cudaStream_t>(reader.native()), open);
  {
    const auto turn = turns_.begin(reader, false);
    gpu().copy(copy.data(), value.data(), sizeof(int), reader);
  }
  {
    const auto turn = turns_.begin(writer, true);  // returns
    gpu().fill(value.data(), 2, sizeof(int), writer);
  }
  EXPECT_FALSE(writer.is_done());
  open.set_value();
  writer.synchronize();
  gpu().copy(seen, copy.data(), sizeof(int), reader);
  reader.synchronize();
  EXPECT_EQ(read, 0x01010101);
}

TEST_F(cuda_turns_test, a_stream_that_its_owner_destroyed_is_harmless) {
  const cudaStream_t native = make_native();
  { const auto turn = turns_.begin(gpu().wrap_stream(native), false); }
  EXPECT_EQ(cudaStreamSynchronize(native), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(native), cudaSuccess);
  { const auto turn = turns_.begin(gpu().default_stream(), true); }
  gpu().default_stream().synchronize();
  EXPECT_LE(turns_.kept(), 1u);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(cuda_turns_test, work_of_a_stream_that_was_destroyed_is_waited_for_still) {
  const cudaStream_t native = make_native();
  const stream writer = gpu().make_stream();
  std::promise<void> open;
  {
    const auto turn = turns_.begin(gpu().wrap_stream(native), false);
    close(native, open);
  }
  EXPECT_EQ(cudaStreamDestroy(native), cudaSuccess);  // its work goes on
  { const auto turn = turns_.begin(writer, true); }
  EXPECT_FALSE(writer.is_done());
  open.set_value();
  writer.synchronize();
}

TEST_F(cuda_turns_test, handles_of_one_stream_take_one_entry) {
  const cudaStream_t native = make_native();
  std::promise<void> open;
  close(native, open);
  for (unsigned i = 0; i < 10000; ++i) const auto turn = turns_.begin(gpu().wrap_stream(native), false);
  EXPECT_EQ(turns_.kept(), 1u);
  open.set_value();
  EXPECT_EQ(cudaStreamSynchronize(native), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(native), cudaSuccess);
}

TEST_F(cuda_turns_test, streams_that_are_done_are_forgotten) {
  std::size_t most = 0;
  for (unsigned i = 0; i < 200; ++i) {
    const stream reader = gpu().make_stream();
    { const auto turn = turns_.begin(reader, false); }
    reader.synchronize();
    most = std::max(most, turns_.kept());
  }
  EXPECT_LE(most, 17u);
}

TEST_F(cuda_turns_test, ids_tell_streams_apart_and_not_handles) {
  const cudaStream_t native = make_native();
  EXPECT_EQ(gpu().wrap_stream(native).state()->id(), gpu().wrap_stream(native).state()->id());
  EXPECT_NE(gpu().make_stream().state()->id(), gpu().make_stream().state()->id());
  EXPECT_EQ(cudaStreamDestroy(native), cudaSuccess);
}

TEST_F(cuda_turns_test, a_launch_that_a_grid_cannot_hold_is_refused) {
  const cuda_backend backend(gpu());
  EXPECT_THROW(backend.for_each_team<one_team>({}, std::size_t{1} << 40, do_nothing{}), error);
}

}  // namespace
}  // namespace espalier::test
