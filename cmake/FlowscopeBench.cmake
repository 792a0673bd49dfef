# C++ benchmarks: one Google Benchmark binary per bench/*_bench.cc.

find_package(benchmark REQUIRED)
file(GLOB benches CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/*_bench.cc")
get_property(layers GLOBAL PROPERTY FLOWSCOPE_LAYERS)
list(TRANSFORM layers PREPEND flowscope_)
foreach(source IN LISTS benches)
  cmake_path(GET source STEM name)
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE ${layers} benchmark::benchmark)
endforeach()
