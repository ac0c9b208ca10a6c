# SPDX-License-Identifier: Apache-2.0
# Imported targets for the LibTorch inside the pinned wheel. The wheel's own CMake package requires
# the CUDA toolkit even for programs that do not use it, so this file defines the targets.
file(GLOB ringscope_torch_root "${RINGSCOPE_DEPS}/lib/python3*/site-packages/torch")
if(NOT ringscope_torch_root)
  message(FATAL_ERROR "LibTorch is not in ${RINGSCOPE_DEPS}. Run scripts/run first, "
                      "or configure with -DRINGSCOPE_ENGINE=OFF for the viewer alone.")
endif()
file(READ "${ringscope_torch_root}/version.py" ringscope_torch_version)
if(NOT ringscope_torch_version MATCHES "__version__ = '2\\.11\\.")
  message(FATAL_ERROR "The torch in ${RINGSCOPE_DEPS} is not 2.11.x, and c10d's headers are bound "
                      "to that version. Run scripts/run again.")
endif()

add_library(LibTorch::cpu INTERFACE IMPORTED)
target_include_directories(LibTorch::cpu SYSTEM INTERFACE "${ringscope_torch_root}/include"
                           "${ringscope_torch_root}/include/torch/csrc/api/include")
target_compile_definitions(LibTorch::cpu INTERFACE USE_DISTRIBUTED USE_C10D_GLOO)
# LibTorch's checks name their file. Programs must not name a folder of the building machine, which ccache
# gives relative to the build folder.
file(RELATIVE_PATH ringscope_source_folder ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
target_compile_options(LibTorch::cpu INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=;-ffile-prefix-map=${ringscope_source_folder}=>")
target_link_directories(LibTorch::cpu INTERFACE "${ringscope_torch_root}/lib")
target_link_options(LibTorch::cpu INTERFACE
  "$<$<NOT:${ringscope_relocatable}>:-Wl,-rpath,${ringscope_torch_root}/lib>")
target_link_libraries(LibTorch::cpu INTERFACE torch_cpu c10 Threads::Threads)

if(RINGSCOPE_CUDA)
  # --no-as-needed: RingScope uses no symbol of torch_cuda; loading the library registers the
  # device.
  target_link_options(LibTorch::cpu INTERFACE "-Wl,--no-as-needed")
  target_link_libraries(LibTorch::cpu INTERFACE torch_cuda c10_cuda)
endif()

add_library(Nvtx::headers INTERFACE IMPORTED)
target_include_directories(Nvtx::headers SYSTEM INTERFACE
                           "${ringscope_torch_root}/../nvidia/cu13/include")
target_link_libraries(Nvtx::headers INTERFACE ${CMAKE_DL_LIBS})
