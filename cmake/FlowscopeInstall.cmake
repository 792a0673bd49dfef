# The C++ library as one archive, with its headers: find_package(flowscope) gives
# flowscope::flowscope. What it links beside that is named by the package file.

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

get_property(layers GLOBAL PROPERTY FLOWSCOPE_LAYERS)
set(objects "")
foreach(folder IN LISTS layers)
  get_target_property(type flowscope_${folder} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    list(APPEND objects $<TARGET_OBJECTS:flowscope_${folder}>)
  endif()
endforeach()
add_library(flowscope_archive STATIC EXCLUDE_FROM_ALL ${objects})
set_target_properties(flowscope_archive PROPERTIES OUTPUT_NAME flowscope LINKER_LANGUAGE CXX)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/flowscope")
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/flowscopeConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/flowscopeConfig.cmake" INSTALL_DESTINATION "${package_dir}"
  PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/flowscopeConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)

# A component of its own: a wheel installs none of it.
install(FILES "$<TARGET_FILE:flowscope_archive>" DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  COMPONENT cpp EXCLUDE_FROM_ALL)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/flowscope"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT cpp EXCLUDE_FROM_ALL)
install(FILES "${PROJECT_SOURCE_DIR}/src/base/status.h" "${PROJECT_SOURCE_DIR}/src/base/dtype.h"
  "${PROJECT_SOURCE_DIR}/src/base/payload.h"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/flowscope/base" COMPONENT cpp EXCLUDE_FROM_ALL)
install(FILES "${PROJECT_BINARY_DIR}/flowscopeConfig.cmake"
  "${PROJECT_BINARY_DIR}/flowscopeConfigVersion.cmake"
  DESTINATION "${package_dir}" COMPONENT cpp EXCLUDE_FROM_ALL)
