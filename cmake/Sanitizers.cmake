# SPDX-License-Identifier: Apache-2.0
if(RINGSCOPE_SANITIZER STREQUAL "address")
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(RINGSCOPE_SANITIZER STREQUAL "thread")
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
  add_link_options(-fsanitize=thread)
elseif(RINGSCOPE_SANITIZER)
  message(FATAL_ERROR "RINGSCOPE_SANITIZER is '${RINGSCOPE_SANITIZER}'; use address or thread")
endif()
