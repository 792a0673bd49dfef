# The Python extension module flowscope._core, from python/src/*.cc.

file(GLOB python_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/python/src/*.cc")
if(NOT python_sources)
  message(STATUS "flowscope: no python/src/*.cc, extension module skipped")
  return()
endif()

find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module)
execute_process(
  COMMAND "${Python_EXECUTABLE}" -m nanobind --cmake_dir
  OUTPUT_VARIABLE nanobind_ROOT
  OUTPUT_STRIP_TRAILING_WHITESPACE
  COMMAND_ERROR_IS_FATAL ANY)
find_package(nanobind CONFIG REQUIRED)

nanobind_add_module(_core NB_STATIC NOMINSIZE NB_DOMAIN flowscope ${python_sources})
get_property(layers GLOBAL PROPERTY FLOWSCOPE_LAYERS)
list(TRANSFORM layers PREPEND flowscope_)
target_link_libraries(_core PRIVATE flowscope_flags ${layers})
target_link_options(_core PRIVATE -Wl,-Bsymbolic -Wl,--exclude-libs,ALL
  "-Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/core.map")
target_compile_definitions(_core PRIVATE FLOWSCOPE_VERSION="${PROJECT_VERSION}")

if(FLOWSCOPE_INPLACE)
  # Copied under a temporary name and renamed: a process that has the old file
  # mapped keeps it intact.
  set(inplace "${PROJECT_SOURCE_DIR}/python/flowscope/$<TARGET_FILE_NAME:_core>")
  add_custom_command(TARGET _core POST_BUILD
    COMMAND "${CMAKE_COMMAND}" -E copy "$<TARGET_FILE:_core>" "${inplace}.new"
    COMMAND "${CMAKE_COMMAND}" -E rename "${inplace}.new" "${inplace}"
    VERBATIM)
endif()

install(TARGETS _core LIBRARY DESTINATION flowscope)
