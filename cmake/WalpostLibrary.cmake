# walpost_library(NAME [DEPENDS targets...])
#
# A folder of src/ is a library: its *.cc files become walpost_<NAME>. What it
# may link is what it may include; the layering test holds the same table.
function(walpost_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  if(NOT sources)  # headers only
    add_library(walpost_${name} INTERFACE)
    target_link_libraries(walpost_${name} INTERFACE
      walpost_compiler ${ARG_DEPENDS})
    return()
  endif()
  add_library(walpost_${name} STATIC ${sources})
  target_link_libraries(walpost_${name}
    PUBLIC walpost_compiler ${ARG_DEPENDS})
  walpost_precompile(walpost_${name})
endfunction()
