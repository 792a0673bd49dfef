# Layers: one library per folder of src/.

# flowscope_layer(<folder> LINKS <target>...) makes flowscope_<folder> from
# src/<folder>/*.cc without the tests. A folder without sources becomes an
# interface library, so that the layers above link the same way.
function(flowscope_layer folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LINKS")
  set(dir "${PROJECT_SOURCE_DIR}/src/${folder}")
  file(GLOB sources CONFIGURE_DEPENDS "${dir}/*.cc")
  file(GLOB tests CONFIGURE_DEPENDS "${dir}/*_test.cc")
  if(tests)
    list(REMOVE_ITEM sources ${tests})
  endif()
  set(target flowscope_${folder})
  if(sources)
    add_library(${target} STATIC ${sources})
    target_link_libraries(${target} PUBLIC flowscope_flags ${arg_LINKS})
  else()
    add_library(${target} INTERFACE)
    flowscope_existing_targets(links ${arg_LINKS})
    target_link_libraries(${target} INTERFACE flowscope_flags ${links})
  endif()
  set_property(GLOBAL APPEND PROPERTY FLOWSCOPE_LAYERS ${folder})
  set_property(GLOBAL PROPERTY FLOWSCOPE_TESTS_${folder} "${tests}")
endfunction()

# Drops names of missing imported libraries (their layer has no code yet).
function(flowscope_existing_targets out)
  set(kept "")
  foreach(item IN LISTS ARGN)
    if(TARGET "${item}" OR NOT item MATCHES "::")
      list(APPEND kept "${item}")
    endif()
  endforeach()
  set(${out} "${kept}" PARENT_SCOPE)
endfunction()
