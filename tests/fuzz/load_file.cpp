// load_file.cpp - libFuzzer's way into the readers of stored files. The first byte says which reader.
//
//   cmake -B build/fuzz -DCMAKE_CXX_COMPILER=clang++-16 -DESPALIER_FUZZ=ON ... && build/fuzz/tests/fuzz_load_file CORPUS
#include "support/load_any_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  espalier::test::load_any_file(static_cast<espalier::test::stored_bytes>(data[0] % 4), {data + 1, size - 1});
  return 0;
}
