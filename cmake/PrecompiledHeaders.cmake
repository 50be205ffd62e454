# walpost_precompile(TARGET)
#
# Headers of others that most files include are parsed once for all of them,
# which halves the time of a whole build: those of everybody, of what uses Asio,
# and of tests. A source still includes what it uses; clang builds without.
set(everybodys_headers
  <algorithm> <array> <chrono> <functional> <map> <memory> <optional> <random>
  <set> <string> <string_view> <utility> <variant> <vector>
  <absl/container/flat_hash_map.h> <absl/status/status.h>
  <absl/status/statusor.h>
  ${PROJECT_SOURCE_DIR}/cmake/compiled/fmt_template.h)
set(asio_headers
  <boost/asio/any_io_executor.hpp> <boost/asio/as_tuple.hpp>
  <boost/asio/awaitable.hpp> <boost/asio/co_spawn.hpp>
  <boost/asio/io_context.hpp> <boost/asio/ip/tcp.hpp>
  <boost/asio/posix/stream_descriptor.hpp> <boost/asio/steady_timer.hpp>
  <boost/asio/use_awaitable.hpp>)
set(test_headers <gtest/gtest.h> <gmock/gmock.h>)

# What the target links, and what that links, as far as it is ours.
function(_walpost_libraries_of target result)
  set(found "")
  get_target_property(open ${target} LINK_LIBRARIES)
  while(open)
    list(POP_FRONT open library)
    if(library IN_LIST found)
      continue()
    endif()
    list(APPEND found ${library})
    if(library MATCHES "^walpost_" AND TARGET ${library})
      get_target_property(further ${library} INTERFACE_LINK_LIBRARIES)
      if(further)
        list(APPEND open ${further})
      endif()
    endif()
  endwhile()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

function(walpost_precompile target)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    return()
  endif()
  _walpost_libraries_of(${target} libraries)
  set(owner walpost_precompiled)
  set(headers ${everybodys_headers})
  set(needed walpost_compiler absl::statusor absl::flat_hash_map fmt::fmt)
  if(walpost_asio IN_LIST libraries)
    string(APPEND owner _asio)
    list(APPEND headers ${asio_headers})
    list(APPEND needed walpost_asio)
  endif()
  set(options "")
  if(GTest::gtest_main IN_LIST libraries)
    string(APPEND owner _test)
    list(APPEND headers ${test_headers})
    list(APPEND needed GTest::gmock)
    # The code under test is optimised as shipped; the tests need not be.
    set(options -O0)
  endif()
  if(NOT TARGET ${owner})
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/${owner}.cc
      CONTENT "// Owns the headers.\n")
    add_library(${owner} OBJECT ${PROJECT_BINARY_DIR}/${owner}.cc)
    target_link_libraries(${owner} PRIVATE ${needed})
    target_compile_options(${owner} PRIVATE ${options})
    target_precompile_headers(${owner} PRIVATE ${headers})
  endif()
  target_compile_options(${target} PRIVATE ${options})
  target_precompile_headers(${target} REUSE_FROM ${owner})
endfunction()
