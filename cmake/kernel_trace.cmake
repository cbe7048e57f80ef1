# sonde_kernel_trace: eBPF programs that the worker loads where it is asked for kernel tracing. They are compiled
# with Clang, and their loader is linked with libbpf, libelf and zlib as static libraries, so that the
# worker can still be copied to a host that has none of them. Where something is missing, the worker is
# built without them and says so when it is asked.
set(NETSONDE_KERNEL_TRACE "AUTO" CACHE STRING "eBPF programs in the worker: AUTO (where they can be built), ON or OFF")

file(GLOB kernel_trace_sources CONFIGURE_DEPENDS engine/kernel_trace/*.cpp)
list(FILTER kernel_trace_sources EXCLUDE REGEX "/(loader|object|not_compiled)\\.cpp$")
add_library(sonde_kernel_trace STATIC ${kernel_trace_sources})
target_link_libraries(sonde_kernel_trace PUBLIC sonde_core)

set(kernel_trace_lacks "")
if(NETSONDE_KERNEL_TRACE STREQUAL "OFF")
  set(kernel_trace_lacks " it was switched off")
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
      string(APPEND kernel_trace_lacks " ${need}")
    endif()
  endforeach()
endif()

if(kernel_trace_lacks)
  if(NETSONDE_KERNEL_TRACE STREQUAL "ON")
    message(FATAL_ERROR "NETSONDE_KERNEL_TRACE is ON, but these were not found:${kernel_trace_lacks}; install "
                        "Clang and libbpf's development files (Debian: clang, libbpf-dev)")
  endif()
  message(STATUS "sonde-worker has no eBPF programs:${kernel_trace_lacks}")
  target_sources(sonde_kernel_trace PRIVATE engine/kernel_trace/not_compiled.cpp)
else()
  set(kernel_trace_object "${CMAKE_CURRENT_BINARY_DIR}/kernel_trace.bpf.o")
  add_custom_command(OUTPUT "${kernel_trace_object}"
    COMMAND "${NETSONDE_BPF_CLANG}" -target bpf -O2 -g -Wall -Wextra -Werror
      -isystem "${NETSONDE_BPF_HEADERS}" -idirafter "/usr/include/${CMAKE_LIBRARY_ARCHITECTURE}"
      -c "${CMAKE_CURRENT_SOURCE_DIR}/engine/kernel_trace/kernel_trace.bpf.c" -o "${kernel_trace_object}"
    DEPENDS engine/kernel_trace/kernel_trace.bpf.c engine/kernel_trace/kernel_types.h engine/kernel_trace/layout.h
      engine/core/buckets.h
    COMMENT "Compiling the eBPF programs" VERBATIM)
  target_sources(sonde_kernel_trace PRIVATE engine/kernel_trace/loader.cpp engine/kernel_trace/object.cpp)
  set_source_files_properties(engine/kernel_trace/object.cpp PROPERTIES
    OBJECT_DEPENDS "${kernel_trace_object}"
    COMPILE_DEFINITIONS "SONDE_KERNEL_TRACE_OBJECT=\"${kernel_trace_object}\"")
  target_include_directories(sonde_kernel_trace SYSTEM PRIVATE "${NETSONDE_BPF_HEADERS}")
  target_link_libraries(sonde_kernel_trace PRIVATE
    "${NETSONDE_BPF_LIBRARY}" "${NETSONDE_ELF_LIBRARY}" "${NETSONDE_Z_LIBRARY}")
  if(NETSONDE_ZSTD_LIBRARY)
    target_link_libraries(sonde_kernel_trace PRIVATE "${NETSONDE_ZSTD_LIBRARY}")
  endif()
endif()
