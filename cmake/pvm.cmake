# sonde-pvm: the worker for PVM, where its header and its library are. Elsewhere netsonde builds it
# on first use, as the row in src/netsonde/catalogue/transport.py says. The static library, for the
# program can be copied to hosts that have but the daemon.
option(NETSONDE_PVM "build sonde-pvm, where PVM's development files are found" ON)
if(NOT NETSONDE_PVM OR NETSONDE_STATIC)
  message(STATUS "sonde-pvm is not built: NETSONDE_PVM is OFF, or it is for hosts of any PVM")
  return()
endif()
find_path(NETSONDE_PVM_HEADERS pvm3.h HINTS "$ENV{PVM_ROOT}/include" /usr/lib/pvm3/include)
find_library(NETSONDE_PVM_LIBRARY NAMES libpvm3.a pvm3
  HINTS "$ENV{PVM_ROOT}/lib/$ENV{PVM_ARCH}" /usr/lib/pvm3/lib/LINUX64)
# XDR, which the C library had itself until glibc 2.32.
set(xdr_names libtirpc.a libtirpc.so.3)
if(NETSONDE_SANITIZE) # its library stands before XDR's functions, and looks for them in shared ones
  set(xdr_names libtirpc.so libtirpc.so.3)
endif()
find_library(NETSONDE_XDR_LIBRARY NAMES ${xdr_names})
if(NOT NETSONDE_PVM_HEADERS OR NOT NETSONDE_PVM_LIBRARY)
  message(STATUS "sonde-pvm is not built: no pvm3.h and libpvm3 (Debian: pvm-dev)")
  return()
endif()

file(GLOB pvm_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/engine/transport/pvm/*.cpp
  ${CMAKE_CURRENT_SOURCE_DIR}/engine/worker/pvm_*.cpp)
add_library(sonde_pvm_parts STATIC ${pvm_sources})
target_include_directories(sonde_pvm_parts SYSTEM PUBLIC "${NETSONDE_PVM_HEADERS}")
target_link_libraries(sonde_pvm_parts PUBLIC sonde_core "${NETSONDE_PVM_LIBRARY}")
if(NETSONDE_XDR_LIBRARY)
  target_link_libraries(sonde_pvm_parts PUBLIC "${NETSONDE_XDR_LIBRARY}")
  if(NETSONDE_SANITIZE) # nothing refers to it before that library does
    target_link_options(sonde_pvm_parts PUBLIC -Wl,--no-as-needed)
  endif()
endif()
netsonde_use_precompiled(sonde_pvm_parts)
netsonde_compile_together(16 sonde_pvm_parts)
add_dependencies(grouped sonde_pvm_parts)
add_executable(sonde-pvm engine/worker/sonde_pvm.cpp)
target_link_libraries(sonde-pvm PRIVATE sonde_pvm_parts)
install(TARGETS sonde-pvm RUNTIME DESTINATION "${SKBUILD_SCRIPTS_DIR}" COMPONENT workers OPTIONAL)
add_dependencies(workers sonde-pvm)
