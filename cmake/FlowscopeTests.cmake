# C++ tests: one GoogleTest binary <folder>_test per folder of src/.

enable_testing()
find_package(GTest REQUIRED)
include(GoogleTest)

# A stand-in for TensorFlow's C API behind the same function table, for the
# layers that would otherwise need TensorFlow.
file(GLOB fake_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/fake_runtime/*.cc")
set(fake_tests ${fake_sources})
list(FILTER fake_tests INCLUDE REGEX "_test\\.cc$")
list(FILTER fake_sources EXCLUDE REGEX "_test\\.cc$")
if(fake_sources)
  add_library(flowscope_fake_runtime STATIC ${fake_sources})
  target_link_libraries(flowscope_fake_runtime PUBLIC flowscope_tf)
  target_include_directories(flowscope_fake_runtime PUBLIC "${PROJECT_SOURCE_DIR}/tests")
endif()

function(flowscope_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINKS")
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINKS} GTest::gmock GTest::gtest_main)
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  # On the few files that name it: a path of the checkout keeps a compiler cache from serving others.
  foreach(source IN LISTS arg_SOURCES)
    file(STRINGS "${source}" uses_data REGEX FLOWSCOPE_TEST_DATA_DIR)
    if(uses_data)
      set_property(SOURCE "${source}" APPEND PROPERTY
        COMPILE_DEFINITIONS "FLOWSCOPE_TEST_DATA_DIR=\"${PROJECT_SOURCE_DIR}/tests\"")
    endif()
  endforeach()
  gtest_discover_tests(${name} TEST_PREFIX "${name}." DISCOVERY_MODE PRE_TEST
    PROPERTIES TIMEOUT 300)
endfunction()

set(needs_fake_runtime tf interp capture replay savedmodel)
get_property(layers GLOBAL PROPERTY FLOWSCOPE_LAYERS)
foreach(folder IN LISTS layers)
  get_property(tests GLOBAL PROPERTY FLOWSCOPE_TESTS_${folder})
  if(NOT tests OR (FLOWSCOPE_TEST_FOLDERS AND NOT folder IN_LIST FLOWSCOPE_TEST_FOLDERS))
    continue()
  endif()
  set(links flowscope_${folder})
  if(folder IN_LIST needs_fake_runtime AND TARGET flowscope_fake_runtime)
    list(PREPEND links flowscope_fake_runtime)
  endif()
  flowscope_test(${folder}_test SOURCES ${tests} LINKS ${links})
endforeach()
if(fake_tests)
  flowscope_test(fake_runtime_test SOURCES ${fake_tests} LINKS flowscope_fake_runtime)
endif()

# Libraries laid out as an installed TensorFlow, which tf_test patches.
if(TARGET tf_test AND EXISTS "${PROJECT_SOURCE_DIR}/tests/fake_tensorflow/CMakeLists.txt")
  add_subdirectory("${PROJECT_SOURCE_DIR}/tests/fake_tensorflow" fake_tensorflow)
endif()

# Fuzz targets, tests/fuzz/<name>_fuzz.cc: with clang one libFuzzer binary each, to be run for as
# long as one likes; with every compiler a driver that runs a fixed number of mutations as a test,
# under the preset's sanitizers. tests/prove/fuzz.py runs the drivers for longer.
function(flowscope_fuzz name runs)
  set(target "${PROJECT_SOURCE_DIR}/tests/fuzz/${name}_fuzz.cc")
  add_executable(${name}_fuzz_driver ${target} "${PROJECT_SOURCE_DIR}/tests/fuzz/driver.cc")
  add_test(NAME fuzz.${name} COMMAND ${name}_fuzz_driver)
  set_tests_properties(fuzz.${name} PROPERTIES TIMEOUT 300 ENVIRONMENT FLOWSCOPE_FUZZ_RUNS=${runs})
  set(binaries ${name}_fuzz_driver)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    add_executable(${name}_fuzz ${target} "${PROJECT_SOURCE_DIR}/tests/fuzz/libfuzzer.cc")
    target_link_options(${name}_fuzz PRIVATE -fsanitize=fuzzer)
    list(APPEND binaries ${name}_fuzz)
  endif()
  foreach(binary IN LISTS binaries)
    target_link_libraries(${binary} PRIVATE ${ARGN})
    target_include_directories(${binary} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  endforeach()
endfunction()

if(TARGET flowscope_fake_runtime AND NOT FLOWSCOPE_TEST_FOLDERS)
  flowscope_fuzz(function_def 20000 flowscope_fake_runtime flowscope_interp)
  flowscope_fuzz(saved_model 20000 flowscope_savedmodel flowscope_fake_runtime)
  flowscope_fuzz(structure 10000 flowscope_library flowscope_fake_runtime)
  flowscope_fuzz(store 1500 flowscope_store)
endif()

# Saved traces cut and flipped at every position: a part of them as a test, all of them by
# tests/prove/damage.py.
if(NOT FLOWSCOPE_TEST_FOLDERS)
  file(GLOB damage_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/damage/*.cc")
  add_executable(every_position ${damage_sources})
  target_link_libraries(every_position PRIVATE flowscope_store)
  target_include_directories(every_position PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  add_test(NAME damage.every_position COMMAND every_position 4999 0)
  set_tests_properties(damage.every_position PROPERTIES TIMEOUT 300)
endif()
