# walpost_embed(NAME PREFIX files...)
#
# Writes files into the header walpost_NAME.h, each as a std::string_view, and
# makes walpost_NAME to link: so what runs is what people read.
function(walpost_embed name prefix)
  set(header "#pragma once\n\n#include <string_view>\n\nnamespace walpost {\n")
  foreach(path ${ARGN})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
    cmake_path(GET path FILENAME file)
    string(REGEX REPLACE "\\.sql$" "" file ${file})
    string(MAKE_C_IDENTIFIER ${file} file)
    file(READ ${path} text)
    string(APPEND header "\ninline constexpr std::string_view ${prefix}${file} ="
      " R\"${name}(${text})${name}\";\n")
  endforeach()
  string(APPEND header "\n}  // namespace walpost\n")
  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/generated/walpost_${name}.h
    CONTENT "${header}")
  add_library(walpost_${name} INTERFACE)
  target_include_directories(walpost_${name} INTERFACE
    ${PROJECT_BINARY_DIR}/generated)
endfunction()

# What `walpost init` runs.
file(GLOB sql_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/sql/*.sql)
walpost_embed(sql kSql_ ${sql_files})

# The status page (src/admin/pages.h), and the runbook that it quotes.
file(GLOB page_files CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/src/admin/status_page/*)
walpost_embed(status_page kText_ ${page_files}
  ${PROJECT_SOURCE_DIR}/docs/runbook.md)
