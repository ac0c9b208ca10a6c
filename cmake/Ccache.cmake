# SPDX-License-Identifier: Apache-2.0
# Uses ccache if it is installed. Precompiled headers need the two sloppiness words. Paths below the
# source folder are taken relative to it, so that clones in other places share the cache.
find_program(RINGSCOPE_CCACHE ccache)
if(RINGSCOPE_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND};-E;env;CCACHE_SLOPPINESS=pch_defines,time_macros;\
CCACHE_BASEDIR=${CMAKE_SOURCE_DIR};CCACHE_NOHASHDIR=1;${RINGSCOPE_CCACHE}")
endif()
