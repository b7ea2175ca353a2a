// truncation_test.cpp - files that another process truncates while they are mapped.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>

#include "engine/store/files.hpp"
#include "engine/store/sections.hpp"
#include "engine/store/sigbus_handler.hpp"
#include "support/scratch_folder.hpp"
#include "support/truncate_in_child.hpp"

namespace espalier::engine {
namespace {

constexpr std::size_t file_bytes = 64 * 4096;

std::filesystem::path written_file(const test::scratch_folder& scratch) {
  auto path = scratch.path() / "file";
  std::ofstream(path, std::ios::binary) << std::string(file_bytes, 'x');
  return path;
}

std::string problem_of(const mapped_file& file) {
  try {
    file.require_whole();
  } catch (const damaged_file& e) {
    EXPECT_EQ(e.code().sqlstate, codes::data_corrupted.sqlstate);
    return e.what();
  }
  return "";
}

TEST(Truncation, ATruncatedFileIsNamedBeforeItIsRead) {
  const test::scratch_folder scratch;
  const auto path = written_file(scratch);
  const mapped_file file(path);
  EXPECT_EQ(problem_of(file), "");
  test::truncate_in_child(path, 10000);
  const auto problem = problem_of(file);
  EXPECT_NE(problem.find(path.string()), std::string::npos) << problem;
  EXPECT_NE(problem.find("from 262144 to 10000 bytes"), std::string::npos) << problem;
}

TEST(Truncation, LostPagesAreZerosAndRemembered) {
  const test::scratch_folder scratch;
  const auto path = written_file(scratch);
  install_sigbus_handler();
  const mapped_file whole(path);
  {
    const mapped_file file(path);
    test::truncate_in_child(path, 4096);
    EXPECT_EQ(file.bytes()[0], std::byte{'x'});
    for (std::size_t i = 4096; i < file_bytes; i += 1000) ASSERT_EQ(file.bytes()[i], std::byte{0}) << i;
    std::filesystem::resize_file(path, file_bytes);  // the size alone no longer shows that bytes were lost
    EXPECT_NE(problem_of(file), "");
    EXPECT_EQ(problem_of(whole), "") << "it has not been read where bytes were lost";
  }
  const mapped_file reused(path);  // its range has the slot of the one above
  EXPECT_EQ(problem_of(reused), "");
}

TEST(Truncation, ARemovedOrReplacedFileIsWhole) {
  const test::scratch_folder scratch;
  const auto path = written_file(scratch);
  const mapped_file file(path);
  std::filesystem::remove(path);
  EXPECT_EQ(problem_of(file), "");
  std::ofstream(path) << "shorter";
  EXPECT_EQ(problem_of(file), "");
  EXPECT_EQ(file.bytes()[file_bytes - 1], std::byte{'x'});
}

// Reads behind the end of a mapped file that is not registered.
void fault_elsewhere(const std::filesystem::path& path) {
  std::FILE* const file = std::fopen(path.c_str(), "rb");
  if (!file) std::_Exit(2);
  const auto* const bytes =
      static_cast<const volatile char*>(::mmap(nullptr, file_bytes, PROT_READ, MAP_SHARED, ::fileno(file), 0));
  if (::truncate(path.c_str(), 0) != 0) std::_Exit(3);
  std::_Exit(bytes[8192] == 0 ? 4 : 5);
}

extern "C" void exit_with_signal_number(int signal) { std::_Exit(100 + signal); }
extern "C" void exit_if_address_is_known(int, siginfo_t* info, void*) { std::_Exit(info->si_addr ? 77 : 78); }

class SigbusHandlerDeathTest : public testing::Test {
 protected:
  // The child runs this test alone, so that no other one has installed the handler before.
  SigbusHandlerDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
  const test::scratch_folder scratch_;
  const std::filesystem::path path_ = written_file(scratch_);
};

TEST_F(SigbusHandlerDeathTest, OtherFaultsEndTheProcess) {
  EXPECT_EXIT(
      {
        ::signal(SIGBUS, SIG_DFL);  // a sanitizer has one of its own
        install_sigbus_handler();
        fault_elsewhere(path_);
      },
      testing::KilledBySignal(SIGBUS), "");
}

TEST_F(SigbusHandlerDeathTest, OtherFaultsGoToTheHandlerThatWasThereBefore) {
  EXPECT_EXIT(
      {
        ::signal(SIGBUS, exit_with_signal_number);
        install_sigbus_handler();
        fault_elsewhere(path_);
      },
      testing::ExitedWithCode(100 + SIGBUS), "");
  EXPECT_EXIT(
      {
        struct sigaction own {};
        own.sa_sigaction = exit_if_address_is_known;
        own.sa_flags = SA_SIGINFO;
        ::sigaction(SIGBUS, &own, nullptr);
        install_sigbus_handler();
        install_sigbus_handler();  // only the first call has an effect
        fault_elsewhere(path_);
      },
      testing::ExitedWithCode(77), "");
}

TEST_F(SigbusHandlerDeathTest, ASignalOfAnotherProcessEndsTheProcess) {
  EXPECT_EXIT(
      {
        ::signal(SIGBUS, SIG_DFL);
        install_sigbus_handler();
        ::raise(SIGBUS);
        std::_Exit(1);
      },
      testing::KilledBySignal(SIGBUS), "");
}

}  // namespace
}  // namespace espalier::engine
