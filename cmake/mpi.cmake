# sonde-mpi: the worker for MPI. By default it is built once against the MPI 5 standard ABI, which
# the Python package mpich brings (mpi_abi.h, libmpi_abi.so), and runs with any MPI that has that
# ABI. NETSONDE_MPICC names another compiler wrapper, e.g. mpicc.openmpi, to build for that MPI.
set(NETSONDE_MPICC "" CACHE STRING
    "compiler wrapper of the MPI to build sonde-mpi for (default: mpicc_abi of the mpich package)")

# Sets mpi_wrapper to the path of the wrapper, or to empty.
function(netsonde_find_mpi_wrapper)
  set(hints "")
  if(Python3_EXECUTABLE)
    # Beside the interpreter, not behind its links: a virtual environment's python is a link.
    get_filename_component(hints "${Python3_EXECUTABLE}" DIRECTORY)
  endif()
  if(NETSONDE_MPICC)
    set(name "${NETSONDE_MPICC}")
  else()
    set(name mpicc_abi)
  endif()
  # Not cached: an isolated build environment is gone at the next build, and its path with it.
  unset(found CACHE)
  find_program(found NAMES "${name}" HINTS ${hints} NO_CACHE)
  if(NOT found AND NETSONDE_MPICC)
    message(FATAL_ERROR "NETSONDE_MPICC is ${NETSONDE_MPICC}, but there is no such program; "
                        "name an MPI's compiler wrapper by its path, or leave NETSONDE_MPICC empty")
  endif()
  if(NOT found)
    set(found "")
  endif()
  set(mpi_wrapper "${found}" PARENT_SCOPE)
endfunction()

