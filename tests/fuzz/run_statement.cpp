// Statements of any kind: parser, binder, planner, executor, and the readers and writers of files, which work in a
// folder that is made for this process (support/run_any_statement.hpp).
#include <cstddef>
#include <cstdint>

#include "support/run_any_statement.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static espalier::test::statement_files files;
  if (size <= 4096) espalier::test::run_any_statement({reinterpret_cast<const char*>(bytes), size}, files);
  return 0;
}
