# sonde_depth: eBPF programs that the worker loads where it is asked for depth. They are compiled
# with Clang, and their loader is linked with libbpf, libelf and zlib as static libraries, so that the
# worker can still be copied to a host that has none of them. Where something is missing, the worker is
# built without them and says so when it is asked.
set(NETSONDE_DEPTH "AUTO" CACHE STRING "eBPF programs in the worker: AUTO (where they can be built), ON or OFF")

file(GLOB depth_sources CONFIGURE_DEPENDS engine/depth/*.cpp)
list(FILTER depth_sources EXCLUDE REGEX "/(loader|object|not_compiled)\\.cpp$")
add_library(sonde_depth STATIC ${depth_sources})
target_link_libraries(sonde_depth PUBLIC sonde_core)

set(depth_lacks "")
if(NETSONDE_DEPTH STREQUAL "OFF")
  set(depth_lacks " it was switched off")
else()
  find_program(NETSONDE_BPF_CLANG
    NAMES clang clang-20 clang-19 clang-18 clang-17 clang-16 clang-15 clang-14)
  find_path(NETSONDE_BPF_HEADERS bpf/bpf_core_read.h)
  find_library(NETSONDE_BPF_LIBRARY libbpf.a)
  find_library(NETSONDE_ELF_LIBRARY libelf.a)
  find_library(NETSONDE_Z_LIBRARY libz.a)
  find_library(NETSONDE_ZSTD_LIBRARY libzstd.a) # newer versions of libelf need it
  foreach(need NETSONDE_BPF_CLANG NETSONDE_BPF_HEADERS NETSONDE_BPF_LIBRARY NETSONDE_ELF_LIBRARY
      NETSONDE_Z_LIBRARY)
    if(NOT ${need})
      string(APPEND depth_lacks " ${need}")
    endif()
  endforeach()
endif()

if(depth_lacks)
  if(NETSONDE_DEPTH STREQUAL "ON")
    message(FATAL_ERROR "NETSONDE_DEPTH is ON, but these were not found:${depth_lacks}; install "
                        "Clang and libbpf's development files (Debian: clang, libbpf-dev)")
  endif()
  message(STATUS "sonde-worker has no eBPF programs:${depth_lacks}")
  target_sources(sonde_depth PRIVATE engine/depth/not_compiled.cpp)
else()
  set(depth_object "${CMAKE_CURRENT_BINARY_DIR}/depth.bpf.o")
  add_custom_command(OUTPUT "${depth_object}"
    COMMAND "${NETSONDE_BPF_CLANG}" -target bpf -O2 -g -Wall -Wextra -Werror
      -isystem "${NETSONDE_BPF_HEADERS}" -idirafter "/usr/include/${CMAKE_LIBRARY_ARCHITECTURE}"
      -c "${CMAKE_CURRENT_SOURCE_DIR}/engine/depth/depth.bpf.c" -o "${depth_object}"
    DEPENDS engine/depth/depth.bpf.c engine/depth/kernel_types.h engine/depth/layout.h
    COMMENT "Compiling the eBPF programs" VERBATIM)
  target_sources(sonde_depth PRIVATE engine/depth/loader.cpp engine/depth/object.cpp)
  set_source_files_properties(engine/depth/object.cpp PROPERTIES
    OBJECT_DEPENDS "${depth_object}"
    COMPILE_DEFINITIONS "SONDE_DEPTH_OBJECT=\"${depth_object}\"")
  target_include_directories(sonde_depth SYSTEM PRIVATE "${NETSONDE_BPF_HEADERS}")
  target_link_libraries(sonde_depth PRIVATE
    "${NETSONDE_BPF_LIBRARY}" "${NETSONDE_ELF_LIBRARY}" "${NETSONDE_Z_LIBRARY}")
  if(NETSONDE_ZSTD_LIBRARY)
    target_link_libraries(sonde_depth PRIVATE "${NETSONDE_ZSTD_LIBRARY}")
  endif()
endif()