# Sets mpi_flags to what the wrapper would give to the compiler and the linker.
function(netsonde_read_mpi_flags wrapper)
  foreach(question -show --showme) # MPICH and its relatives, Open MPI
    execute_process(COMMAND "${wrapper}" ${question}
      OUTPUT_VARIABLE answer RESULT_VARIABLE status
      OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(status EQUAL 0)
      separate_arguments(words UNIX_COMMAND "${answer}")
      list(POP_FRONT words) # the compiler itself
      set(mpi_flags "${words}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "${wrapper} does not say its flags with -show; it is no MPI compiler wrapper")
endfunction()

if(NOT NETSONDE_MPI)
  message(STATUS "sonde-mpi is not built: NETSONDE_MPI is OFF")
  return()
endif()
netsonde_find_mpi_wrapper()
if(NOT mpi_wrapper)
  message(STATUS "sonde-mpi is not built: no mpicc_abi on PATH or beside the Python interpreter; "
                 "install the Python package mpich, or set NETSONDE_MPICC")
  return()
endif()
netsonde_read_mpi_flags("${mpi_wrapper}")

set(mpi_compile "")
set(mpi_include "")
set(mpi_link "")
set(mpi_library_folders "")
foreach(flag IN LISTS mpi_flags)
  if(flag MATCHES "^-I(.+)")
    list(APPEND mpi_include "${CMAKE_MATCH_1}")
  elseif(flag MATCHES "^-L(.+)")
    list(APPEND mpi_library_folders "${CMAKE_MATCH_1}")
    list(APPEND mpi_link "${flag}")
  elseif(flag MATCHES "^-l" OR flag STREQUAL "-pthread")
    list(APPEND mpi_link "${flag}")
  elseif(flag MATCHES "^-D")
    list(APPEND mpi_compile "${flag}")
  endif() # rpath is set below; optimisation and warnings are ours to choose
endforeach()
message(STATUS "sonde-mpi is built with the flags of ${mpi_wrapper}")

file(GLOB mpi_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/engine/transport/mpi/*.cpp)
file(GLOB collective_sources CONFIGURE_DEPENDS
  ${CMAKE_CURRENT_SOURCE_DIR}/engine/collective/*.cpp)
list(APPEND mpi_sources engine/worker/mpi_run.cpp engine/worker/mpi_choices.cpp)
add_library(sonde_mpi_parts STATIC ${mpi_sources} ${collective_sources})
target_include_directories(sonde_mpi_parts SYSTEM PUBLIC ${mpi_include})
target_compile_options(sonde_mpi_parts PUBLIC ${mpi_compile})
# The C++ bindings that old MPIs still bring are not wanted.
target_compile_definitions(sonde_mpi_parts PUBLIC MPICH_SKIP_MPICXX OMPI_SKIP_MPICXX)
target_link_libraries(sonde_mpi_parts PUBLIC
  sonde_schedule sonde_transports sonde_core ${mpi_link} ${CMAKE_DL_LIBS})
# Names that it defines change nothing of what is precompiled; other flags could.
set(mpi_own_flags ${mpi_compile})
list(FILTER mpi_own_flags EXCLUDE REGEX "^-D")
if(mpi_own_flags)
  netsonde_precompile(sonde_mpi_parts)
else()
  netsonde_use_precompiled(sonde_mpi_parts)
endif()
netsonde_compile_together(16 sonde_mpi_parts)
add_dependencies(grouped sonde_mpi_parts)
add_executable(sonde-mpi engine/worker/sonde_mpi.cpp engine/worker/mpi_rank.cpp
  engine/worker/mpi_words.cpp engine/worker/collective_summary.cpp)
target_link_libraries(sonde-mpi PRIVATE sonde_mpi_parts)
if(mpi_own_flags AND NETSONDE_PCH)
  target_precompile_headers(sonde-mpi REUSE_FROM sonde_mpi_parts)
elseif(NOT mpi_own_flags)
  netsonde_use_precompiled(sonde-mpi)
endif()
netsonde_compile_together(16 sonde-mpi)

# Installed beside the interpreter, the worker finds the library of the same environment; a library
# outside (a site's MPI) is found where the wrapper says. LD_LIBRARY_PATH goes before both.
set(mpi_rpath "$ORIGIN/../lib")
if(NETSONDE_MPICC)
  list(APPEND mpi_rpath ${mpi_library_folders})
endif()
set_target_properties(sonde-mpi PROPERTIES
  BUILD_RPATH "${mpi_library_folders}" INSTALL_RPATH "${mpi_rpath}")
target_link_options(sonde-mpi PRIVATE -Wl,--enable-new-dtags)
install(TARGETS sonde-mpi RUNTIME DESTINATION "${SKBUILD_SCRIPTS_DIR}" COMPONENT workers OPTIONAL)
add_dependencies(quickstart sonde-mpi)

# The library that is loaded into other MPI programs before MPI's own: nothing but MPI's names is
# seen of it. No sanitizer goes into programs that have none.
if(NOT NETSONDE_SANITIZE AND NOT NETSONDE_FUZZ)
  file(GLOB tuned_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/engine/tuned/*.cpp)
  set(tuned_exports ${CMAKE_CURRENT_SOURCE_DIR}/engine/tuned/exported.map)
  add_library(sonde-tuned SHARED ${tuned_sources} ${schedule_sources}
    engine/core/request.cpp engine/core/json_object.cpp)
  target_include_directories(sonde-tuned SYSTEM PRIVATE ${mpi_include})
  target_compile_options(sonde-tuned PRIVATE ${mpi_compile})
  target_compile_definitions(sonde-tuned PRIVATE MPICH_SKIP_MPICXX OMPI_SKIP_MPICXX)
  target_link_libraries(sonde-tuned PRIVATE sonde_options nlohmann_json::nlohmann_json
    Threads::Threads ${mpi_link} ${CMAKE_DL_LIBS})
  target_link_options(sonde-tuned PRIVATE -Wl,--version-script=${tuned_exports}
    -Wl,--enable-new-dtags)
  netsonde_precompile(sonde-tuned)
  netsonde_compile_together(16 sonde-tuned)
  set_target_properties(sonde-tuned PROPERTIES LINK_DEPENDS ${tuned_exports}
    BUILD_RPATH "${mpi_library_folders}" INSTALL_RPATH "$ORIGIN/..;${mpi_library_folders}")
  install(TARGETS sonde-tuned LIBRARY DESTINATION "${SKBUILD_DATA_DIR}/lib/netsonde"
    COMPONENT workers OPTIONAL)
  add_dependencies(workers sonde-tuned)
endif()

if(NETSONDE_TESTS)
  # What can be tested without running MPI; the rest is tested through sonde-mpi's records.
  find_package(doctest REQUIRED)
  enable_testing()
  file(GLOB mpi_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/tests/engine/mpi/*.cpp)
  add_executable(engine-mpi-tests tests/engine/main.cpp ${mpi_tests} engine/tuned/rules.cpp)
  target_include_directories(engine-mpi-tests PRIVATE tests/engine)
  target_link_libraries(engine-mpi-tests PRIVATE sonde_mpi_parts doctest::doctest)
  target_compile_definitions(engine-mpi-tests PRIVATE
    SONDE_EXAMPLES="${CMAKE_CURRENT_SOURCE_DIR}/schema/examples")
  set_target_properties(engine-mpi-tests PROPERTIES BUILD_RPATH "${mpi_library_folders}")
  foreach(file ${mpi_tests})
    get_filename_component(suite ${file} NAME_WE)
    add_test(NAME engine.mpi.${suite} COMMAND engine-mpi-tests --test-suite=${suite} --no-skip)
    set_tests_properties(engine.mpi.${suite} PROPERTIES TIMEOUT 60)
  endforeach()

  # Between real ranks, on this machine: more of them than processors, too. MPICH then has to let go
  # of a processor while it waits, which is what its throttle is for.
  file(GLOB mpi_ranks_tests CONFIGURE_DEPENDS
    ${CMAKE_CURRENT_SOURCE_DIR}/tests/engine/mpi/ranks/*.cpp)
  add_executable(engine-mpi-ranks-tests ${mpi_ranks_tests})
  target_link_libraries(engine-mpi-ranks-tests PRIVATE sonde_mpi_parts doctest::doctest)
  set_target_properties(engine-mpi-ranks-tests PROPERTIES BUILD_RPATH "${mpi_library_folders}")
  get_filename_component(mpi_programs "${mpi_wrapper}" DIRECTORY)
  find_program(mpi_start NAMES mpiexec HINTS "${mpi_programs}" NO_DEFAULT_PATH NO_CACHE)
  if(mpi_start)
    set(all_ranks 1 2 3 4 7 16)
    if(NETSONDE_SANITIZE) # 16 of them take minutes then; memory is the same for 7
      set(all_ranks 1 2 3 7)
    endif()
    foreach(ranks IN LISTS all_ranks)
      set(suites "many_ranks")
      if(ranks LESS 4)
        set(suites "many_ranks,few_ranks")
      endif()
      add_test(NAME engine.mpi.ranks.${ranks}
        COMMAND "${mpi_start}" -n ${ranks} $<TARGET_FILE:engine-mpi-ranks-tests>
          --test-suite=${suites} --no-skip)
      set(ranks_environment
        "LSAN_OPTIONS=suppressions=${CMAKE_CURRENT_SOURCE_DIR}/tests/engine/mpi/lsan.supp"
        "FI_PROVIDER=tcp" "MPIR_CVAR_CH4_PROGRESS_THROTTLE=1"
        "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT=4")
      set_tests_properties(engine.mpi.ranks.${ranks} PROPERTIES TIMEOUT 120
        ENVIRONMENT "${ranks_environment}")
    endforeach()
    if(NOT NETSONDE_SANITIZE) # as 7, but for a fourth step of trees, and takes longer than all others
      set_tests_properties(engine.mpi.ranks.16 PROPERTIES LABELS soak)
    endif()
  endif()
endif()
