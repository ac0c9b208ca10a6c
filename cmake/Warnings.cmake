# SPDX-License-Identifier: Apache-2.0
option(RINGSCOPE_WARNINGS_FAIL "Treat warnings as errors; off for compilers that the sources are not checked with" ON)

# ringscope_target(NAME): sets the compile options of a target of this project.
function(ringscope_target target)
  ringscope_unity(${target})
  set(warnings -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
               -Wno-missing-field-initializers)
  if(RINGSCOPE_WARNINGS_FAIL)
    list(APPEND warnings -Werror)
  endif()
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${warnings}>")
  # GCC 12 warns about overlapping copies inside std::string that do not exist (GCC bug 105651).
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
  endif()
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wthread-safety>)
    # Files that are compiled together see each other's names, and Clang then warns about a local name that
    # only another file declares. clang-tidy reads each file alone, with the warning.
    if(RINGSCOPE_UNITY)
      target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-shadow>)
    endif()
  endif()
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR})
  # GCC needs this option for precompiled headers with ccache.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
  endif()
endfunction()
