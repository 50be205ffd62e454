# Everything comes from Debian packages (scripts/install), but for a librdkafka
# that is too old there; nothing is fetched at configure time.
find_package(absl REQUIRED)
find_package(Boost 1.81 REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(CLI11 REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(PostgreSQL REQUIRED)
find_package(Protobuf REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(ZLIB REQUIRED)
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
# Where the system's is older, scripts/librdkafka builds one, and scripts/build
# says where. It is looked for each time: what was found may be the older one.
unset(pkgcfg_lib_rdkafka_rdkafka CACHE)
pkg_check_modules(rdkafka REQUIRED IMPORTED_TARGET rdkafka>=2.14)
pkg_check_modules(rapidjson REQUIRED IMPORTED_TARGET RapidJSON)
pkg_check_modules(re2 REQUIRED IMPORTED_TARGET re2)
# Its -pthread would compile sources without the precompiled headers.
set_property(TARGET PkgConfig::re2 PROPERTY INTERFACE_COMPILE_OPTIONS)
pkg_check_modules(jemalloc REQUIRED IMPORTED_TARGET jemalloc)
pkg_check_modules(sqlite3 REQUIRED IMPORTED_TARGET sqlite3)
pkg_check_modules(hiredis REQUIRED IMPORTED_TARGET hiredis)
# Likewise its -D, which has no effect where a file's size has 64 bits anyway.
set_property(TARGET PkgConfig::hiredis PROPERTY INTERFACE_COMPILE_OPTIONS)
pkg_check_modules(rabbitmq REQUIRED IMPORTED_TARGET librabbitmq)
find_library(NATS_LIBRARY nats REQUIRED)
find_path(NATS_INCLUDE_DIR nats/nats.h REQUIRED)
add_library(nats::nats UNKNOWN IMPORTED)
set_target_properties(nats::nats PROPERTIES
  IMPORTED_LOCATION ${NATS_LIBRARY}
  INTERFACE_INCLUDE_DIRECTORIES ${NATS_INCLUDE_DIR})
pkg_check_modules(prometheus REQUIRED IMPORTED_TARGET prometheus-cpp-core)

# Abseil is thirty small libraries: linked in, they cost neither a fifth of the
# start nor a megabyte of memory.
get_directory_property(imported_targets IMPORTED_TARGETS)
list(FILTER imported_targets INCLUDE REGEX "^absl::|^yaml-cpp$")
foreach(target ${imported_targets})
  get_target_property(library ${target} IMPORTED_LOCATION_NONE)
  if(library MATCHES "^(.*)\\.so")
    set(archive ${CMAKE_MATCH_1}.a)
    if(EXISTS ${archive})
      set_target_properties(${target} PROPERTIES
        IMPORTED_LOCATION_NONE ${archive} IMPORTED_SONAME_NONE "")
    endif()
  endif()
endforeach()

# Asio's own code is compiled once, not in each file that includes it.
add_library(walpost_asio STATIC EXCLUDE_FROM_ALL
  ${PROJECT_SOURCE_DIR}/cmake/compiled/asio.cc)
target_link_libraries(walpost_asio
  PUBLIC Boost::headers Threads::Threads
  PRIVATE walpost_compiler)
# GCC 12 takes the frames of coroutines, which Asio allocates, for mismatches.
target_compile_options(walpost_asio PUBLIC -Wno-mismatched-new-delete)
target_compile_definitions(walpost_asio PUBLIC
  BOOST_ASIO_NO_DEPRECATED BOOST_ASIO_SEPARATE_COMPILATION)

add_library(walpost_asio_ssl STATIC EXCLUDE_FROM_ALL
  ${PROJECT_SOURCE_DIR}/cmake/compiled/asio_ssl.cc)
target_link_libraries(walpost_asio_ssl
  PUBLIC walpost_asio OpenSSL::SSL PRIVATE walpost_compiler)
