# Compiler settings shared by every target.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

# TensorFlow loads its libraries RTLD_GLOBAL with 430,000 exported symbols. A
# visible template instance of ours could be replaced by theirs, so nothing of
# ours is visible.
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Paths relative to the checkout, so that a fresh clone finds what another one compiled.
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env
    "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1 "${CCACHE_PROGRAM}")
endif()

add_library(flowscope_flags INTERFACE)
target_compile_options(flowscope_flags INTERFACE -Wall -Wextra)
if(FLOWSCOPE_WERROR)
  target_compile_options(flowscope_flags INTERFACE -Werror)
endif()
target_include_directories(flowscope_flags INTERFACE
  "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include")

if(FLOWSCOPE_SANITIZE)
  # Directory scope, so that third-party code compiled here is instrumented too.
  add_compile_options(-fsanitize=${FLOWSCOPE_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${FLOWSCOPE_SANITIZE})
  # GCC warns of uninitialised values in instrumented code that the plain build,
  # where warnings are errors, finds in order.
  target_compile_options(flowscope_flags INTERFACE -Wno-error)
endif()
