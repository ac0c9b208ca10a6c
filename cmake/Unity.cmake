# SPDX-License-Identifier: Apache-2.0
# From nothing, most of a build's time goes into headers that every file reads again. With
# RINGSCOPE_UNITY the files of a folder, twelve at a time, are compiled as one: a third of the time.
# Names in anonymous namespaces are therefore distinct within a folder (of tests: within those of one
# program), and among all views.
option(RINGSCOPE_UNITY "Compile the files of a folder together: quicker from nothing, slower after a change" OFF)

# ringscope_unity(TARGET): groups the sources that TARGET has at the time of the call.
function(ringscope_unity target)
  if(NOT RINGSCOPE_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source)
    cmake_path(IS_PREFIX CMAKE_SOURCE_DIR ${source} ours)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${CMAKE_SOURCE_DIR})
    cmake_path(GET source PARENT_PATH folder)
    if(NOT ours OR NOT source MATCHES "\\.cpp$")
      continue()
    endif()
    string(REGEX REPLACE "^viz/views/.*" "viz/views" folder ${folder})
    string(MAKE_C_IDENTIFIER ${folder} group)
    list(APPEND files_${group} ${source})
    list(LENGTH files_${group} count)
    math(EXPR batch "${count} / 12")
    set_source_files_properties(${CMAKE_SOURCE_DIR}/${source} TARGET_DIRECTORY ${target}
                                PROPERTIES UNITY_GROUP ${group}_${batch})
  endforeach()
endfunction()
