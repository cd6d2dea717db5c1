# Targets every layer shares: warnings, sanitizers, include paths.
add_library(pt_flags INTERFACE)
target_include_directories(pt_flags INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/include)
target_compile_options(pt_flags INTERFACE -Wall -Wextra -Wconversion $<$<BOOL:${PT_WERROR}>:-Werror>)
target_link_libraries(pt_flags INTERFACE Threads::Threads)
if(PT_SANITIZE)
  add_compile_options(-fsanitize=${PT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${PT_SANITIZE})
  if(PT_BUILD_FUZZERS)  # clang's checks of the types of functions and objects hold within one library only
    add_compile_options(-fno-sanitize=function,vptr)
  endif()
endif()

# Symbols are bound when a program or library is loaded, and what was bound is read only from then on; no stack holds code.
if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND NOT PT_SANITIZE)
  add_link_options(LINKER:-z,relro,-z,now,-z,noexecstack)
endif()

# A function that writes over its return address ends the process, and so does a call of the C library that would write
# beyond memory whose size the compiler knows. For all that is installed but the layers that every run goes through, where
# it costs 1 % of a small network; tests are compiled without. docs/robustness.md
option(PT_HARDEN "Protect stacks and check calls of the C library" ON)
add_library(pt_hardened INTERFACE)
if(PT_HARDEN AND NOT PT_SANITIZE)
  target_compile_options(pt_hardened INTERFACE -fstack-protector-strong
                         "$<$<NOT:$<CONFIG:Debug,None>>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=3>")
endif()

find_program(PT_CCACHE ccache)
if(PT_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros ${PT_CCACHE})
endif()

# Headers of the standard library and of Catch2 are compiled once for all files, never headers of our own: those change. A
# file that forgets an include compiles all the same; test/structure/self_sufficient_files_test.cc finds it.
option(PT_PRECOMPILE_HEADERS "Compile the headers of the standard library once" ON)
set(pt_precompiled_headers <algorithm> <array> <cmath> <cstdint> <cstring> <functional> <limits> <map> <memory> <optional>
    <set> <span> <string> <string_view> <utility> <vector>)

# False for "text" + std::to_string(n), GCC bug 105651; from a precompiled header, more warnings take the same wrong turn.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(pt_flags INTERFACE -Wno-restrict)
  if(PT_PRECOMPILE_HEADERS)
    target_compile_options(pt_flags INTERFACE -Wno-array-bounds -Wno-stringop-overflow)
  endif()
endif()

# pt_precompile(TARGET HEADER...): the headers above and those named; the first target compiled with the same options makes
# them, the others with the same HEADERs take them from there.
function(pt_precompile target)
  if(NOT PT_PRECOMPILE_HEADERS)
    return()
  endif()
  # Executables, and what shows no symbol unless it says so, are compiled with other options than the library.
  get_target_property(type ${target} TYPE)
  string(COMPARE EQUAL ${type} EXECUTABLE is_executable)
  get_target_property(visibility ${target} CXX_VISIBILITY_PRESET)
  get_target_property(libraries ${target} LINK_LIBRARIES)
  string(FIND "${libraries}" pt_hardened at)
  string(COMPARE GREATER_EQUAL ${at} 0 is_hardened)
  string(MAKE_C_IDENTIFIER "PT_PRECOMPILED_${is_executable}_${is_hardened}_${visibility}_${ARGN}" key)
  get_property(maker GLOBAL PROPERTY ${key})
  if(maker)
    target_precompile_headers(${target} REUSE_FROM ${maker})
  else()
    target_precompile_headers(${target} PRIVATE ${pt_precompiled_headers} ${ARGN})
    set_property(GLOBAL PROPERTY ${key} ${target})
  endif()
endfunction()

# Several files of a target as one: builds from nothing take less than half the time, a change to one file takes longer. What
# stands in an anonymous namespace must then have another name than in the other files of its target; tests need not care,
# each has a namespace of its own. Never what Highway compiles once for each instruction set. Which files go together depends
# on their names alone, so that a new file joins one group and leaves the others as they are.
option(PT_UNITE_FILES "Compile several files of a target as one" OFF)

