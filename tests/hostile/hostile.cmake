# SPDX-License-Identifier: Apache-2.0
# Files, command lines and streams that try to do harm; see run.py.
add_executable(hostile_server hostile/fork_server.cpp hostile/command_action.cpp hostile/file_actions.cpp
                              hostile/scenes_action.cpp)
ringscope_target(hostile_server)
target_link_libraries(hostile_server PRIVATE ringscope_reading ringscope_scene)

find_program(PYTHON3 python3)
# Each case runs on one thread, so TSan would find nothing.
if(PYTHON3 AND NOT RINGSCOPE_SANITIZER STREQUAL "thread")
  foreach(cases fields records files tensors recordings commands frames)
    add_test(NAME hostile_${cases}
             COMMAND ${PYTHON3} ${CMAKE_SOURCE_DIR}/tests/hostile/run.py ${cases}
                     --server $<TARGET_FILE:hostile_server> --program $<TARGET_FILE:ringscope>)
    set_tests_properties(hostile_${cases} PROPERTIES LABELS unit TIMEOUT 1200)
  endforeach()
  if(RINGSCOPE_ENGINE)
    add_test(NAME hostile_engine
             COMMAND ${PYTHON3} ${CMAKE_SOURCE_DIR}/tests/hostile/run.py engine --program $<TARGET_FILE:ringscope>)
    set_tests_properties(hostile_engine PROPERTIES LABELS engine)
  endif()
endif()
