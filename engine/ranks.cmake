# SPDX-License-Identifier: Apache-2.0
# The parts of the engine that need no LibTorch: the gate, the mailbox, the supervision of ranks.
add_library(ringscope_ranks STATIC
  ${CMAKE_SOURCE_DIR}/engine/gate/gate.cpp
  ${CMAKE_SOURCE_DIR}/engine/launch/rank_supervisor.cpp
  ${CMAKE_SOURCE_DIR}/engine/progress/progress_board.cpp
  ${CMAKE_SOURCE_DIR}/engine/progress/shared_memory.cpp
  ${CMAKE_SOURCE_DIR}/engine/progress/stall_watch.cpp
  ${CMAKE_SOURCE_DIR}/engine/queue/host_queue.cpp
  ${CMAKE_SOURCE_DIR}/engine/transport/loopback_socket.cpp
  ${CMAKE_SOURCE_DIR}/engine/transport/mailbox.cpp)
ringscope_target(ringscope_ranks)
target_link_libraries(ringscope_ranks PUBLIC ringscope_exchange)
