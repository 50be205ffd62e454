# One set of flags for all of our own code; warnings are errors.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

add_library(walpost_compiler INTERFACE)
target_compile_options(walpost_compiler INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Werror
  -fno-omit-frame-pointer)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # RapidJSON's iterators compare in ways that C++20 sees twice.
  target_compile_options(walpost_compiler INTERFACE
    -Wno-ambiguous-reversed-operator)
endif()
target_include_directories(walpost_compiler INTERFACE
  ${PROJECT_SOURCE_DIR}/src)

if(WALPOST_SANITIZE)
  target_compile_options(walpost_compiler INTERFACE
    -fsanitize=${WALPOST_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(walpost_compiler INTERFACE
    -fsanitize=${WALPOST_SANITIZE})
  # Else abseil's headers give its tables another layout than the system's
  # library has, which is built without a sanitizer.
  target_compile_definitions(walpost_compiler INTERFACE NDEBUG_SANITIZER)
  if(WALPOST_SANITIZE STREQUAL thread AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # The fences in the library's shared_ptr: it does not follow them.
    target_compile_options(walpost_compiler INTERFACE -Wno-tsan)
  endif()
  if(WALPOST_SANITIZE MATCHES undefined AND CMAKE_CXX_COMPILER_ID STREQUAL GNU
      AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
    # With these, the address of a function is no constant expression, and
    # abseil has some; AddressSanitizer sees what is read through null as well.
    target_compile_options(walpost_compiler INTERFACE
      -fno-sanitize=null,nonnull-attribute,returns-nonnull-attribute)
  endif()
endif()

if(WALPOST_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # The frame of a coroutine may have what is local to a source of the batch.
  target_compile_options(walpost_compiler INTERFACE -Wno-subobject-linkage)
endif()

find_program(CCACHE ccache)
if(CCACHE)
  # What it wants to be told before it takes precompiled headers.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(walpost_compiler INTERFACE -fpch-preprocess)
  endif()
endif()
