# SPDX-License-Identifier: GPL-3.0-or-later
# What views show, as plain values: no Qt, so that it is tested where there is none.
file(GLOB scenes CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/viz/scene/*.cpp)
add_library(ringscope_scene STATIC ${scenes})
ringscope_target(ringscope_scene)
target_link_libraries(ringscope_scene PUBLIC ringscope_traces)
