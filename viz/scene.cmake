# SPDX-License-Identifier: GPL-3.0-or-later
# Scenes are plain values. They need no Qt, so tests build them where Qt is missing.
file(GLOB scenes CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/viz/scene/*.cpp ${CMAKE_SOURCE_DIR}/viz/views/*/*_scene.cpp)
add_library(ringscope_scene STATIC ${scenes})
ringscope_target(ringscope_scene)
target_link_libraries(ringscope_scene PUBLIC ringscope_traces)
