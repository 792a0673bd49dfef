# Third-party libraries. Those with symbols are linked as static archives, so
# that they can be hidden inside the extension: TensorFlow exports some of the
# same names (sqlite3_*, ZSTD_*, XXH*).

find_package(Threads REQUIRED)
find_package(fmt 9 REQUIRED)
find_package(nlohmann_json 3.10 REQUIRED)

# flowscope_static(<name> ARCHIVE <file> HEADER <file> [LINKS ...]) defines
# flowscope::<name>. A missing optional library is an error only for the layer
# that links it.
function(flowscope_static name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "ARCHIVE;HEADER" "LINKS")
  find_library(FLOWSCOPE_${name}_ARCHIVE NAMES ${arg_ARCHIVE})
  find_path(FLOWSCOPE_${name}_INCLUDE NAMES ${arg_HEADER})
  mark_as_advanced(FLOWSCOPE_${name}_ARCHIVE FLOWSCOPE_${name}_INCLUDE)
  if(FLOWSCOPE_${name}_ARCHIVE AND FLOWSCOPE_${name}_INCLUDE)
    add_library(flowscope::${name} STATIC IMPORTED GLOBAL)
    set_target_properties(flowscope::${name} PROPERTIES
      IMPORTED_LOCATION "${FLOWSCOPE_${name}_ARCHIVE}"
      INTERFACE_INCLUDE_DIRECTORIES "${FLOWSCOPE_${name}_INCLUDE}"
      INTERFACE_LINK_LIBRARIES "${arg_LINKS}")
  endif()
endfunction()

flowscope_static(xxhash ARCHIVE libxxhash.a HEADER xxhash.h)
flowscope_static(zstd ARCHIVE libzstd.a HEADER zstd.h)
flowscope_static(sqlite3 ARCHIVE libsqlite3.a HEADER sqlite3.h
                 LINKS m Threads::Threads ${CMAKE_DL_LIBS})

find_path(FLOWSCOPE_PROTOZERO_INCLUDE NAMES protozero/pbf_reader.hpp REQUIRED)
mark_as_advanced(FLOWSCOPE_PROTOZERO_INCLUDE)
add_library(flowscope_protozero INTERFACE)
add_library(flowscope::protozero ALIAS flowscope_protozero)
target_include_directories(flowscope_protozero SYSTEM INTERFACE "${FLOWSCOPE_PROTOZERO_INCLUDE}")
