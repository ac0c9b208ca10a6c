# SPDX-License-Identifier: Apache-2.0
# Compiles the command line with Zig's Clang, so that it runs on every Linux with glibc 2.28 or newer. SQLite, zlib,
# xxHash and the C++ library are linked in. Zig brings the headers and the symbol versions of the old glibc. It does not
# read /usr/include, so this file collects the few headers that the command line needs in one folder.
set(RINGSCOPE_ZIG "" CACHE FILEPATH "Zig, which compiles the portable command line")
set(RINGSCOPE_TARGET "x86_64-linux-gnu.2.28" CACHE STRING "Zig's name of the target, with the oldest glibc")
set(RINGSCOPE_LIBRARIES "/usr/lib/x86_64-linux-gnu" CACHE PATH "The folder with libsqlite3.a and libz.a of the target")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES RINGSCOPE_ZIG RINGSCOPE_TARGET RINGSCOPE_LIBRARIES)

set(CMAKE_CXX_COMPILER "${RINGSCOPE_ZIG}" c++ -target ${RINGSCOPE_TARGET})
set(RINGSCOPE_CCACHE OFF CACHE FILEPATH "ccache does not know Zig")

set(headers "${CMAKE_BINARY_DIR}/headers")
foreach(header nlohmann CLI sqlite3.h zlib.h zconf.h xxhash.h xxh3.h)
  if(NOT EXISTS "${headers}/${header}")
    file(COPY "/usr/include/${header}" DESTINATION "${headers}")
  endif()
endforeach()
set(CMAKE_CXX_STANDARD_INCLUDE_DIRECTORIES "${headers}")
foreach(name nlohmann_json CLI11)
  file(WRITE "${headers}/${name}/${name}Config.cmake" "add_library(${name}::${name} INTERFACE IMPORTED)\n")
  set(${name}_DIR "${headers}/${name}" CACHE PATH "")
endforeach()
foreach(name SQLite3 ZLIB)
  set(${name}_INCLUDE_DIR "${headers}" CACHE PATH "")
endforeach()
set(SQLite3_LIBRARY "${RINGSCOPE_LIBRARIES}/libsqlite3.a" CACHE FILEPATH "")
set(ZLIB_LIBRARY "${RINGSCOPE_LIBRARIES}/libz.a" CACHE FILEPATH "")
set(CMAKE_CXX_STANDARD_LIBRARIES "-lm -ldl -lpthread")  # the static SQLite calls functions of them
