# SPDX-License-Identifier: Apache-2.0
# Programs of wheels. They find LibTorch and Qt beside themselves in site-packages, need no glibc newer
# than 2.34, and have SQLite and zlib linked in.
define_property(TARGET PROPERTY RINGSCOPE_RELOCATABLE
                BRIEF_DOCS "Links static libraries where it can, and no path of the building machine")
set(ringscope_relocatable "$<BOOL:$<TARGET_PROPERTY:RINGSCOPE_RELOCATABLE>>")

# SQLite and zlib: shared libraries, or static ones in programs of wheels.
find_library(RINGSCOPE_STATIC_SQLITE libsqlite3.a)
find_library(RINGSCOPE_STATIC_ZLIB libz.a)
add_library(ringscope_sqlite INTERFACE)
target_link_libraries(ringscope_sqlite INTERFACE
  "$<IF:${ringscope_relocatable},${RINGSCOPE_STATIC_SQLITE};${CMAKE_DL_LIBS};m,SQLite::SQLite3>")
add_library(ringscope_zlib INTERFACE)
target_link_libraries(ringscope_zlib INTERFACE "$<IF:${ringscope_relocatable},${RINGSCOPE_STATIC_ZLIB},ZLIB::ZLIB>")

# ringscope_wheel_program(NAME RUN_PATH): the target NAME-wheel links the objects of the program
# NAME once more, into wheel/NAME of the build folder, with older_glibc.cpp. It is no part of the default build.
function(ringscope_wheel_program name run_path)
  get_target_property(libraries ${name} LINK_LIBRARIES)
  add_executable(${name}-wheel EXCLUDE_FROM_ALL $<TARGET_OBJECTS:${name}> ${CMAKE_SOURCE_DIR}/cmake/older_glibc.cpp)
  target_link_libraries(${name}-wheel PRIVATE ${libraries})
  target_link_options(${name}-wheel PRIVATE -s -Wl,--wrap=hypot,--wrap=arc4random)
  set_target_properties(${name}-wheel PROPERTIES
    OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/wheel RINGSCOPE_RELOCATABLE ON
    BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "${run_path}")
endfunction()
