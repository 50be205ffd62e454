# Writes the files of sql/ into a header, so that what `walpost init` runs is
# what people read.
file(GLOB sql_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/sql/*.sql)
set(sql_header "#pragma once\n\n#include <string_view>\n\nnamespace walpost {\n")
foreach(path ${sql_files})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
  cmake_path(GET path STEM name)
  file(READ ${path} text)
  string(APPEND sql_header
    "\ninline constexpr std::string_view kSql_${name} = R\"sql(${text})sql\";\n")
endforeach()
string(APPEND sql_header "\n}  // namespace walpost\n")
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/generated/walpost_sql.h
  CONTENT "${sql_header}")

add_library(walpost_sql INTERFACE)
target_include_directories(walpost_sql INTERFACE
  ${PROJECT_BINARY_DIR}/generated)
