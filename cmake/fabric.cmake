# sonde-fabric: the worker over libfabric. Only its headers are needed: the library is loaded when it
# is asked for, so that one program works with whatever a site has. Where there are no headers, the
# program is built without and says so when it is asked. A program without any shared library could
# load none, so that a wheel has no sonde-fabric: netsonde builds it on first use, as the row in
# src/netsonde/catalogue/transport.py says.
if(NETSONDE_STATIC)
  message(STATUS "sonde-fabric is not built: it loads a shared library, which NETSONDE_STATIC rules out")
  return()
endif()
find_path(NETSONDE_LIBFABRIC_HEADERS rdma/fi_endpoint.h)
if(NETSONDE_LIBFABRIC_HEADERS)
  file(GLOB libfabric_sources CONFIGURE_DEPENDS
    ${CMAKE_CURRENT_SOURCE_DIR}/engine/transport/libfabric/*.cpp)
  add_library(sonde_libfabric STATIC ${libfabric_sources} engine/worker/fabric_end.cpp
    engine/worker/fabric_session.cpp engine/worker/fabric_sent_runs.cpp
    engine/worker/fabric_written_runs.cpp engine/worker/fabric_remote_runs.cpp
    engine/worker/fabric_datagram_runs.cpp engine/worker/fabric_bounds.cpp)
  target_include_directories(sonde_libfabric SYSTEM PUBLIC "${NETSONDE_LIBFABRIC_HEADERS}")
else()
  message(STATUS "sonde-fabric has no libfabric: its headers were not found (Debian: libfabric-dev)")
  add_library(sonde_libfabric STATIC engine/worker/fabric_missing.cpp)
endif()
target_link_libraries(sonde_libfabric PUBLIC sonde_sessions ${CMAKE_DL_LIBS})
netsonde_add_worker(sonde-fabric engine/worker/sonde_fabric.cpp)
target_link_libraries(sonde-fabric PRIVATE sonde_libfabric)
netsonde_use_precompiled(sonde_libfabric sonde-fabric)
add_dependencies(workers sonde-fabric)
