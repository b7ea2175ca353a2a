# bench_sources: the sources of `espalier bench` that do not need the query engine, and the files that instantiate its
# templates for one key type each. The types u32 and u64 are always built, the others with ESPALIER_BENCH_ALL_TYPES.
# Without ESPALIER_BUILD_BENCH: what `espalier demo`, `info` and `version` need of them.

set(bench_key_types u32=std::uint32_t u64=std::uint64_t)
if(ESPALIER_BENCH_ALL_TYPES)
  list(APPEND bench_key_types i32=std::int32_t i64=std::int64_t f32=float f64=double)
endif()
if(ESPALIER_BUILD_BENCH)
  espalier_sources(bench_sources bench/harness bench/data bench/peers bench/index bench/index/static bench/index/blink
                   bench/index/radix bench/index/hybrid bench/papers/btree_on_gpu bench/papers/large_pages
                   bench/papers/hb_plus_tree bench/papers/cuart)
  list(APPEND bench_sources "${PROJECT_SOURCE_DIR}/bench/join/join_benchmark.cpp")
  file(GLOB bench_templates CONFIGURE_DEPENDS bench/peers/*.cpp.in bench/index/*/*.cpp.in)
else()
  set(bench_sources bench/harness/demo_run.cpp bench/harness/host_memory.cpp bench/harness/machine.cpp
      bench/harness/options.cpp bench/data/answers.cpp bench/data/byte_generators.cpp bench/data/text_shapes.cpp
      bench/data/workload.cpp bench/peers/array_peers.cpp bench/peers/peer.cpp bench/index/static/system_under_test.cpp)
  if(ESPALIER_HAS_CUDA)
    list(APPEND bench_sources bench/harness/gpu_facts.cu bench/harness/gpu_host_memory.cu bench/index/gpu_visit.cu)
  endif()
  set(bench_templates bench/peers/map_peers.cpp.in bench/index/static/system_under_test.cpp.in)
endif()
foreach(template IN LISTS bench_templates)
  cmake_path(GET template STEM name)
  foreach(key_type IN LISTS bench_key_types)
    string(REGEX MATCH "^([^=]+)=(.+)$" matched ${key_type})
    set(key ${CMAKE_MATCH_1})
    set(type ${CMAKE_MATCH_2})
    set(generated "${CMAKE_CURRENT_BINARY_DIR}/generated/bench/${name}_${key}.cpp")
    configure_file("${template}" "${generated}" @ONLY)
    list(APPEND bench_sources "${generated}")
  endforeach()
endforeach()
