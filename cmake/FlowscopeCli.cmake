# The flowscope command, from cli/*.cc on the public library.

find_package(CLI11 REQUIRED)
file(GLOB cli_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/cli/*.cc")
add_executable(flowscope_cli ${cli_sources})
set_target_properties(flowscope_cli PROPERTIES OUTPUT_NAME flowscope UNITY_BUILD OFF)
target_link_libraries(flowscope_cli PRIVATE flowscope_library CLI11::CLI11)
target_compile_definitions(flowscope_cli PRIVATE FLOWSCOPE_VERSION="${PROJECT_VERSION}")