# pt_unite(TARGET [SPREAD]): files of neighbouring letters go together, which are often about one thing; with SPREAD six that
# chance brings together, where most names begin alike.
function(pt_unite target)
  cmake_parse_arguments(arg "SPREAD" "" "" ${ARGN})
  get_target_property(sources ${target} SOURCES)
  list(LENGTH sources count)
  set(groups "[a-k]" "[l-z]")
  if(count GREATER 20)
    set(groups "[a-c]" "[d-f]" "[g-l]" "[m-o]" "[p-r]" "[s-z]")
  endif()
  if(count GREATER 50)
    set(groups "[a-b]" "c" "[d-e]" "[f-h]" "[i-l]" "[m-o]" "p" "[q-r]" "s" "[t-z]")
  endif()
  foreach(source ${sources})
    file(STRINGS ${source} for_each_target REGEX "foreach_target\\.h" LIMIT_COUNT 1)
    if(for_each_target)
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
    get_filename_component(name ${source} NAME)
    if(arg_SPREAD)
      string(MD5 hash ${name})
      string(SUBSTRING ${hash} 0 6 hash)
      math(EXPR part "0x${hash} % ((${count} + 5) / 6)")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${part})
      continue()
    endif()
    foreach(group ${groups})
      if(name MATCHES "^${group}")
        string(REGEX REPLACE "[^a-z-]" "" letters ${group})
        set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${letters})
        break()
      endif()
    endforeach()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${PT_UNITE_FILES} UNITY_BUILD_MODE GROUP)
endfunction()

# pt_layer(NAME USES LAYER...): the object library of lib/NAME, sub-folders included, but for folders that are targets of
# their own (pt_backend).
function(pt_layer name)
  cmake_parse_arguments(arg "" "" "USES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/lib/${name}/*.cc)
  get_property(backends GLOBAL PROPERTY PT_ALL_BACKENDS)
  foreach(backend ${backends})
    list(FILTER sources EXCLUDE REGEX "/lib/${name}/${backend}/")
  endforeach()
  if(NOT sources)
    return()
  endif()
  add_library(pt_${name} OBJECT ${sources})
  target_link_libraries(pt_${name} PUBLIC pt_flags)
  if(NOT name MATCHES "^(backend|exec)$")  # every run goes through them
    target_link_libraries(pt_${name} PRIVATE pt_hardened)
  endif()
  pt_precompile(pt_${name})
  pt_unite(pt_${name})
  set_property(GLOBAL APPEND PROPERTY PT_LAYERS ${name})
endfunction()

# pt_backend(NAME [ALWAYS] [ROW FUNCTION] SUMMARY TEXT): the object library of lib/backend/NAME, part of the backend
# layer, with the switch PT_BACKEND_<NAME> unless ALWAYS. FUNCTION (lib/backend/built_in.h) gives its row of the table of
# backends, which is generated in the order of these calls.
function(pt_backend name)
  cmake_parse_arguments(arg "ALWAYS" "ROW;SUMMARY" "" ${ARGN})
  set_property(GLOBAL APPEND PROPERTY PT_ALL_BACKENDS ${name})
  string(TOUPPER ${name} switch)
  if(NOT arg_ALWAYS)
    option(PT_BACKEND_${switch} "${arg_SUMMARY}" ON)
    if(NOT PT_BACKEND_${switch})
      return()
    endif()
  endif()
  set_property(GLOBAL APPEND PROPERTY PT_BACKENDS ${name})
  if(arg_ROW)
    set_property(GLOBAL APPEND PROPERTY PT_BACKEND_ROWS ${arg_ROW})
  endif()
endfunction()

# pt_backend_targets(): one object library for each backend of this build, and the table that lists them.
function(pt_backend_targets)
  get_property(backends GLOBAL PROPERTY PT_BACKENDS)
  foreach(backend ${backends})
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/lib/backend/${backend}/*.cc)
    add_library(pt_backend_${backend} OBJECT ${sources})
    target_link_libraries(pt_backend_${backend} PUBLIC pt_flags)
    pt_precompile(pt_backend_${backend})
    pt_unite(pt_backend_${backend})
    set_property(GLOBAL APPEND PROPERTY PT_LAYERS backend_${backend})
  endforeach()
  get_property(rows GLOBAL PROPERTY PT_BACKEND_ROWS)
  list(TRANSFORM rows APPEND "()")
  list(JOIN rows ", " PT_BACKEND_ROW_CALLS)
  configure_file(${PROJECT_SOURCE_DIR}/lib/backend/built_in.cc.in ${PROJECT_BINARY_DIR}/lib/backend/built_in.cc @ONLY)
  target_sources(pt_backend PRIVATE ${PROJECT_BINARY_DIR}/lib/backend/built_in.cc)
endfunction()
