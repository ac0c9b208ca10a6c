# SPDX-License-Identifier: Apache-2.0
# Uses ccache where it is installed; precompiled headers need the two sloppiness words. Paths below
# the sources are taken relative to them, so that clones in other places share what was compiled.
find_program(RINGSCOPE_CCACHE ccache)
if(RINGSCOPE_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND};-E;env;CCACHE_SLOPPINESS=pch_defines,time_macros;\
CCACHE_BASEDIR=${CMAKE_SOURCE_DIR};CCACHE_NOHASHDIR=1;${RINGSCOPE_CCACHE}")
endif()
