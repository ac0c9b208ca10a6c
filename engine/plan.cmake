# SPDX-License-Identifier: Apache-2.0
# Index maths, schedules, the gate and the mailbox: plain C++, no LibTorch.
add_library(ringscope_plan STATIC
  ${CMAKE_SOURCE_DIR}/engine/attention/head_split.cpp
  ${CMAKE_SOURCE_DIR}/engine/attention/mask.cpp
  ${CMAKE_SOURCE_DIR}/engine/attention/pieces.cpp
  ${CMAKE_SOURCE_DIR}/engine/attention/schedule.cpp
  ${CMAKE_SOURCE_DIR}/engine/attention/strategies/planned_schedule.cpp
  ${CMAKE_SOURCE_DIR}/engine/gate/gate.cpp
  ${CMAKE_SOURCE_DIR}/engine/launch/rank_supervisor.cpp
  ${CMAKE_SOURCE_DIR}/engine/progress/progress_board.cpp
  ${CMAKE_SOURCE_DIR}/engine/progress/shared_memory.cpp
  ${CMAKE_SOURCE_DIR}/engine/progress/stall_watch.cpp
  ${CMAKE_SOURCE_DIR}/engine/sharding/mesh.cpp
  ${CMAKE_SOURCE_DIR}/engine/sharding/shard_layout.cpp
  ${CMAKE_SOURCE_DIR}/engine/transport/loopback_socket.cpp
  ${CMAKE_SOURCE_DIR}/engine/transport/mailbox.cpp)
ringscope_target(ringscope_plan)
target_link_libraries(ringscope_plan PUBLIC ringscope_traces)
