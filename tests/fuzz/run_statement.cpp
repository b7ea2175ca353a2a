// Statements of any kind: parser, binder, planner, executor (support/run_any_statement.hpp).
#include <cstddef>
#include <cstdint>

#include "support/run_any_statement.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size <= 4096) espalier::test::run_any_statement({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
