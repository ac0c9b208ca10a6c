# SPDX-License-Identifier: Apache-2.0
# Compiles the command line with Zig's Clang, so that it runs on every Linux with glibc 2.28 or newer. SQLite, zlib,
# xxHash and the C++ library are linked in. Zig brings the headers and the symbol versions of the old glibc. It does not
# read /usr/include, so this file collects the few headers that the command line needs in one folder.
# Other targets are compiled in the same way; their RINGSCOPE_LIBRARIES has SQLite and zlib for that target.
set(RINGSCOPE_ZIG "" CACHE FILEPATH "Zig, which compiles the portable command line")
set(RINGSCOPE_TARGET "x86_64-linux-gnu.2.28" CACHE STRING "Zig's name of the target, with the oldest glibc")
set(RINGSCOPE_LIBRARIES "/usr/lib/x86_64-linux-gnu" CACHE PATH "The folder with libsqlite3.a and libz.a of the target")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES RINGSCOPE_ZIG RINGSCOPE_TARGET RINGSCOPE_LIBRARIES)

set(CMAKE_CXX_COMPILER "${RINGSCOPE_ZIG}" c++ -target ${RINGSCOPE_TARGET})
set(CMAKE_CXX_FLAGS_INIT "-ffile-prefix-map=${CMAKE_SOURCE_DIR}/= -ffile-prefix-map=${CMAKE_BINARY_DIR}/=")
if(NOT RINGSCOPE_TARGET MATCHES "^x86_64-linux")
  string(REGEX MATCH "^[^-]+" CMAKE_SYSTEM_PROCESSOR "${RINGSCOPE_TARGET}")
  set(CMAKE_SYSTEM_NAME Linux)
  if(RINGSCOPE_TARGET MATCHES "macos")
    set(CMAKE_SYSTEM_NAME Darwin)
  elseif(RINGSCOPE_TARGET MATCHES "windows")
    set(CMAKE_SYSTEM_NAME Windows)
  endif()
  # The system's ar knows only the system's own format of objects.
  foreach(tool ar ranlib)
    file(WRITE "${CMAKE_BINARY_DIR}/zig-${tool}" "#!/bin/sh\nexec '${RINGSCOPE_ZIG}' ${tool} \"$@\"\n")
    file(CHMOD "${CMAKE_BINARY_DIR}/zig-${tool}" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
    string(TOUPPER ${tool} variable)
    set(CMAKE_${variable} "${CMAKE_BINARY_DIR}/zig-${tool}" CACHE FILEPATH "")
  endforeach()
endif()
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
