# SPDX-License-Identifier: Apache-2.0
# Uses ccache where it is installed; precompiled headers need the two sloppiness words.
find_program(RINGSCOPE_CCACHE ccache)
if(RINGSCOPE_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND};-E;env;CCACHE_SLOPPINESS=pch_defines,time_macros;${RINGSCOPE_CCACHE}")
endif()
