# SPDX-License-Identifier: Apache-2.0
# Index maths, schedules, the gate and the mailbox: plain C++, no LibTorch.
add_library(ringscope_plan STATIC
  ${CMAKE_SOURCE_DIR}/engine/attention/mask.cpp
  ${CMAKE_SOURCE_DIR}/engine/attention/pieces.cpp
  ${CMAKE_SOURCE_DIR}/engine/attention/schedule.cpp
  ${CMAKE_SOURCE_DIR}/engine/control/gate.cpp
  ${CMAKE_SOURCE_DIR}/engine/launch/progress_board.cpp
  ${CMAKE_SOURCE_DIR}/engine/launch/rank_supervisor.cpp
  ${CMAKE_SOURCE_DIR}/engine/launch/shared_memory.cpp
  ${CMAKE_SOURCE_DIR}/engine/launch/stall_watch.cpp
  ${CMAKE_SOURCE_DIR}/engine/parallel/mesh.cpp
  ${CMAKE_SOURCE_DIR}/engine/sharding/shard_layout.cpp
  ${CMAKE_SOURCE_DIR}/engine/transport/mailbox.cpp)
ringscope_target(ringscope_plan)
target_link_libraries(ringscope_plan PUBLIC ringscope_traces)
